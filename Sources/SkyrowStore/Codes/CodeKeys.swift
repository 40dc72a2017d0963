internal import SkyrowCrypto
internal import SkyrowJSON

/// The keys with which the digits of codes are hashed: six digits are found at once from a hash without a key.
package struct CodeKeys: Sendable {
    /// The highest number first, which makes new hashes.
    private let keys: [HMACSHA256]
    private let formKeys: [HMACSHA256]

    /// - Parameter secrets: the secrets of the application by number; the result is nil without a secret.
    package init?(secrets: [UInt8: [UInt8]]) {
        guard !secrets.isEmpty else { return nil }
        let sorted = secrets.sorted { $0.key > $1.key }.map(\.value)
        keys = sorted.map { CodeKeys.key($0, for: "one-time code") }
        formKeys = sorted.map { CodeKeys.key($0, for: "account page") }
    }

    /// Derives a separate key for each purpose.
    private static func key(_ secret: [UInt8], for purpose: String) -> HMACSHA256 {
        HMACSHA256(key: HMACSHA256(key: secret).code(of: Array(purpose.utf8)).bytes)
    }

    /// Returns the hash that is stored for the digits of a code.
    package func hash(_ digits: String, of id: [UInt8]) -> [UInt8] {
        keys[0].code(of: id + Array(digits.utf8)).bytes
    }

    /// Returns a signature by which the texts are recognised as the service's.
    package func signature(of texts: [String]) -> String {
        Base64URL.encode(formKeys[0].code(of: CodeKeys.message(texts)).bytes)
    }

    /// Whether any of the keys made a signature of these texts.
    package func isSignature(_ signature: String, of texts: [String]) -> Bool {
        guard let bytes = Base64URL.decode(signature) else { return false }
        let message = CodeKeys.message(texts)
        return formKeys.map { $0.code(of: message).bytes.isEqualInConstantTime(to: bytes) }.contains(true)
    }

    /// The texts with their lengths, so that no other texts make the same bytes.
    private static func message(_ texts: [String]) -> [UInt8] {
        texts.flatMap { text in Array("\(text.utf8.count):".utf8) + Array(text.utf8) }
    }

    /// Whether a stored hash is that of these digits, with any of the keys.
    package func matches(_ digits: String, of id: [UInt8], _ hash: [UInt8]) -> Bool {
        keys.map { $0.code(of: id + Array(digits.utf8)).bytes.isEqualInConstantTime(to: hash) }.contains(true)
    }
}
