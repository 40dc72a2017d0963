internal import SkyrowCrypto
internal import SkyrowJSON

/// The keys under which the digits of codes are stored: six digits are found in no time where a hash of them is known.
package struct CodeKeys: Sendable {
    /// The highest number first, which makes new hashes.
    private let keys: [HMACSHA256]
    private let formKeys: [HMACSHA256]

    /// - Parameter secrets: those of the application by their numbers; nil without any.
    package init?(secrets: [UInt8: [UInt8]]) {
        guard !secrets.isEmpty else { return nil }
        let sorted = secrets.sorted { $0.key > $1.key }.map(\.value)
        keys = sorted.map { CodeKeys.key($0, for: "one-time code") }
        formKeys = sorted.map { CodeKeys.key($0, for: "account page") }
    }

    /// A key of its own for each purpose.
    private static func key(_ secret: [UInt8], for purpose: String) -> HMACSHA256 {
        HMACSHA256(key: HMACSHA256(key: secret).code(of: Array(purpose.utf8)).bytes)
    }

    /// What is stored of the digits of a code.
    package func hash(_ digits: String, of id: [UInt8]) -> [UInt8] {
        keys[0].code(of: id + Array(digits.utf8)).bytes
    }

    /// A text by which these texts are known to come from the service.
    package func signature(of texts: [String]) -> String {
        Base64URL.encode(formKeys[0].code(of: CodeKeys.message(texts)).bytes)
    }

    /// Whether any of the keys made a signature of these texts.
    package func isSignature(_ signature: String, of texts: [String]) -> Bool {
        guard let bytes = Base64URL.decode(signature) else { return false }
        let message = CodeKeys.message(texts)
        return formKeys.map { $0.code(of: message).bytes.isEqualInConstantTime(to: bytes) }.contains(true)
    }

    /// The texts with their lengths, so that no others make the same bytes.
    private static func message(_ texts: [String]) -> [UInt8] {
        texts.flatMap { text in Array("\(text.utf8.count):".utf8) + Array(text.utf8) }
    }

    /// Whether a stored hash is that of these digits, under any of the keys.
    package func matches(_ digits: String, of id: [UInt8], _ hash: [UInt8]) -> Bool {
        keys.map { $0.code(of: id + Array(digits.utf8)).bytes.isEqualInConstantTime(to: hash) }.contains(true)
    }
}
