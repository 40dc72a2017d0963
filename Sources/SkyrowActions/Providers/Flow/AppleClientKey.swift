package import SkyrowCrypto
import SkyrowJSON

/// The key of a team at Apple, from which client secrets are generated when needed.
package struct AppleClientKey: Sendable {
    /// The validity of a secret, in seconds.
    static let lifetime: Int64 = 300
    private static let audience = "https://appleid.apple.com"

    private let team: String
    private let keyID: String
    private let key: ES256SigningKey

    package init(team: String, keyID: String, key: ES256SigningKey) {
        self.team = team
        self.keyID = keyID
        self.key = key
    }

    /// Generates the secret of a client: a token signed with ES256; nil when libcrypto has no memory.
    ///
    /// - Parameter now: in seconds since 1970.
    func secret(of clientID: String, at now: Int64) -> String? {
        let header = JSONWriter()
        header.beginObject()
        header.member("alg", SignatureAlgorithm.es256.rawValue)
        header.member("kid", keyID)
        header.endObject()
        let claims = JSONWriter()
        claims.beginObject()
        claims.member("iss", team)
        claims.member("iat", now)
        claims.member("exp", now + Self.lifetime)
        claims.member("aud", Self.audience)
        claims.member("sub", clientID)
        claims.endObject()
        let message = "\(Base64URL.encode(header.bytes)).\(Base64URL.encode(claims.bytes))"
        return key.signature(of: Array(message.utf8)).map { "\(message).\(Base64URL.encode($0))" }
    }
}
