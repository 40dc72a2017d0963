import SkyrowCrypto
import SkyrowJSON
import SkyrowModel

/// The claims of an OpenID Connect ID token (OpenID Connect Core 1.0, section 2).
struct IDTokenClaims: Hashable, Sendable {
    var issuer: String
    var subject: String
    var audiences: [String]
    var authorizedParty: String?
    /// In seconds since 1970, like the other times.
    var expires: Double
    var issued: Double
    var notBefore: Double?
    /// When the user signed in, possibly long before the token was issued.
    var signedIn: Double?
    var nonce: String?
    var accessTokenHash: String?
    /// The mail address that the provider has verified.
    var verifiedEmail: String?
    /// The claims that describe the user, for display.
    var profile: JSONText

    /// Throws ``TokenFault/claim`` for a missing claim or one of another type.
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

    /// Returns the mail address if the claims mark it as verified; nil otherwise.
    static func verifiedEmail(_ json: JSONView) -> String? {
        // Apple sends the flag as a string.
        let isVerified = json["email_verified"].map { $0.boolean == true || $0.string == "true" } ?? false
        return isVerified ? json["email"]?.string.flatMap(VerifiedAddress.read) : nil
    }

    /// Returns the claims by which people recognise their account, without values that are too long.
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

/// The rules for the claims of an ID token whose signature was verified.
struct IDTokenRules: Hashable, Sendable {
    /// Tolerated clock difference, in seconds.
    static let skew = 60.0
    /// Upper bound on the age of a token, in seconds; used tokens are remembered for as long.
    static let maximumAge = 86_400.0

    /// The provider's accepted issuer names.
    var issuers: [String]
    /// The application's client ids at the provider.
    var clientIDs: [String]

    /// Throws the fault of a token.
    ///
    /// - Parameters:
    ///   - nonce: the nonce that the application generated.
    ///   - accessToken: the access token that came with the ID token.
    ///   - requiresHash: whether the token must have the access token's hash; an optional hash must match as well.
    ///   - algorithm: the algorithm of its signature.
    ///   - maximumAge: upper bound on the token's age, in seconds; a day at most.
    ///   - signInAge: upper bound on the time since the user signed in, which the token then must have; nil for no bound.
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
        // A token for several audiences could be replayed by any of them to log in here.
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
        // Some providers' SDKs send the hash of the application's nonce, so that the provider does not learn it.
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

    /// Returns the left half of the hash of the algorithm's family (OpenID Connect Core 1.0, 3.1.3.6).
    static func hash(ofAccessToken token: String, _ algorithm: SignatureAlgorithm) -> String {
        let hash =
            algorithm == .edDSA ? SHA512.hash(of: Array(token.utf8)) : SkyrowCrypto.SHA256.hash(of: token).bytes
        return Base64URL.encode(Array(hash.prefix(hash.count / 2)))
    }

    /// Returns the hash that identifies a used token: by provider and nonce claim, independent of how the application generated
    /// the nonce.
    static func useHash(of provider: String, nonce: String) -> [UInt8] {
        SkyrowCrypto.SHA256.hash(of: "nonce\u{0}\(provider)\u{0}\(nonce)").bytes
    }
}
