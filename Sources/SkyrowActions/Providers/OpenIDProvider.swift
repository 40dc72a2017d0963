package import SkyrowCrypto
import SkyrowJSON
import SkyrowModel
package import SkyrowRemote
import SkyrowStore

/// A provider whose word counts.
package struct ProviderConfiguration: Sendable {
    /// What clients call it.
    package var name: String
    /// By which of these names it calls itself; none for one without id tokens.
    package var issuers: [String]
    /// By which of these it knows the application.
    package var clientIDs: [String]
    /// What it may sign with; never HS256, whose key would be its public one.
    package var algorithms: [SignatureAlgorithm]
    /// Whether users log in by it.
    package var allowsLogIn: Bool
    /// Whether accounts are made by it.
    package var allowsSignUp: Bool
    /// In which domains the mail address is that it has verified; in any where there are none.
    package var domains: [String]
    /// Whether an address that it has verified is the account's.
    package var trustsEmail: Bool
    /// Whether its id tokens say when the user signed in, which step-up takes.
    package var saysSignInTime: Bool
    /// How users sign in with it by way of their browsers; nil where they do not.
    package var flow: ProviderFlow?
    /// Fetches its keys.
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

    /// How long ago a user may have signed in whose token is to prove who that is, in seconds; nil where its tokens do not say.
    var signInAgeOfProofs: Double? { saysSignInTime ? Double(Elevation.lifetime) : nil }
}

/// Where a provider has its keys.
package struct ProviderKeySource: Sendable {
    private let issuer: String
    private let address: WebAddress?
    private let allowsLoopback: Bool
    private let fetcher: WebFetcher

    /// - Parameters:
    ///   - issuer: what the document of the provider has to call it.
    ///   - address: that of the keys; nil where the provider's document says it (OpenID Connect Discovery 1.0).
    ///   - allowsLoopback: whether the keys may be on the machine itself, for development.
    package init(issuer: String, address: WebAddress?, allowsLoopback: Bool, fetcher: WebFetcher) {
        self.issuer = issuer
        self.address = address
        self.allowsLoopback = allowsLoopback
        self.fetcher = fetcher
    }

    /// Fetches the keys, and before them the provider's document where that says where they are.
    package func keys() async -> Result<FetchedKeys, WebFailure> {
        do throws(WebFailure) {
            let place: WebAddress
            if let address {
                place = address
            } else if let found = try await document().keys {
                place = found
            } else {
                throw WebFailure("The document of \(issuer) does not say at which https address the keys are.")
            }
            return .success(try FetchedKeys(try await fetcher.document(at: place)))
        } catch {
            return .failure(error)
        }
    }

    /// Says where users sign in and where codes are exchanged, as the provider's document has it.
    package func endpoints() async -> Result<ProviderEndpoints, WebFailure> {
        do throws(WebFailure) {
            guard let endpoints = try await document().endpoints else {
                throw WebFailure("The document of \(issuer) does not say at which https addresses users sign in.")
            }
            return .success(endpoints)
        } catch {
            return .failure(error)
        }
    }

    private func document() async throws(WebFailure) -> ProviderDocument {
        let base = issuer.hasSuffix("/") ? String(issuer.dropLast()) : issuer
        guard let place = WebAddress("\(base)/.well-known/openid-configuration", allowsLoopback: allowsLoopback) else {
            throw WebFailure("The issuer \(issuer) is no address of a document.")
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
    /// nil where users do not sign in by way of their browsers.
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

    /// How long ago its keys were fetched; nil while they were not.
    func keyAge(at now: ContinuousClock.Instant) -> Duration? { keys.age(at: now) }

    /// What a token has proved, and what stands for it as a used one.
    struct Proof: Hashable, Sendable {
        var identity: ProvenIdentity
        var useHash: [UInt8]
        var end: Timestamp
    }

    /// Verifies a token; that it was not used before is for the database to say.
    ///
    /// Returns what is wrong with it, and throws `10002` while the keys cannot be had.
    ///
    /// - Parameters:
    ///   - maximumAge: how old the token may be, in seconds.
    ///   - signInAge: how long ago the user may have signed in, in seconds; nil where that does not matter.
    ///   - requiresAccessTokenHash: whether the token has to name an access token that came along.
    ///   - requiresDomain: whether its address has to be in one of the domains of the settings.
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
        // What the token says of its algorithm only chooses among those that the settings allow.
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
                    // By its age or by itself, whichever is later.
                    end: Timestamp(
                        secondsSince1970: claims.issued + IDTokenRules.maximumAge + 2 * IDTokenRules.skew
                    )
                )
            )
        } catch {
            return .failure(error)
        }
    }
}

extension Timestamp {
    var secondsSince1970: Double { Double(microseconds + Timestamp.unixEpochOffset) / 1_000_000 }

    /// An instant that a claim names, which was compared with the present one, so that it is not far from it.
    init(secondsSince1970 seconds: Double) {
        self.init(microseconds: Int64(seconds * 1_000_000) - Timestamp.unixEpochOffset)
    }
}
