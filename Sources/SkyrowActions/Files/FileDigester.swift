import SkyrowCrypto

/// The digests of a file that arrives in parts.
///
/// ```swift
/// var digester = FileDigester(hashesMD5: false)
/// digester.update(part)
/// digester.digests.sha256  // 32 bytes
/// ```
package struct FileDigester: Sendable {
    private var sha256 = SHA256()
    private var md5: MD5?

    package init(hashesMD5: Bool) {
        md5 = hashesMD5 ? MD5() : nil
    }

    package mutating func update(_ part: [UInt8]) {
        sha256.update(part)
        md5?.update(part)
    }

    /// Of the parts so far.
    package var digests: FileDigests {
        // Copies, since no part may follow what is finished.
        var (sha256, md5) = (sha256, md5)
        return FileDigests(sha256: sha256.finish().bytes, md5: md5?.finish())
    }
}
