/// HMAC-SHA-256 (RFC 2104) under one key.
///
/// ```swift
/// let code = HMACSHA256(key: secret).code(of: message)
/// ```
package struct HMACSHA256: Sendable {
    private static let blockBytes = 64

    /// The hash of the key's inner and of its outer block, which every code begins with.
    private let inner: SHA256
    private let outer: SHA256

    package init(key: [UInt8]) {
        var block = key
        if block.count > Self.blockBytes {
            var hash = SHA256()
            hash.update(block)
            block = hash.finish().bytes
        }
        block += [UInt8](repeating: 0, count: Self.blockBytes - block.count)
        var inner = SHA256()
        inner.update(block.map { $0 ^ 0x36 })
        var outer = SHA256()
        outer.update(block.map { $0 ^ 0x5C })
        block.cleanse()
        self.inner = inner
        self.outer = outer
    }

    /// The authentication code of a message: compare it in constant time.
    package func code(of message: [UInt8]) -> SHA256Digest {
        var hash = inner
        hash.update(message)
        var outer = outer
        outer.update(hash.finish().bytes)
        return outer.finish()
    }
}
