package import SkyrowCrypto
import SkyrowJSON
import SkyrowModel
import SkyrowProtocol
package import SkyrowRemote
import SkyrowStore

/// A provider that users are authenticated by.
package struct ProviderConfiguration: Sendable {
    /// The provider's name for clients.
    package var name: String
    /// Its accepted issuer names; empty for one without ID tokens.
    package var issuers: [String]
    /// The application's client ids at the provider.
    package var clientIDs: [String]
    /// The accepted signature algorithms; never HS256, whose key would be the public one.
    package var algorithms: [SignatureAlgorithm]
    /// Whether users log in with it.
    package var allowsLogIn: Bool
    /// Whether it creates accounts.
    package var allowsSignUp: Bool
    /// The accepted domains of verified mail addresses; an empty list admits all.
    package var domains: [String]
    /// Whether its verified address becomes the account's.
    package var trustsEmail: Bool
    /// Whether its ID tokens have the time of the sign-in, which step-up uses.
    package var saysSignInTime: Bool
    /// How users sign in with it through the browser; nil if they do not.
    package var flow: ProviderFlow?
    package var fetchKeys: @Sendable () async -> Result<FetchedKeys, WebFailure>

    package init(
        name: String,
        issuers: [String],
        clientIDs: [String],
        algorithms: [SignatureAlgorithm] = [.rs256],
        allowsLogIn: Bool = true,
        allowsSignUp: Bool = true,
        domains: [String] = [],
        trustsEmail: Bool = false,
        saysSignInTime: Bool = true,
        flow: ProviderFlow? = nil,
        fetchKeys: @escaping @Sendable () async -> Result<FetchedKeys, WebFailure>
    ) {
        self.name = name
        self.issuers = issuers
        self.clientIDs = clientIDs
        self.algorithms = algorithms.filter { $0 != .hs256 }
        self.allowsLogIn = allowsLogIn
        self.allowsSignUp = allowsSignUp
        self.domains = domains.map { $0.lowercased() }
        self.trustsEmail = trustsEmail
        self.saysSignInTime = saysSignInTime
        self.flow = flow
        self.fetchKeys = fetchKeys
    }

    /// Upper bound on the time since the sign-in of a user who authenticates again, in seconds; nil if its tokens lack that time.
    var signInAgeOfProofs: Double? { saysSignInTime ? Double(Elevation.lifetime) : nil }
}

/// The source of a provider's keys.
package struct ProviderKeySource: Sendable {
    private let issuer: String
    private let address: WebAddress?
    private let allowsLoopback: Bool
    private let fetcher: WebFetcher

    /// - Parameters:
    ///   - issuer: the issuer name that the provider's document must have.
    ///   - address: the address of the keys; nil if the provider's document has it (OpenID Connect Discovery 1.0).
    ///   - allowsLoopback: whether the keys may be on the same machine, for development.
    package init(issuer: String, address: WebAddress?, allowsLoopback: Bool, fetcher: WebFetcher) {
        self.issuer = issuer
        self.address = address
        self.allowsLoopback = allowsLoopback
        self.fetcher = fetcher
    }

    /// Fetches the keys, after the provider's document if that has their address.
    package func keys() async -> Result<FetchedKeys, WebFailure> {
        do throws(WebFailure) {
            let place: WebAddress
            if let address {
                place = address
            } else if let found = try await document().keys {
                place = found
            } else {
                throw WebFailure("The document of \(issuer) has no https address of the keys.")
            }
            return .success(try FetchedKeys(try await fetcher.document(at: place)))
        } catch {
            return .failure(error)
        }
    }

    /// Fetches the endpoints for signing in and for exchanging codes from the provider's document.
    package func endpoints() async -> Result<ProviderEndpoints, WebFailure> {
        do throws(WebFailure) {
            guard let endpoints = try await document().endpoints else {
                throw WebFailure("The document of \(issuer) has no https addresses for signing in.")
            }
            return .success(endpoints)
        } catch {
            return .failure(error)
        }
    }

    private func document() async throws(WebFailure) -> ProviderDocument {
        let base = issuer.hasSuffix("/") ? String(issuer.dropLast()) : issuer
        guard let place = WebAddress("\(base)/.well-known/openid-configuration", allowsLoopback: allowsLoopback) else {
            throw WebFailure("The issuer \(issuer) is not the address of a document.")
        }
        return try ProviderDocument(
            try await fetcher.document(at: place),
            at: place,
            issuer: issuer,
            allowsLoopback: allowsLoopback
        )
    }
}

/// A provider with its keys.
struct OpenIDProvider: Sendable {
    let configuration: ProviderConfiguration
    /// nil if users do not sign in through the browser.
    let signIn: BrowserSignIn?
    private let keys: KeySetCache

    init(
        _ configuration: ProviderConfiguration,
        instant: @escaping @Sendable () -> ContinuousClock.Instant,
        observe: @escaping @Sendable (WebFailure?) -> Void,
        report: @escaping @Sendable (WebFailure) -> Void
    ) {
        self.configuration = configuration
        signIn = configuration.flow.map { BrowserSignIn($0, instant: instant, report: report) }
        keys = KeySetCache(instant: instant, observe: observe, fetch: configuration.fetchKeys)
    }

    /// Returns the time since its keys were fetched; nil before that.
    func keyAge(at now: ContinuousClock.Instant) -> Duration? { keys.age(at: now) }

    /// The identity that a token proves, and the hash that marks the token as used.
    struct Proof: Hashable, Sendable {
        var identity: ProvenIdentity
        var useHash: [UInt8]
        var end: Timestamp
    }

    /// Verifies a token; the database checks whether it was used before.
    ///
    /// Returns the token's fault, and throws `10002` while the keys are unavailable.
    ///
    /// - Parameters:
    ///   - maximumAge: upper bound on the token's age, in seconds.
    ///   - signInAge: upper bound on the time since the user signed in, in seconds; nil for no bound.
    ///   - requiresAccessTokenHash: whether the token must have the hash of an accompanying access token.
    ///   - requiresDomain: whether its address must be in one of the domains of the settings.
    func prove(
        _ token: ProviderToken,
        within maximumAge: Double,
        signedInWithin signInAge: Double? = nil,
        requiresAccessTokenHash: Bool = true,
        requiresDomain: Bool = true,
        at now: Timestamp
    ) async throws(SkyrowError) -> Result<Proof, TokenFault> {
        guard let signed = SignedToken(token.idToken, maximumBytes: ProviderToken.maximumBytes) else {
            return .failure(.undecodable)
        }
        // The token's header only chooses among the algorithms that the settings allow.
        guard let algorithm = configuration.algorithms.first(where: { $0.rawValue == signed.algorithm }) else {
            return .failure(.algorithm)
        }
        let held = try await keys.keys(for: signed.keyID)
        do throws(TokenFault) {
            try held.haveSigned(signed, algorithm)
            let claims = try signed.withClaims { json throws(TokenFault) in try IDTokenClaims(json) }
            let rules = IDTokenRules(issuers: configuration.issuers, clientIDs: configuration.clientIDs)
            try rules.check(
                claims,
                nonce: token.nonce,
                accessToken: token.accessToken,
                requiresHash: requiresAccessTokenHash,
                algorithm,
                within: maximumAge,
                signedInWithin: signInAge,
                at: now.secondsSince1970
            )
            if requiresDomain, !VerifiedAddress.isAdmitted(claims.verifiedEmail, by: configuration.domains) {
                throw .domain
            }
            return .success(
                Proof(
                    identity: ProvenIdentity(
                        provider: configuration.name,
                        subject: claims.subject,
                        profile: claims.profile,
                        verifiedEmail: claims.verifiedEmail
                    ),
                    useHash: IDTokenRules.useHash(of: configuration.name, nonce: claims.nonce ?? ""),
                    // A bound on the token's validity by its age, with room for clock differences.
                    end: Timestamp(secondsSince1970: claims.issued + IDTokenRules.maximumAge + 2 * IDTokenRules.skew)
                )
            )
        } catch {
            return .failure(error)
        }
    }
}

extension Timestamp {
    var secondsSince1970: Double { Double(microseconds + Timestamp.unixEpochOffset) / 1_000_000 }

    /// An instant of a claim, which was compared with the current time and so is not far from it.
    init(secondsSince1970 seconds: Double) {
        self.init(microseconds: Int64(seconds * 1_000_000) - Timestamp.unixEpochOffset)
    }
}
