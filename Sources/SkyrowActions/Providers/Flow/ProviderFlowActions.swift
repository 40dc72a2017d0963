import SkyrowCrypto
import SkyrowJSON
package import SkyrowModel
import SkyrowRemote
import SkyrowStore

// MARK: - Beginning

extension ActionService {
    /// Whether users sign in with any provider through the browser.
    package var hasBrowserSignIns: Bool { providers.contains { $0.signIn != nil && $0.configuration.allowsLogIn } }

    /// `auth:provider:start`: starts a sign-in through the browser.
    ///
    /// Throws `108 InvalidArgument` for an unknown provider, and for a redirect or scope that is not in its settings; `125
    /// NotConfigured` if the provider has no sign-in through the browser; `131 RateLimited` when too many are in progress;
    /// `10002` while the provider is unreachable; and for linking and step-up what ``authenticate(_:for:_:)`` throws, and `138
    /// StepUpRequired`.
    package func startProvider(
        _ request: ProviderStartRequest,
        with credentials: Credentials = Credentials(),
        from client: ClientKey = .none
    ) async throws(SkyrowError) -> ProviderStart {
        try await observed(.authProviderStart) { () async throws(SkyrowError) in
            let provider = try provider(request.provider)
            guard let signIn = provider.signIn else {
                throw SkyrowError(
                    .notConfigured,
                    "The settings of this provider have no redirect address."
                )
            }
            let flow = try signIn.flow.asking(for: request.scopes)
            guard flow.redirects.contains(where: { $0.admits(request.redirect) }) else {
                throw .invalidArgument("The settings of this provider do not allow this redirect address.", "redirect")
            }
            let account = try await account(for: request.purpose, with: credentials)
            let endpoints = try await signIn.endpoints()
            let asked = AuthorizationRequest(for: flow.kind)
            let hash = FlowSecret.hash(of: asked.state)
            let admission = try await store.flows.begin(
                WaitingFlow(
                    provider: provider.configuration.name,
                    purpose: request.purpose,
                    nonce: asked.nonce,
                    sealedVerifier: try await store.sealing().seal(Array(asked.verifier.utf8), for: Self.place(hash)),
                    challenge: request.codeChallenge,
                    redirect: request.redirect,
                    state: request.state,
                    account: account
                ),
                stateHash: hash,
                client: SHA256.hash(of: "flow\u{0}\(Hexadecimal.text(client.bytes))").bytes
            )
            switch admission {
            case .begun(let end):
                return ProviderStart(
                    url: asked.url(at: endpoints.authorization, of: flow, request.purpose),
                    expiresAt: end
                )
            case .tooMany:
                throw SkyrowError(
                    .rateLimited,
                    "Too many sign-ins are pending; try again in a minute.",
                    info: ["retry_after": .integer(60)]
                )
            case .ended: throw CredentialCheck.tokenNotAccepted
            }
        }
    }

    /// Returns the associated data with which a secret of a flow is authenticated.
    private static func place(_ hash: [UInt8]) -> [String] { ["_flow", Hexadecimal.text(hash)] }

    /// Returns the requesting account and session; nil for a login.
    private func account(
        for purpose: ProviderFlowPurpose,
        with credentials: Credentials
    ) async throws(SkyrowError) -> FlowAccount? {
        guard purpose != .logIn else { return nil }
        let caller = try await authenticate(credentials, for: .user)
        let user = try caller.requiredUserID
        // The master key has no session to bind.
        guard let token = credentials.ownToken(of: caller) else { throw CredentialCheck.userMissing }
        if purpose == .link, caller.isRegistered, let refusal = try await stepUpRefusal(of: caller, with: credentials) {
            throw refusal
        }
        guard let account = try await store.flows.account(of: user, tokenHash: TokenHash(of: token).bytes) else {
            throw CredentialCheck.tokenNotAccepted
        }
        return account
    }
}

// MARK: - Coming back

/// The response to a browser that returns from a provider.
package enum ProviderReturn: Hashable, Sendable {
    /// It is redirected to the application, with a code or an error.
    case redirect(String)
    /// The state is invalid, used or expired, so the redirect is unknown.
    case unknown
    /// Too many exchanges are in progress; the same request may be repeated.
    case busy
}

extension ActionService {
    /// Handles the response of a provider that the user's browser brings; returns nil for an unknown provider.
    ///
    /// Without the state of a flow of this provider nothing is changed.
    package func returned(
        from name: String,
        _ response: AuthorizationResponse
    ) async throws(SkyrowError) -> ProviderReturn? {
        guard let provider = try? provider(name), let signIn = provider.signIn else { return nil }
        guard let state = response.state else { return .unknown }
        let result = try await signIn.exchanging { () async throws(SkyrowError) -> ProviderReturn in
            let hash = FlowSecret.hash(of: state)
            guard let flow = try await store.flows.take(stateHash: hash, of: provider.configuration.name) else {
                return .unknown
            }
            do throws(FlowFault) {
                let code = try await code(for: flow, hash, response, from: provider, signIn)
                return .redirect(flow.address(with: [("code", code)]))
            } catch {
                observe(.signInFailed(provider.configuration.name, reason: error.reason))
                if flow.purpose == .logIn { observe(.loggedIn(.provider, error.code.registered)) }
                return .redirect(flow.address(with: [("error", error.code.rawValue)]))
            }
        }
        return result ?? .busy
    }

    /// Authenticates the user with the provider, and returns the code with which the application fetches the result.
    private func code(
        for flow: WaitingFlow,
        _ stateHash: [UInt8],
        _ response: AuthorizationResponse,
        from provider: OpenIDProvider,
        _ signIn: BrowserSignIn
    ) async throws(FlowFault) -> String {
        let endpoints = try await failing { () async throws(SkyrowError) in try await signIn.endpoints() }
        let code = try response.code(from: provider.configuration.issuers, namesIssuer: endpoints.namesIssuer)
        let keys = try await failing { () async throws(SkyrowError) in try await store.sealing() }
        guard let bytes = keys.open(flow.sealedVerifier, for: Self.place(stateHash)),
            let verifier = String(validating: bytes, as: UTF8.self)
        else { throw FlowFault(.serverError, "no key can decrypt the verifier of the sign-in") }
        let tokens = try await signIn.tokens(for: code, verifier: verifier, at: endpoints, now: clock.now())
        let identity =
            if let nonce = flow.nonce {
                try await identity(
                    tokens,
                    nonce: nonce,
                    response,
                    at: endpoints,
                    of: provider,
                    signIn,
                    signedInWithin: flow.purpose == .stepUp ? provider.configuration.signInAgeOfProofs : nil
                )
            } else {
                try await identity(tokens, at: endpoints, of: provider, signIn)
            }
        let own = FlowSecret.draw()
        let hash = FlowSecret.hash(of: own)
        let isStored = try await failing { () async throws(SkyrowError) in
            let keeps = signIn.flow.keepsTokens && tokens.text.utf8.count <= IdentityTable.maximumTokenBytes
            return try await store.flows.finish(
                flow,
                identity,
                sealedTokens: keeps ? try keys.seal(tokens.text.utf8, for: Self.place(hash)) : nil,
                codeHash: hash
            )
        }
        guard isStored else { throw FlowFault(.accessDenied, "the session that began the sign-in has ended") }
        return own
    }

    /// Returns the user's identity according to an ID token with this nonce.
    private func identity(
        _ tokens: TokenResponse,
        nonce: String,
        _ response: AuthorizationResponse,
        at endpoints: ProviderEndpoints,
        of provider: OpenIDProvider,
        _ signIn: BrowserSignIn,
        signedInWithin signInAge: Double?
    ) async throws(FlowFault) -> ProvenIdentity {
        let name = provider.configuration.name
        guard let text = tokens.idToken else { throw FlowFault(.serverError, "the response has no id token") }
        let outcome = try await failing { () async throws(SkyrowError) in
            let token = ProviderToken(provider: name, idToken: text, nonce: nonce, accessToken: tokens.accessToken)
            return try await used(
                try await provider.prove(
                    token,
                    within: Double(FlowTable.lifetime),
                    signedInWithin: signInAge,
                    requiresAccessTokenHash: false,
                    requiresDomain: false,
                    at: clock.now()
                )
            )
        }
        var identity: ProvenIdentity
        switch outcome {
        case .success(let proof): identity = proof.identity
        case .failure(let fault):
            observe(.tokenRefused(name, fault))
            throw FlowFault(.serverError, "the id token is not valid: \(fault.rawValue)")
        }
        // Some providers have mail addresses only there.
        if identity.verifiedEmail == nil, signIn.flow.kind == .openID, let place = endpoints.user {
            let claims = try await signIn.claims(of: identity.subject, tokens.accessToken, at: place)
            identity.profile = claims.profile
            identity.verifiedEmail = claims.verifiedEmail
        }
        if signIn.flow.kind == .apple {
            identity.profile = ProviderUser.profile(identity.profile, withNameOf: response.user)
        }
        return try admitted(identity, by: provider)
    }

    /// Returns the user's identity according to a provider without ID tokens.
    private func identity(
        _ tokens: TokenResponse,
        at endpoints: ProviderEndpoints,
        of provider: OpenIDProvider,
        _ signIn: BrowserSignIn
    ) async throws(FlowFault) -> ProvenIdentity {
        let user = try await signIn.user(of: tokens.accessToken, at: endpoints)
        return try admitted(
            ProvenIdentity(
                provider: provider.configuration.name,
                subject: user.subject,
                profile: user.profile,
                verifiedEmail: user.verifiedEmail
            ),
            by: provider
        )
    }

    private func admitted(
        _ identity: ProvenIdentity,
        by provider: OpenIDProvider
    ) throws(FlowFault) -> ProvenIdentity {
        guard VerifiedAddress.isAdmitted(identity.verifiedEmail, by: provider.configuration.domains) else {
            observe(.tokenRefused(provider.configuration.name, .domain))
            throw FlowFault(.accessDenied, "the address of the user is not in an allowed domain")
        }
        return identity
    }

    private func failing<Success>(
        _ body: () async throws(SkyrowError) -> Success
    ) async throws(FlowFault) -> Success {
        do throws(SkyrowError) {
            return try await body()
        } catch {
            let isPassing = error.code == .unexpectedUnableToOpenDatabase || error.code == .overloaded
            throw FlowFault(isPassing ? .temporarilyUnavailable : .serverError, error.description)
        }
    }
}

extension ProviderFlow {
    /// Returns a copy with further scopes.
    ///
    /// Throws `108 InvalidArgument` for one that the settings do not allow.
    fileprivate func asking(for scopes: [String]) throws(SkyrowError) -> ProviderFlow {
        var flow = self
        for (place, scope) in scopes.enumerated() where !flow.scopes.contains(where: { $0.isSameText(as: scope) }) {
            guard furtherScopes.contains(where: { $0.isSameText(as: scope) }) else {
                throw .invalidArgument("The settings of this provider do not allow this scope.", "scopes")
                    .at("scopes[\(place)]")
            }
            flow.scopes.append(scope)
        }
        return flow
    }
}

extension FlowFault.Code {
    /// The error code that a failed login is counted by.
    fileprivate var registered: ErrorCode {
        switch self {
        case .accessDenied: .permissionDenied
        case .serverError: .invalidCredentials
        case .temporarilyUnavailable: .unexpectedUnableToOpenDatabase
        }
    }
}

extension WaitingFlow {
    /// Returns the URL to redirect to, with further fields in the query.
    fileprivate func address(with fields: [(name: String, value: String)]) -> String {
        WebForm.appending(fields + (state.map { [(name: "state", value: $0)] } ?? []), to: redirect)
    }
}

// MARK: - Ending

extension ActionService {
    /// `auth:provider:finish`: completes a sign-in through the browser with the returned code.
    ///
    /// Throws `134 InvalidToken` for a code that is wrong, used or expired, for another verifier, and for a session of another
    /// user than the one who started; and what ``logIn(_:from:origin:)-(ProviderLogInRequest,_,_)`` and
    /// ``linkProvider(_:by:with:from:origin:)`` throw.
    package func finishProvider(
        _ request: ProviderFinishRequest,
        with credentials: Credentials = Credentials(),
        origin: RequestOrigin = RequestOrigin()
    ) async throws(SkyrowError) -> AuthResult {
        try await observed(.authProviderFinish) { () async throws(SkyrowError) in
            let hash = FlowSecret.hash(of: request.code)
            // A request with another verifier uses the code up, too.
            guard let flow = try await store.flows.take(codeHash: hash),
                Array(flow.challenge.utf8)
                    .isEqualInConstantTime(to: Array(FlowSecret.challenge(of: request.codeVerifier).utf8)),
                let provider = try? provider(flow.identity.provider)
            else {
                await audit(.logIn, refusedWith: .flowNotAccepted, of: nil, from: origin)
                observe(.loggedIn(.provider, SkyrowError.flowNotAccepted.code))
                throw .flowNotAccepted
            }
            var tokens: JSONText?
            if let sealed = flow.sealedTokens {
                tokens = try await store.sealing().open(sealed, for: Self.place(hash)).map { JSONText(validated: $0) }
            }
            guard let account = flow.account else {
                let opening = Opening(
                    .provider,
                    provider: flow.identity.provider,
                    device: request.device,
                    origin: origin
                )
                let sealed = tokens
                return try await loggingIn(by: .provider) { () async throws(SkyrowError) in
                    try await logIn(
                        flow.identity,
                        opening,
                        makesAccounts: provider.configuration.allowsSignUp
                            && configuration.accountLife.admitsSelfSignUp,
                        trustsEmail: provider.configuration.trustsEmail,
                        tokens: sealed
                    )
                }
            }
            let caller = try await authenticate(credentials, for: .user)
            guard caller.userID == account.user, let token = credentials.ownToken(of: caller) else {
                throw .flowNotAccepted
            }
            switch flow.purpose {
            case .link:
                let identity = try await store.identities.sealing(tokens, of: flow.identity, for: account.user)
                try await link(
                    identity,
                    with: account.user,
                    begunBy: account,
                    by: caller,
                    with: credentials,
                    origin: origin
                )
            case .stepUp, .logIn:
                try await elevate(token, of: account, by: flow.identity, caller, origin)
            }
            return try await self.account(of: account.user, with: token)
        }
    }

    /// Elevates the session of a user who has authenticated again with a linked identity.
    private func elevate(
        _ token: String,
        of account: FlowAccount,
        by identity: ProvenIdentity,
        _ caller: Caller,
        _ origin: RequestOrigin
    ) async throws(SkyrowError) {
        let tokenHash = TokenHash(of: token).bytes
        defer { forget(.token(hash: tokenHash)) }
        do throws(SkyrowError) {
            let found = try await store.identities.account(of: identity.provider, subject: identity.subject)
            guard found?.id == account.user, let credentials = try await store.users.credentials(of: account.user),
                credentials.epoch == account.epoch,
                try await store.flows.account(of: account.user, tokenHash: tokenHash)?.sessionID == account.sessionID
            else { throw .signInRefused }
            let event = AuditEvent(.stepUp, by: .itself, from: origin)
            guard try await store.sessions.elevate(tokenHash, of: credentials, recording: event) != nil else {
                throw CredentialCheck.tokenNotAccepted
            }
        } catch {
            await audit(.stepUp, refusedWith: error, of: account.user, by: AuditEvent.Actor(caller), from: origin)
            throw error
        }
    }

    /// `auth:provider:token`: the provider's tokens for the user.
    ///
    /// Throws `110 ResourceNotFound` if none are stored, or no key of the service decrypts them.
    package func tokens(of provider: String, by caller: Caller) async throws(SkyrowError) -> ProviderTokens {
        try await observed(.authProviderToken) { () async throws(SkyrowError) in
            let tokens = try await store.identities.tokens(of: try caller.requiredUserID, provider: provider)
            guard let tokens else {
                throw SkyrowError(.resourceNotFound, "The service has no tokens of this provider for the user.")
            }
            return tokens
        }
    }
}

extension SkyrowError {
    /// One error for a code that is wrong, used, expired or of another user.
    static let flowNotAccepted = SkyrowError(.invalidToken, "The code is not valid. Begin the sign-in again.")
}
