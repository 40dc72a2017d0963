/// The addresses that share their first bits, in CIDR notation.
///
/// ```swift
/// AddressRange("10.0.0.0/8")   // every address of 10.…
/// AddressRange("2001:db8::1")  // this one
/// ```
package struct AddressRange: Hashable, Sendable {
    private let base: ClientAddress
    /// The number of the 128 bits that all addresses share.
    private let length: Int

    /// Parses an address with or without a length; nil for anything else, and when `base` has bits beyond its length, since one
    /// of the two is then a mistake.
    package init?(_ text: some StringProtocol) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let base = ClientAddress(parts[0]) else { return nil }
        let isIPv4 = base.isIPv4 && !parts[0].contains(":")
        let width = isIPv4 ? 32 : 128
        var length = width
        if parts.count == 2 {
            guard parts[1].utf8.count <= 3, parts[1].utf8.allSatisfy({ $0 >= 48 && $0 <= 57 }),
                let given = Int(parts[1]), given <= width
            else { return nil }
            length = given
        }
        self.base = base
        self.length = length + 128 - width
        guard base.masked(to: self.length) == base else { return nil }
    }

    package func contains(_ address: ClientAddress) -> Bool {
        // ::/0 contains all of IPv6, and no IPv4 address.
        address.isIPv4 == isIPv4 && address.masked(to: length) == base
    }

    private var isIPv4: Bool { base.isIPv4 && length >= 96 }
}

extension AddressRange: CustomStringConvertible {
    package var description: String { isIPv4 ? "\(base)/\(length - 96)" : "\(base)/\(length)" }
}
