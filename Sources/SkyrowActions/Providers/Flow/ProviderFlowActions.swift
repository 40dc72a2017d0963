import SkyrowCrypto
import SkyrowJSON
import SkyrowModel
import SkyrowProtocol
import SkyrowStore

extension ActionService {
    /// Whether users sign in with any provider through the browser.
    package var hasBrowserSignIns: Bool { providers.contains { $0.signIn != nil && $0.configuration.allowsLogIn } }

    /// Throws `108 InvalidArgument` for an unknown provider, and for a redirect or scope that is not in its settings; `125
    /// NotConfigured` if the provider has no sign-in through the browser; `131 RateLimited` when too many are in progress;
    /// `10002` while the provider is unreachable; and for linking and step-up what ``authenticate(_:for:_:)`` throws, and `138
    /// StepUpRequired`.
    func startProvider(_ request: ProviderStartRequest, _ call: Call) async throws(SkyrowError) -> ProviderStart {
        let provider = try provider(request.provider)
        guard let signIn = provider.signIn else {
            throw SkyrowError(.notConfigured, "The settings of this provider have no redirect address.")
        }
        let flow = try signIn.flow.asking(for: request.scopes)
        guard flow.redirects.contains(where: { $0.admits(request.redirect) }) else {
            throw .invalidArgument("The settings of this provider do not allow this redirect address.", "redirect")
        }
        let account = try await account(for: request.purpose, call)
        let endpoints = try await signIn.endpoints()
        let asked = AuthorizationRequest(for: flow.kind)
        let hash = FlowSecret.hash(of: asked.state)
        let admission = try await store.flows.begin(
            WaitingFlow(
                provider: provider.configuration.name,
                purpose: request.purpose,
                nonce: asked.nonce,
                sealedVerifier: try await store.sealing().seal(Array(asked.verifier.utf8), for: FlowSecret.place(hash)),
                challenge: request.codeChallenge,
                redirect: request.redirect,
                state: request.state,
                account: account
            ),
            stateHash: hash,
            client: SHA256.hash(of: "flow\u{0}\(Hexadecimal.text(call.client.bytes))").bytes
        )
        switch admission {
        case .begun(let end):
            return ProviderStart(url: asked.url(at: endpoints.authorization, of: flow, request.purpose), expiresAt: end)
        case .tooMany:
            throw SkyrowError(
                .rateLimited,
                "Too many sign-ins are pending; try again in a minute.",
                info: ["retry_after": .integer(60)]
            )
        case .ended: throw CredentialCheck.tokenNotAccepted
        }
    }

    /// Returns the requesting account and session; nil for a login.
    private func account(for purpose: ProviderFlowPurpose, _ call: Call) async throws(SkyrowError) -> FlowAccount? {
        guard purpose != .logIn else { return nil }
        let call = try await byUser(call)
        let user = try call.caller.requiredUserID
        // The master key has no session to bind.
        guard let session = call.sessionHash else { throw CredentialCheck.userMissing }
        if purpose == .link { try await requireStepUpToLink(call) }
        guard let account = try await store.flows.account(of: user, tokenHash: session) else {
            throw CredentialCheck.tokenNotAccepted
        }
        return account
    }

    /// Returns the call with the user of its credentials as the caller.
    private func byUser(_ call: Call) async throws(SkyrowError) -> Call {
        let user = try await authenticate(call.credentials, for: .user)
        return Call(by: user, with: call.credentials, client: call.client, from: call.origin)
    }

    /// Throws `134 InvalidToken` for a code that is wrong, used or expired, for another verifier, and for a session of another
    /// user than the one that started; and what ``logIn(_:)`` and ``link(_:with:session:begunBy:_:)`` throw.
    func finishProvider(_ request: ProviderFinishRequest, _ call: Call) async throws(SkyrowError) -> AuthResult {
        let hash = FlowSecret.hash(of: request.code)
        // A request with another verifier uses the code up, too.
        guard let flow = try await store.flows.take(codeHash: hash),
            Array(flow.challenge.utf8)
                .isEqualInConstantTime(to: Array(FlowSecret.challenge(of: request.codeVerifier).utf8)),
            let provider = try? provider(flow.identity.provider)
        else {
            await audit(.logIn, refusedWith: .flowNotAccepted, of: nil, from: call.origin)
            observe(.loggedIn(.provider, SkyrowError.flowNotAccepted.code))
            throw .flowNotAccepted
        }
        let tokens =
            if let sealed = flow.sealedTokens {
                try await store.sealing().open(sealed, for: FlowSecret.place(hash)).map { JSONText(validated: $0) }
            } else {
                nil as JSONText?
            }
        guard let account = flow.account else {
            return try await loggingIn(by: .provider) { () async throws(SkyrowError) in
                try await logIn(IdentityLogIn(flow.identity, request.device, call, tokens: tokens), by: provider)
            }
        }
        let call = try await byUser(call)
        guard call.caller.userID == account.user, let token = call.credentials.ownToken(of: call.caller) else {
            throw .flowNotAccepted
        }
        let session = TokenHash(of: token).bytes
        switch flow.purpose {
        case .link:
            let identity = try await store.identities.sealing(tokens, of: flow.identity, for: account.user)
            try await link(identity, with: account.user, session: session, begunBy: account, call)
        case .stepUp, .logIn: try await elevate(session, of: account, by: flow.identity, call)
        }
        return try await self.account(of: account.user, with: token)
    }

    /// Elevates the session of a user who has authenticated again with a linked identity.
    private func elevate(
        _ tokenHash: [UInt8],
        of account: FlowAccount,
        by identity: ProvenIdentity,
        _ call: Call
    ) async throws(SkyrowError) {
        defer { forget(.token(hash: tokenHash)) }
        let actor = call.actor
        try await auditing(.stepUp, of: account.user, by: actor, from: call.origin) { () async throws(SkyrowError) in
            let credentials = try await self.account(of: account.user, provedBy: identity)
            guard credentials.epoch == account.epoch,
                try await store.flows.account(of: account.user, tokenHash: tokenHash)?.sessionID == account.sessionID
            else { throw .signInRefused }
            let event = AuditEvent(.stepUp, by: .itself, from: call.origin)
            try await elevate(tokenHash, of: credentials, recording: event)
        }
    }

    /// Throws `110 ResourceNotFound` if none are stored, or no key of the service decrypts them.
    func providerTokens(of provider: String, _ call: Call) async throws(SkyrowError) -> ProviderTokens {
        let tokens = try await store.identities.tokens(of: try call.caller.requiredUserID, provider: provider)
        guard let tokens else {
            throw SkyrowError(.resourceNotFound, "The service has no tokens of this provider for the user.")
        }
        return tokens
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

extension SkyrowError {
    /// One error for a code that is wrong, used, expired or of another user.
    fileprivate static let flowNotAccepted = SkyrowError(
        .invalidToken,
        "The code is not valid. Begin the sign-in again."
    )
}
