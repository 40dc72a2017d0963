package import SkyrowCrypto
import SkyrowJSON
import SkyrowModel
import SkyrowProtocol

/// The key with which a server of the application signs tokens.
package struct CustomTokenKey: Sendable {
    /// nil if tokens need not name it.
    package let id: String?
    /// The only algorithm of the key, regardless of a token's header.
    package let algorithm: SignatureAlgorithm
    package let key: VerificationKey

    /// The algorithms that keys may have.
    package static let algorithms: [SignatureAlgorithm] = [.hs256, .rs256, .es256]

    /// Parses `HS256:<base64>` or `name=ES256:<base64>`: the secret, or the public key as in a PEM file between its first and
    /// last line. nil for any other text, a key of another kind, or a weak one.
    package init?(_ text: String) {
        guard let colon = text.firstIndex(of: ":") else { return nil }
        let head = text[..<colon].split(separator: "=", omittingEmptySubsequences: false)
        guard (1...2).contains(head.count), let name = head.last,
            let algorithm = SignatureAlgorithm(rawValue: String(name)),
            Self.algorithms.contains(algorithm), let bytes = decodeBase64(Array(text[text.index(after: colon)...].utf8))
        else { return nil }
        if head.count == 2 {
            let isName = (1...64).contains(head[0].utf8.count) && head[0].utf8.allSatisfy { (0x21...0x7e).contains($0) }
            guard isName else { return nil }
            id = String(head[0])
        } else {
            id = nil
        }
        guard
            let key = algorithm == .hs256
                ? VerificationKey(secret: bytes) : VerificationKey(subjectPublicKeyInfo: bytes),
            key.fits(algorithm)
        else { return nil }
        self.algorithm = algorithm
        self.key = key
    }

    /// Returns whether the token is signed with this key, by its algorithm.
    func hasSigned(_ token: SignedToken) -> Bool {
        guard token.algorithm == algorithm.rawValue else { return false }
        if let id, let named = token.keyID, !id.isSameText(as: named) { return false }
        return key.isSignature(token.signature, of: token.message, algorithm)
    }
}

/// The claims of a custom token.
struct CustomTokenClaims: Sendable {
    /// Upper bound on the validity of a token, in seconds.
    static let maximumLifetime = 3600.0

    var subject: String
    /// In seconds since 1970, like `issued`.
    var expires: Double
    var issued: Double
    /// The token's own id; a token with one is accepted once.
    var id: String?
    /// The fields of `skyprofile`.
    var profile: [(name: FieldName, value: RecordValue)] = []

    /// Reads and checks the claims of a token that a key has signed.
    ///
    /// Returns their fault, and throws what is wrong with the fields of `skyprofile`.
    ///
    /// - Parameter now: in seconds since 1970.
    static func read(
        _ json: JSONView,
        at now: Double,
        rules: ReadingRules
    ) throws(SkyrowError) -> Result<CustomTokenClaims, TokenFault> {
        var claims: CustomTokenClaims
        do throws(TokenFault) {
            claims = try CustomTokenClaims(json, at: now)
        } catch {
            return .failure(error)
        }
        if let profile = json["skyprofile"], profile.isObject {
            claims.profile = try ProfileFields.read(profile, rules: rules)
        }
        return .success(claims)
    }

    private init(_ json: JSONView, at now: Double) throws(TokenFault) {
        subject = try json.claim("sub") { $0.string.flatMap { $0.isName ? $0 : nil } }
        expires = try json.claim("exp", \.numericDate)
        issued = try json.claim("iat", \.numericDate)
        let notBefore = try json.optionalClaim("nbf", \.numericDate)
        id = try json.optionalClaim("jti") { $0.string.flatMap { (1...255).contains($0.utf8.count) ? $0 : nil } }
        guard now < expires + IDTokenRules.skew else { throw .expired }
        guard issued <= now + IDTokenRules.skew, (notBefore ?? 0) <= now + IDTokenRules.skew else { throw .early }
        guard expires - issued <= Self.maximumLifetime else { throw .age }
    }

    /// Returns the hash that identifies a used token.
    static func useHash(of id: String) -> [UInt8] {
        SHA256.hash(of: "jti\u{0}\(id)").bytes
    }
}

extension TokenFault {
    /// The error for a custom token, as in Skygear: 107 for a text that is not a valid token, 105 for missing or invalid claims.
    var customTokenError: SkyrowError {
        switch self {
        case .undecodable, .algorithm, .key, .signature, .expired, .early:
            SkyrowError(
                .badRequest,
                "The token is not valid: it cannot be read, is not signed with a key of the service, has expired, "
                    + "or is not valid yet.",
                info: ["arguments": .list([.string("token")])]
            )
        case .claim, .issuer, .audience, .authorizedParty, .age, .nonce, .accessToken, .used, .domain:
            SkyrowError(
                .invalidCredentials,
                "A token must have the claims sub, iat and exp, be valid for at most an hour, "
                    + "and be used only once if it has jti."
            )
        }
    }

    /// The error for a provider's token, the same for every fault.
    var idTokenError: SkyrowError {
        SkyrowError(.invalidCredentials, "The sign-in is not valid; sign in with the provider again.")
    }
}
