/// A position in PostgreSQL's write-ahead log, as text `16/B374D848`.
package struct PostgresLSN: RawRepresentable, Hashable, Comparable, Sendable {
    package let rawValue: UInt64

    package init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    /// Parses `16/B374D848`; returns nil for any other text.
    package init?(_ text: some StringProtocol) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].hasPrefix("+"), !parts[1].hasPrefix("+"),
            let high = UInt32(parts[0], radix: 16), let low = UInt32(parts[1], radix: 16)
        else { return nil }
        self.init(rawValue: UInt64(high) << 32 | UInt64(low))
    }

    package static func < (left: PostgresLSN, right: PostgresLSN) -> Bool {
        left.rawValue < right.rawValue
    }
}

extension PostgresLSN: CustomStringConvertible {
    package var description: String {
        let (high, low) = (String(rawValue >> 32, radix: 16), String(rawValue & 0xFFFF_FFFF, radix: 16))
        return "\(high)/\(low)".uppercased()
    }
}
