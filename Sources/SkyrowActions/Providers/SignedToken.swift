import SkyrowJSON

/// Why a token was not accepted: for the log and the metrics, never for the caller.
package enum TokenFault: String, Error, Hashable, Sendable, CaseIterable {
    case undecodable
    case algorithm
    /// The provider has no key with that id.
    case key
    case signature
    /// A claim is missing or of another type.
    case claim
    case issuer
    case audience
    /// `azp`
    case authorizedParty = "authorized_party"
    case expired
    /// It was issued in the future, or is not valid yet.
    case early
    /// It was issued too long ago, or is valid for too long.
    case age
    case nonce
    /// `at_hash`
    case accessToken = "access_token"
    /// It was used before.
    case used
    /// The mail address that the provider has verified is in none of the domains of the settings.
    case domain
}

/// A signed JSON Web Token in its compact form (RFC 7515), before verification.
struct SignedToken: Sendable {
    /// The algorithm of the header. It is compared with the expected one, and never decides.
    let algorithm: String
    let keyID: String?
    /// The signed bytes.
    let message: [UInt8]
    let signature: [UInt8]
    private let claims: JSONDocument

    /// nil for a text that is not such a token, for one with a key in its header, which an attacker could choose, and for one
    /// with critical extensions.
    init?(_ text: String, maximumBytes: Int) {
        guard text.utf8.count <= maximumBytes else { return nil }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Base64URL.decode(String(parts[0])),
            let payload = Base64URL.decode(String(parts[1])), let signature = Base64URL.decode(String(parts[2])),
            let head = try? JSONDocument(header, depthLimit: 8), let claims = try? JSONDocument(payload)
        else { return nil }
        let read = head.withRoot { root -> (algorithm: String, keyID: String?)? in
            // Another parser might take the other value of a duplicate name.
            guard root.isObject, root.uniqueMembers.count == root.count, let algorithm = root["alg"]?.string,
                root["crit"] == nil, root["jku"] == nil, root["jwk"] == nil, root["x5u"] == nil, root["x5c"] == nil
            else { return nil }
            guard let id = root["kid"] else { return (algorithm, nil) }
            return id.string.flatMap { $0.utf8.count <= 255 ? (algorithm, $0) : nil }
        }
        let isReadable = claims.withRoot { $0.isObject && $0.uniqueMembers.count == $0.count }
        guard let read, isReadable else { return nil }
        (algorithm, keyID) = read
        message = Array(text.utf8.prefix(parts[0].utf8.count + 1 + parts[1].utf8.count))
        self.signature = signature
        self.claims = claims
    }

    /// Lends the claims, which must not be used before the signature was verified.
    func withClaims<R, E: Error>(_ body: (JSONView) throws(E) -> R) throws(E) -> R {
        try claims.withRoot(body)
    }
}

extension JSONView {
    /// The seconds since 1970 of a claim such as `exp`, possibly with a fraction; nil for another type.
    var numericDate: Double? {
        switch number {
        case .integer(let seconds): Double(seconds)
        case .double(let seconds): seconds
        case .outOfRange, nil: nil
        }
    }

    /// Returns an optional claim; throws ``TokenFault/claim`` for a value of another type.
    func optionalClaim<Value>(_ name: StaticString, _ read: (JSONView) -> Value?) throws(TokenFault) -> Value? {
        guard let claim = self[name] else { return nil }
        guard let value = read(claim) else { throw .claim }
        return value
    }

    /// Returns a required claim; throws ``TokenFault/claim`` without one.
    func claim<Value>(_ name: StaticString, _ read: (JSONView) -> Value?) throws(TokenFault) -> Value {
        guard let value = try optionalClaim(name, read) else { throw .claim }
        return value
    }
}
