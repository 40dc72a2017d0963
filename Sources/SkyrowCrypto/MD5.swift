import CLibcrypto

/// MD5 (RFC 1321) of bytes that arrive in parts, for `Content-MD5`; use ``SHA256`` for anything else.
///
/// It finds accidental damage only: two files with the same digest are made in seconds.
///
/// ```swift
/// var hash = MD5()
/// hash.update(part)
/// let digest = hash.finish()
/// ```
package struct MD5: Sendable {
    package static let byteCount = 16

    private var context = MD5_CTX()

    package init() {
        MD5_Init(&context)
    }

    package mutating func update(_ bytes: [UInt8]) {
        MD5_Update(&context, bytes, bytes.count)
    }

    /// Returns the 16 bytes of the digest of all parts; no further part may follow.
    package mutating func finish() -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: MD5.byteCount)
        // OpenSSL overwrites the rest of the last part.
        MD5_Final(&digest, &context)
        return digest
    }
}
