import SkyrowCrypto
import SkyrowJSON
import SkyrowModel

/// What an id token of OpenID Connect claims (OpenID Connect Core 1.0, section 2).
struct IDTokenClaims: Hashable, Sendable {
    var issuer: String
    var subject: String
    var audiences: [String]
    var authorizedParty: String?
    /// In seconds since 1970, as the others.
    var expires: Double
    var issued: Double
    var notBefore: Double?
    /// When the user signed in, which may be long before the token was issued.
    var signedIn: Double?
    var nonce: String?
    var accessTokenHash: String?
    /// The mail address that the provider says it has verified.
    var verifiedEmail: String?
    /// What it says of the user, for the user to see.
    var profile: JSONText

    /// Throws ``TokenFault/claim`` for one that is missing or of another type.
    init(_ json: JSONView) throws(TokenFault) {
        issuer = try json.claim("iss", \.string)
        subject = try json.claim("sub") { $0.string.flatMap { $0.isName ? $0 : nil } }
        audiences = try json.claim("aud") { claim -> [String]? in
            if let one = claim.string { return [one] }
            guard claim.isArray, (1...20).contains(claim.count) else { return nil }
            let texts = claim.elements.compactMap(\.string)
            return texts.count == claim.count ? texts : nil
        }
        authorizedParty = try json.optionalClaim("azp", \.string)
        expires = try json.claim("exp", \.numericDate)
        issued = try json.claim("iat", \.numericDate)
        notBefore = try json.optionalClaim("nbf", \.numericDate)
        signedIn = try json.optionalClaim("auth_time", \.numericDate)
        nonce = try json.optionalClaim("nonce", \.string)
        accessTokenHash = try json.optionalClaim("at_hash", \.string)
        profile = IDTokenClaims.profile(json)
        verifiedEmail = IDTokenClaims.verifiedEmail(json)
    }

    /// The address that the claims say is verified.
    static func verifiedEmail(_ json: JSONView) -> String? {
        // Apple writes the flag as a text.
        let isVerified = json["email_verified"].map { $0.boolean == true || $0.string == "true" } ?? false
        return isVerified ? json["email"]?.string.flatMap(VerifiedAddress.read) : nil
    }

    /// The claims that people recognise their account by, those that are too long left out.
    static func profile(_ json: JSONView) -> JSONText {
        let names: [StaticString] = [
            "name", "given_name", "family_name", "preferred_username", "email", "email_verified", "picture", "locale",
        ]
        let writer = JSONWriter()
        writer.beginObject()
        for name in names {
            guard let claim = json[name] else { continue }
            if let text = claim.string, text.utf8.count <= 1000, !text.hasNUL {
                writer.key(name)
                writer.string(text)
            } else if let flag = claim.boolean {
                writer.key(name)
                writer.boolean(flag)
            }
        }
        writer.endObject()
        return JSONText(validated: writer.bytes)
    }
}

/// What the claims of an id token have to be. It judges claims alone, whose signature was verified.
struct IDTokenRules: Hashable, Sendable {
    /// By how many seconds clocks may differ.
    static let skew = 60.0
    /// How old a token may be, in seconds: so long is remembered that it was used.
    static let maximumAge = 86_400.0

    /// By which of these names the provider calls itself.
    var issuers: [String]
    /// By which of these it knows the application.
    var clientIDs: [String]

    /// Throws what is wrong with a token.
    ///
    /// - Parameters:
    ///   - nonce: what the application drew.
    ///   - accessToken: what came along with the token.
    ///   - requiresHash: whether the token has to name it; where it need not, it still has to name this one, if any.
    ///   - algorithm: that of its signature.
    ///   - maximumAge: how old the token may be, in seconds; a day at most.
    ///   - signInAge: how long ago the user may have signed in, which the token has to say then; nil where that does not matter.
    ///   - now: in seconds since 1970.
    func check(
        _ claims: IDTokenClaims,
        nonce: String,
        accessToken: String?,
        requiresHash: Bool = true,
        _ algorithm: SignatureAlgorithm,
        within maximumAge: Double = IDTokenRules.maximumAge,
        signedInWithin signInAge: Double? = nil,
        at now: Double
    ) throws(TokenFault) {
        guard issuers.contains(where: { $0.isSameText(as: claims.issuer) }) else { throw .issuer }
        // One for others too is one that others may have got it with, who could log in with it here.
        guard claims.audiences.allSatisfy(isOurs) else { throw .audience }
        if let party = claims.authorizedParty {
            guard isOurs(party) else { throw .authorizedParty }
        } else if claims.audiences.count > 1 {
            throw .authorizedParty
        }
        guard now < claims.expires + Self.skew else { throw .expired }
        guard claims.issued <= now + Self.skew, (claims.notBefore ?? 0) <= now + Self.skew else { throw .early }
        guard claims.issued >= now - maximumAge - Self.skew else { throw .age }
        if let signInAge {
            guard let signedIn = claims.signedIn, signedIn <= now + Self.skew,
                signedIn >= now - signInAge - Self.skew
            else { throw .age }
        }
        // Some kits of providers send the hash of what the application drew, so that the provider does not learn it.
        guard let claimed = claims.nonce, !nonce.isEmpty,
            claimed.isSameText(as: nonce) || claimed.isSameText(as: Hexadecimal.text(SHA256.hash(of: nonce).bytes))
        else { throw .nonce }
        if let accessToken, requiresHash || claims.accessTokenHash != nil {
            guard let hash = claims.accessTokenHash, hash == Self.hash(ofAccessToken: accessToken, algorithm) else {
                throw .accessToken
            }
        }
    }

    private func isOurs(_ party: String) -> Bool {
        clientIDs.contains { $0.isSameText(as: party) }
    }

    /// The left half of the hash that the algorithm has in its name (OpenID Connect Core 1.0, 3.1.3.6).
    static func hash(ofAccessToken token: String, _ algorithm: SignatureAlgorithm) -> String {
        let hash =
            algorithm == .edDSA ? SHA512.hash(of: Array(token.utf8)) : SkyrowCrypto.SHA256.hash(of: token).bytes
        return Base64URL.encode(Array(hash.prefix(hash.count / 2)))
    }

    /// What stands for a token that is used: its provider and its nonce, by whatever text the application had drawn it.
    static func useHash(of provider: String, nonce: String) -> [UInt8] {
        SkyrowCrypto.SHA256.hash(of: "nonce\u{0}\(provider)\u{0}\(nonce)").bytes
    }
}
