/// The records that a client holds, so that it is not sent the removal of others.
package enum HeldRecords: Hashable, Sendable {
    /// At most ``maximumIDs`` ids such as `"note/7"`.
    case ids(Set<TextKey>)
    case filter(BloomFilter)

    package static let maximumIDs = 1000

    /// Whether the client may hold a record; false only when it does not.
    package func mayHold(_ id: String) -> Bool {
        switch self {
        case .ids(let ids): ids.contains(TextKey(id))
        case .filter(let filter): filter.mayContain(id)
        }
    }
}

/// A set of texts in a bit array, with false positives (Bloom, 1970).
///
/// Bit i of a text is `(h1 + i * h2) mod bits`, for i below the number of hashes: h1 is the 64-bit FNV-1a of its UTF-8, h2 is
/// h1 rotated by 32 bits, with the last bit set; the sum wraps at 64 bits. Bit n is bit `n mod 8` of byte `n / 8`.
package struct BloomFilter: Hashable, Sendable {
    package static let maximumBytes = 1 << 20
    package static let maximumHashes = 16

    package private(set) var bytes: [UInt8]
    package let hashes: Int

    /// nil without bits, with more than a megabyte of them, and for a number of hashes outside 1...16.
    package init?(bytes: [UInt8], hashes: Int) {
        guard (1...Self.maximumBytes).contains(bytes.count), (1...Self.maximumHashes).contains(hashes) else {
            return nil
        }
        self.bytes = bytes
        self.hashes = hashes
    }

    package func mayContain(_ text: String) -> Bool {
        places(of: text).allSatisfy { bytes[$0 / 8] & (1 << UInt8($0 % 8)) != 0 }
    }

    package mutating func insert(_ text: String) {
        for place in places(of: text) { bytes[place / 8] |= 1 << UInt8(place % 8) }
    }

    private func places(of text: String) -> some Sequence<Int> {
        let first = text.utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        let second = (first << 32 | first >> 32) | 1
        let bits = UInt64(bytes.count) * 8
        return (0..<UInt64(hashes)).lazy.map { Int((first &+ $0 &* second) % bits) }
    }
}
