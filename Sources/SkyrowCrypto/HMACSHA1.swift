import CLibcrypto

/// HMAC-SHA-1 (RFC 2104), for time-based codes (RFC 6238); use ``HMACSHA256`` for anything else.
package enum HMACSHA1 {
    /// Returns the 20 bytes of the code of a message.
    package static func code(of message: [UInt8], key: [UInt8]) -> [UInt8] {
        var code = [UInt8](repeating: 0, count: SHA1Digest.byteCount)
        guard HMAC(EVP_sha1(), key, Int32(key.count), message, message.count, &code, nil) != nil else {
            preconditionFailure("libcrypto cannot compute HMAC-SHA-1.")
        }
        return code
    }
}
