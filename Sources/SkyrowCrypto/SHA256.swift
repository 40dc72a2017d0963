import CLibcrypto

/// SHA-256 (FIPS 180-4) of bytes that arrive in parts.
///
/// ```swift
/// var hash = SHA256()
/// hash.update(part)
/// let digest = hash.finish()
/// ```
package struct SHA256: Sendable {
    private var context = SHA256_CTX()

    package init() {
        SHA256_Init(&context)
    }

    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        SHA256_Update(&context, bytes.baseAddress, bytes.count)
    }

    package mutating func update(_ bytes: [UInt8]) {
        SHA256_Update(&context, bytes, bytes.count)
    }

    /// Returns the hash of all parts; no further part may follow.
    package mutating func finish() -> SHA256Digest {
        // OpenSSL overwrites the rest of the last part.
        SHA256Digest { SHA256_Final($0, &context) }
    }

    /// Returns the hash of a text in UTF-8.
    package static func hash(of text: String) -> SHA256Digest {
        var text = text
        var hash = SHA256()
        text.withUTF8 { hash.update(UnsafeRawBufferPointer($0)) }
        return hash.finish()
    }
}

/// The 32 bytes of a SHA-256 hash, compared in constant time.
package struct SHA256Digest: Equatable, Sendable {
    /// The bytes in their order in memory.
    package private(set) var words: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)

    /// - Parameter write: writes the 32 bytes.
    init(_ write: (UnsafeMutablePointer<UInt8>) -> Int32) {
        withUnsafeMutableBytes(of: &words) { target in
            guard let bytes = target.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return }
            _ = write(bytes)
        }
    }

    package var bytes: [UInt8] { withUnsafeBytes(of: words) { Array($0) } }

    package static func == (a: SHA256Digest, b: SHA256Digest) -> Bool {
        withUnsafeBytes(of: a.words) { a in
            withUnsafeBytes(of: b.words) { b in CRYPTO_memcmp(a.baseAddress, b.baseAddress, a.count) == 0 }
        }
    }
}

/// SHA-512 (FIPS 180-4) of bytes.
package enum SHA512 {
    package static func hash(of bytes: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 64)
        CLibcrypto.SHA512(bytes, bytes.count, &digest)
        return digest
    }
}
