/// HMAC-SHA-1 (RFC 2104), which codes by time are made with (RFC 6238); for anything else there is ``HMACSHA256``.
package enum HMACSHA1 {
    private static let blockBytes = 64

    /// The 20 bytes of the code of a message.
    package static func code(of message: [UInt8], key: [UInt8]) -> [UInt8] {
        var block = key.count > blockBytes ? hash(key) : key
        block += [UInt8](repeating: 0, count: blockBytes - block.count)
        defer { block.cleanse() }
        return hash(block.map { $0 ^ 0x5C } + hash(block.map { $0 ^ 0x36 } + message))
    }

    private static func hash(_ bytes: [UInt8]) -> [UInt8] { SHA1Digest.digest(of: bytes) }
}
