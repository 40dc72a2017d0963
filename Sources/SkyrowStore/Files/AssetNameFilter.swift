/// A set of names of files in bounded memory, a Bloom filter: it contains every name that was inserted, and few others.
///
/// A file that it contains by mistake is collected by a later look, whose filter has another seed.
struct AssetNameFilter: Sendable {
    /// 8 MB, enough for two million names with one mistake in 5,000.
    private static let maximumWords = 1 << 20
    private static let minimumWords = 16
    private static let bitsOfName = 32
    /// How many bits are set for a name.
    private static let marks: UInt64 = 4

    private var words: [UInt64]
    private let seed: UInt64

    /// - Parameter count: the number of names that are expected.
    init(expecting count: Int, seed: UInt64 = .random(in: .min ... .max)) {
        // A power of two, so that a mask makes a place of a hash.
        var size = Self.minimumWords
        while size < Self.maximumWords, size * UInt64.bitWidth / Self.bitsOfName < count { size *= 2 }
        words = Array(repeating: 0, count: size)
        self.seed = seed
    }

    mutating func insert(_ name: String) {
        for bit in places(of: name) { words[Int(bit / 64)] |= 1 << (bit % 64) }
    }

    func contains(_ name: String) -> Bool {
        places(of: name).allSatisfy { words[Int($0 / 64)] & (1 << ($0 % 64)) != 0 }
    }

    private func places(of name: String) -> some Sequence<UInt64> {
        // FNV-1a, whose bits are then mixed as in SplitMix64.
        let hash = name.utf8.reduce(seed ^ 0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        let first = Self.mixed(hash)
        let step = Self.mixed(first) | 1
        let mask = UInt64(words.count * UInt64.bitWidth - 1)
        return (0..<Self.marks).lazy.map { (first &+ $0 &* step) & mask }
    }

    private static func mixed(_ value: UInt64) -> UInt64 {
        var mixed = value &+ 0x9E37_79B9_7F4A_7C15
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
