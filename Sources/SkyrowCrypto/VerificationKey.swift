import CLibcrypto
import SkyrowConcurrency

/// A signature algorithm, by its name in RFC 7518 and RFC 8037.
package enum SignatureAlgorithm: String, Hashable, Sendable, CaseIterable {
    case hs256 = "HS256"
    case rs256 = "RS256"
    case ps256 = "PS256"
    case es256 = "ES256"
    case edDSA = "EdDSA"
}

/// A key that verifies signatures. It has one form, so that a public key is never used as a secret.
///
/// ```swift
/// let key = VerificationKey(subjectPublicKeyInfo: der)
/// key?.isSignature(signature, of: message, .es256)
/// ```
package struct VerificationKey: Sendable {
    private enum Material: Sendable {
        case secret(HMACSHA256)
        case rsa(OpenSSLKey)
        case p256(OpenSSLKey)
        case ed25519(OpenSSLKey)
    }

    /// The sizes of RSA keys in bits: smaller ones can be broken, larger ones only take time.
    package static let rsaBits = 2048...8192

    /// The fewest bytes of a secret of HMAC-SHA-256 (RFC 7518, 3.2).
    package static let secretBytes = 32

    private let material: Material

    private init(_ material: Material) {
        self.material = material
    }

    /// Creates a secret of HMAC-SHA-256; nil if it is too short.
    package init?(secret: [UInt8]) {
        guard secret.count >= VerificationKey.secretBytes else { return nil }
        self.init(.secret(HMACSHA256(key: secret)))
    }

    /// Creates an RSA public key from its two numbers, most significant byte first; nil for a size or exponent that is refused.
    package init?(rsaModulus modulus: [UInt8], exponent: [UInt8]) {
        // An exponent of 1 would make each message its own signature.
        let value = exponent.count <= 4 ? exponent.reduce(0) { $0 << 8 | UInt64($1) } : 0
        guard value >= 3, value & 1 == 1, modulus.count <= VerificationKey.rsaBits.upperBound / 8 + 1 else {
            return nil
        }
        guard let builder = OSSL_PARAM_BLD_new() else { return nil }
        defer { OSSL_PARAM_BLD_free(builder) }
        guard let n = BN_bin2bn(modulus, Int32(modulus.count), nil) else { return nil }
        defer { BN_free(n) }
        guard let e = BN_bin2bn(exponent, Int32(exponent.count), nil) else { return nil }
        defer { BN_free(e) }
        guard OSSL_PARAM_BLD_push_BN(builder, lasting("n"), n) == 1,
            OSSL_PARAM_BLD_push_BN(builder, lasting("e"), e) == 1,
            let key = OpenSSLKey("RSA", builder)
        else { return nil }
        self.init(key)
    }

    /// Creates a public key on the curve P-256 from its coordinates of 32 bytes; nil if the point is not on the curve.
    package init?(p256X x: [UInt8], y: [UInt8]) {
        guard x.count == 32, y.count == 32, let builder = OSSL_PARAM_BLD_new() else { return nil }
        defer { OSSL_PARAM_BLD_free(builder) }
        let point = [0x04] + x + y
        let key = point.withUnsafeBytes { bytes -> OpenSSLKey? in
            guard OSSL_PARAM_BLD_push_utf8_string(builder, lasting("group"), lasting("prime256v1"), 0) == 1,
                OSSL_PARAM_BLD_push_octet_string(builder, lasting("pub"), bytes.baseAddress, bytes.count) == 1
            else { return nil }
            return OpenSSLKey("EC", builder)
        }
        guard let key else { return nil }
        self.init(key)
    }

    /// Creates an Ed25519 public key from 32 bytes; nil for any other length.
    package init?(ed25519 bytes: [UInt8]) {
        guard bytes.count == 32, let key = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nil, bytes, bytes.count) else {
            return nil
        }
        self.init(OpenSSLKey(owning: key))
    }

    /// Creates a public key from its DER in certificates and PEM files (RFC 5280, 4.1.2.7); nil for other bytes or kinds of keys.
    package init?(subjectPublicKeyInfo der: [UInt8]) {
        let key = der.withUnsafeBufferPointer { bytes -> OpenSSLKey? in
            var position = bytes.baseAddress
            guard let key = d2i_PUBKEY(nil, &position, bytes.count) else {
                ERR_clear_error()
                return nil
            }
            let owned = OpenSSLKey(owning: key)
            // Nothing may follow the key.
            return position == bytes.baseAddress?.advanced(by: bytes.count) ? owned : nil
        }
        guard let key else { return nil }
        self.init(key)
    }

    /// Returns nil for a key of an unsupported kind or size.
    private init?(_ key: OpenSSLKey) {
        switch EVP_PKEY_get_base_id(key.pointer) {
        case EVP_PKEY_RSA:
            guard VerificationKey.rsaBits.contains(Int(EVP_PKEY_get_bits(key.pointer))) else { return nil }
            self.init(.rsa(key))
        case EVP_PKEY_EC:
            var name = [CChar](repeating: 0, count: 32)
            var length = 0
            guard EVP_PKEY_get_group_name(key.pointer, &name, name.count, &length) == 1,
                name.prefix(length).elementsEqual("prime256v1".utf8CString.dropLast())
            else { return nil }
            self.init(.p256(key))
        case EVP_PKEY_ED25519:
            self.init(.ed25519(key))
        default:
            return nil
        }
    }

    /// Whether the algorithm takes keys of this kind.
    package func fits(_ algorithm: SignatureAlgorithm) -> Bool {
        switch (material, algorithm) {
        case (.secret, .hs256), (.rsa, .rs256), (.rsa, .ps256), (.p256, .es256), (.ed25519, .edDSA): true
        case (.secret, _), (.rsa, _), (.p256, _), (.ed25519, _): false
        }
    }

    /// Whether the bytes are a signature of the message; false for an algorithm that the key does not fit.
    package func isSignature(_ signature: [UInt8], of message: [UInt8], _ algorithm: SignatureAlgorithm) -> Bool {
        switch (material, algorithm) {
        case (.secret(let key), .hs256):
            key.code(of: message).bytes.isEqualInConstantTime(to: signature)
        case (.rsa(let key), .rs256):
            key.verifies(signature, of: message, EVP_sha256())
        case (.rsa(let key), .ps256):
            key.verifies(signature, of: message, EVP_sha256(), isPSS: true)
        case (.p256(let key), .es256):
            VerificationKey.der(signature).map { key.verifies($0, of: message, EVP_sha256()) } ?? false
        case (.ed25519(let key), .edDSA):
            key.verifies(signature, of: message, nil)
        case (.secret, _), (.rsa, _), (.p256, _), (.ed25519, _):
            false
        }
    }

    /// Converts the two numbers of a signature, 32 bytes each (RFC 7518, 3.4), to DER for OpenSSL; nil for another length.
    private static func der(_ signature: [UInt8]) -> [UInt8]? {
        guard signature.count == 64 else { return nil }
        func integer(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
            var digits = Array(bytes.drop { $0 == 0 })
            // A leading zero keeps the number from being negative.
            if digits.first.map({ $0 >= 0x80 }) ?? true { digits.insert(0, at: 0) }
            return [0x02, UInt8(digits.count)] + digits
        }
        let numbers = integer(signature[..<32]) + integer(signature[32...])
        return [0x30, UInt8(numbers.count)] + numbers
    }
}

/// Returns a text that is never freed, since OpenSSL keeps the pointers to the names of parameters.
private func lasting(_ text: StaticString) -> UnsafePointer<CChar> {
    UnsafeRawPointer(text.utf8Start).assumingMemoryBound(to: CChar.self)
}

/// A key of OpenSSL, which is only read after its creation, so several threads may use it.
final class OpenSSLKey: Sendable {
    private let owned: OwnedPointer

    var pointer: OpaquePointer { owned.pointer }

    init(owning pointer: OpaquePointer) {
        owned = OwnedPointer(pointer, freedBy: EVP_PKEY_free)
    }

    /// Returns nil for parameters that are not a key of this kind.
    fileprivate convenience init?(_ kind: String, _ builder: OpaquePointer) {
        guard let parameters = OSSL_PARAM_BLD_to_param(builder) else { return nil }
        defer { OSSL_PARAM_free(parameters) }
        guard let context = EVP_PKEY_CTX_new_from_name(nil, kind, nil) else { return nil }
        defer { EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        guard EVP_PKEY_fromdata_init(context) == 1,
            EVP_PKEY_fromdata(context, &key, skyrow_public_key_selection, parameters) == 1, let key
        else {
            ERR_clear_error()
            return nil
        }
        self.init(owning: key)
    }

    fileprivate func verifies(_ signature: [UInt8], of message: [UInt8], _ hash: OpaquePointer?, isPSS: Bool = false)
        -> Bool
    {
        guard let context = EVP_MD_CTX_new() else { return false }
        defer { EVP_MD_CTX_free(context) }
        // The next caller of OpenSSL on this thread must not find the errors of this call.
        defer { ERR_clear_error() }
        var parameters: OpaquePointer?
        guard EVP_DigestVerifyInit(context, &parameters, hash, nil, pointer) == 1 else { return false }
        if isPSS {
            guard EVP_PKEY_CTX_set_rsa_padding(parameters, RSA_PKCS1_PSS_PADDING) == 1,
                // The salt is as long as the hash (RFC 7518, 3.5).
                EVP_PKEY_CTX_set_rsa_pss_saltlen(parameters, RSA_PSS_SALTLEN_DIGEST) == 1
            else { return false }
        }
        return EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
    }
}
