package import SkyrowModel
import SkyrowProtocol
import SkyrowRemote
import SkyrowStore

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
            let sent = SentBack(provider: provider, signIn: signIn, flow: flow, stateHash: hash, response: response)
            do throws(FlowFault) {
                return .redirect(flow.address(with: [("code", try await code(for: sent))]))
            } catch {
                observe(.signInFailed(provider.configuration.name, reason: error.reason))
                if flow.purpose == .logIn { observe(.loggedIn(.provider, error.code.registered)) }
                return .redirect(flow.address(with: [("error", error.code.rawValue)]))
            }
        }
        return result ?? .busy
    }

    /// A user whom a provider has sent back, and the flow that the user had begun.
    private struct SentBack {
        let provider: OpenIDProvider
        let signIn: BrowserSignIn
        let flow: WaitingFlow
        let stateHash: [UInt8]
        let response: AuthorizationResponse
    }

    /// Authenticates the user with the provider, and returns the code with which the application fetches the result.
    private func code(for sent: SentBack) async throws(FlowFault) -> String {
        let signIn = sent.signIn
        let endpoints = try await failing { () async throws(SkyrowError) in try await signIn.endpoints() }
        let code = try sent.response.code(from: sent.provider.configuration.issuers, namesIssuer: endpoints.namesIssuer)
        let keys = try await failing { () async throws(SkyrowError) in try await store.sealing() }
        guard let bytes = keys.open(sent.flow.sealedVerifier, for: FlowSecret.place(sent.stateHash)),
            let verifier = String(validating: bytes, as: UTF8.self)
        else { throw FlowFault(.serverError, "no key can decrypt the verifier of the sign-in") }
        let tokens = try await signIn.tokens(for: code, verifier: verifier, at: endpoints, now: clock.now())
        let identity = try await identity(tokens, at: endpoints, of: sent)
        let own = FlowSecret.draw()
        let hash = FlowSecret.hash(of: own)
        let isStored = try await failing { () async throws(SkyrowError) in
            let keeps = signIn.flow.keepsTokens && tokens.text.utf8.count <= IdentityTable.maximumTokenBytes
            return try await store.flows.finish(
                sent.flow,
                identity,
                sealedTokens: keeps ? try keys.seal(tokens.text.utf8, for: FlowSecret.place(hash)) : nil,
                codeHash: hash
            )
        }
        guard isStored else { throw FlowFault(.accessDenied, "the session that began the sign-in has ended") }
        return own
    }

    /// Returns the user's identity: that of the ID token, or of the user info of a provider without ID tokens.
    private func identity(
        _ tokens: TokenResponse,
        at endpoints: ProviderEndpoints,
        of sent: SentBack
    ) async throws(FlowFault) -> ProvenIdentity {
        let configuration = sent.provider.configuration
        let identity: ProvenIdentity
        if let nonce = sent.flow.nonce {
            identity = try await self.identity(tokens, nonce: nonce, at: endpoints, of: sent)
        } else {
            let user = try await sent.signIn.user(of: tokens.accessToken, at: endpoints)
            identity = ProvenIdentity(
                provider: configuration.name,
                subject: user.subject,
                profile: user.profile,
                verifiedEmail: user.verifiedEmail
            )
        }
        guard VerifiedAddress.isAdmitted(identity.verifiedEmail, by: configuration.domains) else {
            observe(.tokenRefused(configuration.name, .domain))
            throw FlowFault(.accessDenied, "the address of the user is not in an allowed domain")
        }
        return identity
    }

    /// Returns the user's identity according to an ID token with this nonce.
    private func identity(
        _ tokens: TokenResponse,
        nonce: String,
        at endpoints: ProviderEndpoints,
        of sent: SentBack
    ) async throws(FlowFault) -> ProvenIdentity {
        let configuration = sent.provider.configuration
        guard let text = tokens.idToken else { throw FlowFault(.serverError, "the response has no id token") }
        let token = ProviderToken(
            provider: configuration.name,
            idToken: text,
            nonce: nonce,
            accessToken: tokens.accessToken
        )
        let outcome = try await failing { () async throws(SkyrowError) in
            try await used(
                try await sent.provider.prove(
                    token,
                    within: Double(FlowTable.lifetime),
                    signedInWithin: sent.flow.purpose == .stepUp ? configuration.signInAgeOfProofs : nil,
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
            observe(.tokenRefused(configuration.name, fault))
            throw FlowFault(.serverError, "the id token is not valid: \(fault.rawValue)")
        }
        // Some providers have mail addresses only there.
        if identity.verifiedEmail == nil, sent.signIn.flow.kind == .openID, let place = endpoints.user {
            let claims = try await sent.signIn.claims(of: identity.subject, tokens.accessToken, at: place)
            identity.profile = claims.profile
            identity.verifiedEmail = claims.verifiedEmail
        }
        if sent.signIn.flow.kind == .apple {
            identity.profile = ProviderUser.profile(identity.profile, withNameOf: sent.response.user)
        }
        return identity
    }

    private func failing<Success>(_ body: () async throws(SkyrowError) -> Success) async throws(FlowFault) -> Success {
        do throws(SkyrowError) {
            return try await body()
        } catch {
            let isPassing = error.code == .unexpectedUnableToOpenDatabase || error.code == .overloaded
            throw FlowFault(isPassing ? .temporarilyUnavailable : .serverError, error.description)
        }
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
