import CLibcrypto

extension [UInt8] {
    /// Whether both have the same bytes, in a time that reveals their lengths only.
    package func isEqualInConstantTime(to other: [UInt8]) -> Bool {
        count == other.count && CRYPTO_memcmp(self, other, count) == 0
    }

    /// Overwrites the bytes of a secret with zeros, which the compiler does not optimize away.
    ///
    /// The array must not be shared, or a copy is overwritten.
    package mutating func cleanse() {
        withUnsafeMutableBytes { OPENSSL_cleanse($0.baseAddress, $0.count) }
    }
}
