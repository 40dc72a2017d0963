import CLibcrypto

/// SHA-1 (FIPS 180-4) of bytes that arrive in parts, for formats that require it; use ``SHA256`` for anything else.
///
/// ```swift
/// var hash = SHA1()
/// hash.update(part)
/// let digest = hash.finish()
/// ```
package struct SHA1: Sendable {
    private var context = SHA_CTX()

    package init() {
        SHA1_Init(&context)
    }

    package mutating func update(_ bytes: [UInt8]) {
        SHA1_Update(&context, bytes, bytes.count)
    }

    /// Returns the 20 bytes of the digest of all parts; no further part may follow.
    package mutating func finish() -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: SHA1Digest.byteCount)
        // OpenSSL overwrites the rest of the last part.
        SHA1_Final(&digest, &context)
        return digest
    }
}

/// The digest of SHA-1, for formats that require it, such as lists of breached passwords.
package enum SHA1Digest {
    package static let byteCount = 20

    /// Returns the 20 bytes of the digest.
    package static func digest(of bytes: [UInt8]) -> [UInt8] {
        var hash = SHA1()
        hash.update(bytes)
        return hash.finish()
    }
}
