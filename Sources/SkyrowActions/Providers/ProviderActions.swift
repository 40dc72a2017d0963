import SkyrowJSON
import SkyrowModel
import SkyrowProtocol
import SkyrowStore

extension ActionTable {
    static let providers: [any AnyEntry] = [
        Entry(Actions.authProviderLogIn, ActionService.logIn(byToken:_:)),
        Entry(Actions.authProviderLink, ActionService.linkProvider),
        Entry(Actions.authProviderUnlink, ActionService.unlinkProvider),
        Entry(Actions.authProviderList, ActionService.identities),
        Entry(Actions.authProviderStart, ActionService.startProvider),
        Entry(Actions.authProviderFinish, ActionService.finishProvider),
        Entry(Actions.authProviderToken, ActionService.providerTokens(of:_:)),
        Entry(Actions.ssoCustomTokenLogIn, ActionService.logIn(byCustomToken:_:)),
        Entry(Actions.ssoOAuthLogIn, ActionService.logInOAuth),
        Entry(Actions.ssoOAuthSignUp, ActionService.signUpOAuth),
        Entry(Actions.ssoOAuthLink, ActionService.linkOAuth),
        Entry(Actions.ssoOAuthUnlink, ActionService.unlinkOAuth),
    ]
}

// MARK: - Logging in

extension ActionService {
    /// An account is found by the provider's subject, never by a mail address.
    ///
    /// Throws `108 InvalidArgument` for an unknown provider or one without logins; `105 InvalidCredentials` for a token that is
    /// not accepted, for any reason, and for an unknown user if the provider creates no accounts; `127 UserDisabled`; `10002`
    /// while the provider's keys are unavailable.
    fileprivate func logIn(byToken logIn: ProviderLogIn, _ call: Call) async throws(SkyrowError) -> AuthResult {
        try await loggingIn(by: .provider) { () async throws(SkyrowError) in
            let provider = try provider(ofTokens: logIn.token.provider)
            let identity = try await auditing(.logIn, from: call.origin) { () async throws(SkyrowError) in
                try await proven(logIn.token, by: provider, from: call.client)
            }
            return try await self.logIn(IdentityLogIn(identity, logIn.device, call), by: provider)
        }
    }

    /// The fields of `skyprofile` that the user may set are merged into the profile, except login keys.
    ///
    /// Throws `125 NotConfigured` without keys, `107 BadRequest` for a token that is malformed, not signed with one of them, or
    /// expired, `105 InvalidCredentials` for invalid claims, and `127 UserDisabled`.
    fileprivate func logIn(
        byCustomToken logIn: CustomTokenLogIn,
        _ call: Call
    ) async throws(SkyrowError) -> AuthResult {
        try await loggingIn(by: .customToken) { () async throws(SkyrowError) in
            guard !configuration.customTokenKeys.isEmpty else {
                throw SkyrowError(.notConfigured, "The service has no keys for custom tokens.")
            }
            let claims = try await auditing(.logIn, from: call.origin) { () async throws(SkyrowError) in
                try await judging(AccountIdentity.customToken, from: call.client, error: \.customTokenError) {
                    () async throws(SkyrowError) in
                    try await self.claims(ofCustomToken: logIn.token, rules: call.rules)
                }
            }
            let identity = ProvenIdentity(
                provider: AccountIdentity.customToken,
                subject: claims.subject,
                profile: OAuthResponse().profile
            )
            var request = IdentityLogIn(identity, by: .customToken, logIn.device, call)
            request.profile = mergeable(claims.profile)
            request.makesAccounts = true
            return try await self.logIn(request)
        }
    }

    /// Verifies a custom token, and marks it as used.
    private func claims(
        ofCustomToken text: String,
        rules: ReadingRules
    ) async throws(SkyrowError) -> Result<CustomTokenClaims, TokenFault> {
        guard let token = SignedToken(text, maximumBytes: CustomTokenLogIn.maximumBytes) else {
            return .failure(.undecodable)
        }
        guard configuration.customTokenKeys.contains(where: { $0.hasSigned(token) }) else {
            return .failure(.signature)
        }
        let outcome = try token.withClaims { json throws(SkyrowError) in
            try CustomTokenClaims.read(json, at: clock.now().secondsSince1970, rules: rules)
        }
        guard case .success(let claims) = outcome, let id = claims.id else { return outcome }
        let end = Timestamp(secondsSince1970: claims.expires + 2 * IDTokenRules.skew)
        return try await store.identities.use(CustomTokenClaims.useHash(of: id), until: end) ? outcome : .failure(.used)
    }
}

// MARK: - Tokens

extension ActionService {
    /// Returns the provider of a name with logins; throws `108 InvalidArgument` without one.
    func provider(_ name: String) throws(SkyrowError) -> OpenIDProvider {
        guard let provider = providers.first(where: { $0.configuration.name.isSameText(as: name) }),
            provider.configuration.allowsLogIn
        else { throw .invalidArgument("This service has no provider of this name.", "provider") }
        return provider
    }

    /// The same for providers with ID tokens.
    private func provider(ofTokens name: String) throws(SkyrowError) -> OpenIDProvider {
        let provider = try provider(name)
        guard !provider.configuration.issuers.isEmpty else {
            throw .invalidArgument("This provider has no id tokens; call auth:provider:start.", "provider")
        }
        return provider
    }

    /// Verifies a token and marks it as used.
    private func proven(
        _ token: ProviderToken,
        by provider: OpenIDProvider,
        from client: ClientKey,
        within maximumAge: Double = IDTokenRules.maximumAge,
        signedInWithin signInAge: Double? = nil
    ) async throws(SkyrowError) -> ProvenIdentity {
        let proof = try await judging(provider.configuration.name, from: client, error: \.idTokenError) {
            () async throws(SkyrowError) in
            try await used(
                try await provider.prove(token, within: maximumAge, signedInWithin: signInAge, at: clock.now())
            )
        }
        return proof.identity
    }

    /// Judges a token. A client's failed attempts count like its guesses of passwords.
    ///
    /// - Parameters:
    ///   - issuer: the name of the provider, for the log.
    ///   - error: the error for a fault.
    ///   - judge: throws if the token cannot be judged.
    private func judging<Proof>(
        _ issuer: String,
        from client: ClientKey,
        error: (TokenFault) -> SkyrowError,
        _ judge: () async throws(SkyrowError) -> Result<Proof, TokenFault>
    ) async throws(SkyrowError) -> Proof {
        // The account is still unknown.
        let claim = try await claim(client == .none ? nil : GuessSource(accounts: [], client: client.bytes))
        let outcome: Result<Proof, TokenFault>
        do throws(SkyrowError) {
            outcome = try await judge()
        } catch {
            if let claim { try? await store.throttle.withdraw(claim) }
            throw error
        }
        switch outcome {
        case .success(let proof):
            if let claim { try? await store.throttle.withdraw(claim) }
            return proof
        case .failure(let fault):
            observe(.tokenRefused(issuer, fault))
            throw error(fault)
        }
    }

    func used(
        _ outcome: Result<OpenIDProvider.Proof, TokenFault>
    ) async throws(SkyrowError) -> Result<OpenIDProvider.Proof, TokenFault> {
        guard case .success(let proof) = outcome else { return outcome }
        return try await store.identities.use(proof.useHash, until: proof.end) ? outcome : .failure(.used)
    }

    /// Returns the account of a user who has just signed in with a provider again.
    func accountProved(
        by token: ProviderToken,
        _ user: UserID,
        from client: ClientKey
    ) async throws(SkyrowError) -> AccountCredentials {
        let provider = try provider(ofTokens: token.provider)
        let identity = try await proven(
            token,
            by: provider,
            from: client,
            within: Double(Elevation.lifetime),
            signedInWithin: provider.configuration.signInAgeOfProofs
        )
        return try await account(of: user, provedBy: identity)
    }

    /// Returns the account of a user who is linked with an identity.
    func account(of user: UserID, provedBy identity: ProvenIdentity) async throws(SkyrowError) -> AccountCredentials {
        let found = try await store.identities.account(of: identity.provider, subject: identity.subject)
        guard found?.id == user, let credentials = try await store.users.credentials(of: user) else {
            throw .signInRefused
        }
        return credentials
    }
}

// MARK: - Linking

extension ActionService {
    /// Throws what ``logIn(byToken:_:)`` throws about the token, and ``link(_:with:session:begunBy:_:)``.
    fileprivate func linkProvider(_ token: ProviderToken, _ call: Call) async throws(SkyrowError) {
        let user = try call.caller.requiredUserID
        try await requireStepUpToLink(call)
        let identity = try await proven(token, by: try provider(ofTokens: token.provider), from: call.client)
        try await link(identity, with: user, session: call.sessionHash, call)
    }

    /// An anonymous account has nothing to step up with; its token is its only credential.
    func requireStepUpToLink(_ call: Call) async throws(SkyrowError) {
        guard call.caller.isRegistered,
            let refusal = try await stepUpRefusal(of: call.caller, with: call.credentials)
        else { return }
        throw refusal
    }

    /// Links a proven identity with a user; returns whether it was not linked before.
    ///
    /// Throws `109 Duplicated` for an identity of another account, or if the user has another one of that provider; `108
    /// InvalidArgument` for too many; and if the session has ended `104 AccessTokenNotAccepted`, or `110 ResourceNotFound` to the
    /// master key for an unknown user.
    ///
    /// - Parameters:
    ///   - tokenHash: the session that must be valid; nil for the master key.
    ///   - flow: the account and session that started the flow; nil if the link is made at once.
    @discardableResult
    func link(
        _ identity: ProvenIdentity,
        with user: UserID,
        session tokenHash: [UInt8]?,
        begunBy flow: FlowAccount? = nil,
        _ call: Call
    ) async throws(SkyrowError) -> Bool {
        // Also when it is unknown whether the change was committed.
        defer { forget(.user(user)) }
        let outcome = try await store.identities.link(
            identity,
            with: user,
            session: tokenHash,
            begunBy: flow,
            recording: call.audit(.providerLink)
        )
        switch outcome {
        case .linked: return true
        case .unchanged: return false
        case .taken: throw .identityTaken
        case .providerTaken:
            throw SkyrowError(
                .duplicated,
                "The account is linked with another sign-in of this provider; unlink it first.",
                info: ["arguments": .list([.string("provider")])]
            )
        case .tooMany:
            throw .invalidArgument(
                "An account can be linked with at most \(AccountIdentity.maximumCount) providers.",
                "provider"
            )
        case .ended: throw ended(call.caller)
        }
    }

    /// Open sessions stay valid.
    fileprivate func unlinkProvider(_ provider: String, _ call: Call) async throws(SkyrowError) {
        try await unlink(provider, from: try call.caller.requiredUserID, session: call.sessionHash, call)
    }

    /// Removes a user's identity of a provider.
    ///
    /// Throws `110 ResourceNotFound` without one, and `113 ConstraintViolated` if it is the only way to log in.
    ///
    /// - Parameter tokenHash: the session that must be valid; nil for the master key.
    func unlink(
        _ provider: String,
        from user: UserID,
        session tokenHash: [UInt8]?,
        _ call: Call
    ) async throws(SkyrowError) {
        defer { forget(.user(user)) }
        let outcome = try await store.identities.unlink(
            provider,
            from: user,
            session: tokenHash,
            countsPasswords: configuration.accounts.admitsPasswords,
            recording: call.audit(.providerUnlink)
        )
        switch outcome {
        case .unlinked: return
        case .missing: throw SkyrowError(.resourceNotFound, "The account is not linked with this provider.")
        case .last:
            throw SkyrowError(
                .constraintViolated,
                "This is the only way to log in to the account; set a password or link another provider first."
            )
        case .ended: throw ended(call.caller)
        }
    }

    fileprivate func identities(_: Void, _ call: Call) async throws(SkyrowError) -> [AccountIdentity] {
        try await store.identities.list(of: try call.caller.requiredUserID)
    }

    func ended(_ caller: Caller) -> SkyrowError {
        caller.isMaster ? .userNotFound : CredentialCheck.tokenNotAccepted
    }
}

extension SkyrowError {
    /// One error for a token and an account that do not match.
    static let signInRefused = TokenFault.key.idTokenError
}
