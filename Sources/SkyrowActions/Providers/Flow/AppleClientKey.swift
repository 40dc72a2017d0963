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
        header.key("alg")
        header.string(SignatureAlgorithm.es256.rawValue)
        header.key("kid")
        header.string(keyID)
        header.endObject()
        let claims = JSONWriter()
        claims.beginObject()
        claims.key("iss")
        claims.string(team)
        claims.key("iat")
        claims.integer(now)
        claims.key("exp")
        claims.integer(now + Self.lifetime)
        claims.key("aud")
        claims.string(Self.audience)
        claims.key("sub")
        claims.string(clientID)
        claims.endObject()
        let message = "\(Base64URL.encode(header.bytes)).\(Base64URL.encode(claims.bytes))"
        return key.signature(of: Array(message.utf8)).map { "\(message).\(Base64URL.encode($0))" }
    }
}
