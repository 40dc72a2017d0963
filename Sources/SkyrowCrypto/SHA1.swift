import CLibcrypto

/// SHA-1 (FIPS 180-4), for formats that require it, such as lists of breached passwords; use ``SHA256`` for anything else.
package enum SHA1Digest {
    package static let byteCount = 20

    /// Returns the 20 bytes of the digest.
    package static func digest(of bytes: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: byteCount)
        _ = SHA1(bytes, bytes.count, &digest)
        return digest
    }
}
