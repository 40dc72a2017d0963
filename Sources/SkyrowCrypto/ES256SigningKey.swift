import CLibcrypto

/// A private key on the curve P-256, which signs with ES256 (RFC 7518, 3.4).
///
/// ```swift
/// let signature = ES256SigningKey(pkcs8: der)?.signature(of: message)  // 64 bytes
/// ```
package struct ES256SigningKey: Sendable {
    private let key: OpenSSLKey

    /// Creates a key from PKCS #8, the contents of a PEM file; nil for other bytes, and for a key of another kind.
    package init?(pkcs8 der: [UInt8]) {
        let made = der.withUnsafeBufferPointer { bytes -> OpenSSLKey? in
            var position = bytes.baseAddress
            guard let key = d2i_AutoPrivateKey(nil, &position, bytes.count) else {
                ERR_clear_error()
                return nil
            }
            let owned = OpenSSLKey(owning: key)
            return position == bytes.baseAddress?.advanced(by: bytes.count) ? owned : nil
        }
        guard let made, EVP_PKEY_get_base_id(made.pointer) == EVP_PKEY_EC else { return nil }
        var name = [CChar](repeating: 0, count: 32)
        var length = 0
        guard EVP_PKEY_get_group_name(made.pointer, &name, name.count, &length) == 1,
            name.prefix(length).elementsEqual("prime256v1".utf8CString.dropLast())
        else { return nil }
        key = made
    }

    /// Returns the two numbers of a signature, 32 bytes each; nil if libcrypto has no memory.
    package func signature(of message: [UInt8]) -> [UInt8]? {
        guard let context = EVP_MD_CTX_new() else { return nil }
        defer { EVP_MD_CTX_free(context) }
        var der = [UInt8](repeating: 0, count: 128)
        var length = der.count
        guard EVP_DigestSignInit(context, nil, EVP_sha256(), nil, key.pointer) == 1,
            EVP_DigestSign(context, &der, &length, message, message.count) == 1
        else {
            ERR_clear_error()
            return nil
        }
        return der.withUnsafeBufferPointer { bytes -> [UInt8]? in
            var position = bytes.baseAddress
            guard let signature = d2i_ECDSA_SIG(nil, &position, length) else { return nil }
            defer { ECDSA_SIG_free(signature) }
            var numbers = [UInt8](repeating: 0, count: 64)
            return numbers.withUnsafeMutableBufferPointer { numbers -> [UInt8]? in
                guard let base = numbers.baseAddress,
                    BN_bn2binpad(ECDSA_SIG_get0_r(signature), base, 32) == 32,
                    BN_bn2binpad(ECDSA_SIG_get0_s(signature), base.advanced(by: 32), 32) == 32
                else { return nil }
                return Array(numbers)
            }
        }
    }
}
