import CLibcrypto

/// AES-256 in Galois/Counter Mode (NIST SP 800-38D), with a nonce of 12 bytes and a tag of 16.
///
/// ```swift
/// let sealed = try AES256GCM.seal(secret, key: key, nonce: nonce, authenticating: place)
/// let secret = AES256GCM.open(sealed, key: key, nonce: nonce, authenticating: place)
/// ```
package enum AES256GCM {
    package static let keyBytes = 32
    package static let nonceBytes = 12
    package static let tagBytes = 16

    /// The key or the nonce has another length, or libcrypto has no memory.
    package struct Failure: Error {}

    /// Returns the ciphertext and its tag. A nonce must not be used twice with a key.
    ///
    /// - Parameter further: associated data, which is authenticated but not part of the result.
    package static func seal(
        _ plain: [UInt8],
        key: [UInt8],
        nonce: [UInt8],
        authenticating further: [UInt8]
    ) throws(Failure) -> [UInt8] {
        guard key.count == keyBytes, nonce.count == nonceBytes, let context = EVP_CIPHER_CTX_new() else {
            throw Failure()
        }
        defer { EVP_CIPHER_CTX_free(context) }
        var sealed = [UInt8](repeating: 0, count: plain.count)
        var tag = [UInt8](repeating: 0, count: tagBytes)
        var count: Int32 = 0
        guard EVP_EncryptInit_ex(context, EVP_aes_256_gcm(), nil, key, nonce) == 1,
            EVP_EncryptUpdate(context, nil, &count, further, Int32(further.count)) == 1,
            EVP_EncryptUpdate(context, &sealed, &count, plain, Int32(plain.count)) == 1,
            EVP_EncryptFinal_ex(context, &tag, &count) == 1,
            EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, Int32(tagBytes), &tag) == 1
        else { throw Failure() }
        return sealed + tag
    }

    /// Returns the plaintext; nil if it was not sealed with this key, nonce and associated data, or was changed since.
    package static func open(
        _ sealed: [UInt8],
        key: [UInt8],
        nonce: [UInt8],
        authenticating further: [UInt8]
    ) -> [UInt8]? {
        guard key.count == keyBytes, nonce.count == nonceBytes, sealed.count >= tagBytes,
            let context = EVP_CIPHER_CTX_new()
        else { return nil }
        defer { EVP_CIPHER_CTX_free(context) }
        let cipher = Array(sealed.dropLast(tagBytes))
        var tag = Array(sealed.suffix(tagBytes))
        var plain = [UInt8](repeating: 0, count: cipher.count)
        var rest = [UInt8](repeating: 0, count: tagBytes)
        var count: Int32 = 0
        guard EVP_DecryptInit_ex(context, EVP_aes_256_gcm(), nil, key, nonce) == 1,
            EVP_DecryptUpdate(context, nil, &count, further, Int32(further.count)) == 1,
            EVP_DecryptUpdate(context, &plain, &count, cipher, Int32(cipher.count)) == 1,
            EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(tagBytes), &tag) == 1,
            // Compares the tag.
            EVP_DecryptFinal_ex(context, &rest, &count) == 1
        else {
            plain.cleanse()
            return nil
        }
        return plain
    }
}
