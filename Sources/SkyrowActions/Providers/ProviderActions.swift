package import SkyrowJSON
package import SkyrowModel
import SkyrowStore

// MARK: - Logging in

extension ActionService {
    /// `auth:provider:login`: logs in with the ID token of a provider, and creates the account if there is none.
    ///
    /// An account is found by the provider's subject, never by a mail address.
    ///
    /// Throws `108 InvalidArgument` for an unknown provider or one without logins; `105 InvalidCredentials` for a token that is
    /// not accepted, for any reason, and for an unknown user if the provider creates no accounts; `127 UserDisabled`; `10002`
    /// while the provider's keys are unavailable.
    package func logIn(
        _ request: ProviderLogInRequest,
        from client: ClientKey = .none,
        origin: RequestOrigin = RequestOrigin()
    ) async throws(SkyrowError) -> AuthResult {
        try await observed(.authProviderLogIn, as: .provider) { () async throws(SkyrowError) in
            let provider = try provider(ofTokens: request.token.provider)
            let identity: ProvenIdentity
            do throws(SkyrowError) {
                identity = try await proven(request.token, by: provider, from: client)
            } catch {
                await audit(.logIn, refusedWith: error, of: nil, from: origin)
                throw error
            }
            return try await logIn(
                identity,
                Opening(.provider, provider: identity.provider, device: request.device, origin: origin),
                makesAccounts: provider.configuration.allowsSignUp && configuration.accountLife.admitsSelfSignUp,
                trustsEmail: provider.configuration.trustsEmail
            )
        }
    }

    /// `sso:custom_token:login`: logs in with a token signed by a server of the application.
    ///
    /// The fields of `skyprofile` that the user may set are merged into the profile, except login keys.
    ///
    /// Throws `125 NotConfigured` without keys, `107 BadRequest` for a token that is malformed, not signed with one of them, or
    /// expired, `105 InvalidCredentials` for invalid claims, and `127 UserDisabled`.
    ///
    /// - Parameter readProfile: reads the fields of an object.
    package func logIn(
        _ request: CustomTokenRequest,
        from client: ClientKey = .none,
        origin: RequestOrigin = RequestOrigin(),
        readProfile: (JSONView) throws(SkyrowError) -> [(name: FieldName, value: RecordValue)]
    ) async throws(SkyrowError) -> AuthResult {
        try await observed(.ssoCustomTokenLogIn, as: .customToken) { () async throws(SkyrowError) in
            let keys = configuration.customTokenKeys
            guard !keys.isEmpty else {
                throw SkyrowError(.notConfigured, "The service has no keys for custom tokens.")
            }
            let claim = try await claim(tokenOf: client)
            var misfit: SkyrowError?
            let claims: CustomTokenClaims
            do throws(SkyrowError) {
                claims = try await custom(request.token, keys) { json throws(TokenFault) in
                    do throws(SkyrowError) {
                        return try readProfile(json)
                    } catch {
                        misfit = error
                        throw .claim
                    }
                }
            } catch {
                let error = misfit ?? error
                await audit(.logIn, refusedWith: error, of: nil, from: origin)
                throw error
            }
            if let claim { try? await store.throttle.withdraw(claim) }
            let identity = ProvenIdentity(
                provider: AccountIdentity.customToken,
                subject: claims.subject,
                profile: JSONText(validated: Array("{}".utf8))
            )
            return try await logIn(
                identity,
                Opening(.customToken, provider: identity.provider, device: request.device, origin: origin),
                makesAccounts: true,
                merging: claims.profile
            )
        }
    }

    /// Verifies a custom token, marks it as used, and returns its claims.
    private func custom(
        _ text: String,
        _ keys: [CustomTokenKey],
        readProfile: (JSONView) throws(TokenFault) -> [(name: FieldName, value: RecordValue)]
    ) async throws(SkyrowError) -> CustomTokenClaims {
        func refused(_ fault: TokenFault) -> SkyrowError {
            observe(.tokenRefused(AccountIdentity.customToken, fault))
            return fault.customTokenError
        }
        let claims: CustomTokenClaims
        do throws(TokenFault) {
            guard let token = SignedToken(text, maximumBytes: CustomTokenRequest.maximumBytes) else {
                throw .undecodable
            }
            guard keys.contains(where: { $0.hasSigned(token) }) else { throw .signature }
            claims = try token.withClaims { json throws(TokenFault) in
                try CustomTokenClaims(json, at: clock.now().secondsSince1970, readProfile: readProfile)
            }
        } catch {
            throw refused(error)
        }
        if let id = claims.id {
            let end = Timestamp(secondsSince1970: claims.expires + 2 * IDTokenRules.skew)
            guard try await store.identities.use(CustomTokenClaims.useHash(of: id), until: end) else {
                throw refused(.used)
            }
        }
        return claims
    }

    /// Opens a session for an identity, and creates its account if there is none.
    ///
    /// - Parameters:
    ///   - profile: fields to merge into the profile.
    ///   - trustsEmail: whether a new account gets the address that the provider has verified.
    ///   - tokens: the provider's tokens to store.
    func logIn(
        _ identity: ProvenIdentity,
        _ opening: Opening,
        makesAccounts: Bool,
        merging profile: [(name: FieldName, value: RecordValue)] = [],
        trustsEmail: Bool = false,
        tokens: JSONText? = nil
    ) async throws(SkyrowError) -> AuthResult {
        var known: UserID?
        do throws(SkyrowError) {
            let fields = mergeable(profile)
            // Of two concurrent first logins one creates the account, and the other finds it.
            for _ in 0..<3 {
                let found = try await store.identities.account(of: identity.provider, subject: identity.subject)
                known = found?.id
                if let found { return try await logIn(found, by: identity, opening, merging: fields, tokens: tokens) }
                guard makesAccounts else { throw .signInRefused }
                let address = trustsEmail ? try await addressOfNewAccount(identity, from: opening.origin) : nil
                do throws(SkyrowError) {
                    return try await signUp(identity, opening, profile: fields, address: address, tokens: tokens)
                } catch {
                    // Another account may have got the address meanwhile, too.
                    guard error == .identityTaken || address != nil && error.code == .duplicated else { throw error }
                }
            }
            throw .signInRefused
        } catch {
            // `secondFactorRequired` audits a login that waits for its second factor.
            if error.code != .secondFactorRequired {
                await audit(.logIn, refusedWith: error, of: known, from: opening.origin)
            }
            throw error
        }
    }

    private func logIn(
        _ found: IdentifiedAccount,
        by identity: ProvenIdentity,
        _ opening: Opening,
        merging fields: [(name: FieldName, value: RecordValue)],
        tokens: JSONText?
    ) async throws(SkyrowError) -> AuthResult {
        if let suspension = found.suspension, !suspension.isOver(at: clock.now()) { throw suspension.error }
        try await requireVerifiedAddress(of: found.id)
        if !fields.isEmpty { try await merge(fields, into: found) }
        let identity = try await store.identities.sealing(tokens, of: identity, for: found.id)
        // A provider's assertion is a first factor, like a password.
        if let account = try await store.users.credentials(of: found.id), account.hasSecondFactor {
            try await store.identities.keep(identity, of: found.id)
            throw try await secondFactorRequired(of: account, opening, refusal: .signInRefused)
        }
        var result = try await openSession(for: found.id, opening) { session throws(SkyrowError) in
            // nil if the identity was unlinked or the account disabled meanwhile.
            guard let account = try await store.users.logIn(with: identity, as: found.id, session: session) else {
                throw .signInRefused
            }
            return account
        }
        result.isNew = false
        return result
    }

    /// Returns the address of a new account: the one that the provider has verified. It is removed from accounts that have not
    /// verified it.
    ///
    /// Throws `109 Duplicated` with `link` if another account has verified it.
    private func addressOfNewAccount(
        _ identity: ProvenIdentity,
        from origin: RequestOrigin
    ) async throws(SkyrowError) -> String? {
        guard let address = identity.verifiedEmail, store.loginKeys.contains(where: { $0.rawValue == "email" }) else {
            return nil
        }
        guard try await !store.identities.isProven(address) else { throw .addressProven }
        try await store.identities.release(address, from: origin)
        return address
    }

    func signUp(
        _ identity: ProvenIdentity,
        _ opening: Opening,
        profile: [(name: FieldName, value: RecordValue)],
        address: String? = nil,
        tokens: JSONText? = nil
    ) async throws(SkyrowError) -> AuthResult {
        let id = UserID(UUIDText().description)
        let identity = try await store.identities.sealing(tokens, of: identity, for: id)
        let rules = try await profileRules()
        let creator = FieldAccess.audience(Audience(user: id, isRegistered: true))
        let denied = rules.fields.refusedInNew(profile.map(\.name), by: creator)
        var fields = profile.filter { !denied.contains($0.name) }
        if let address { fields.append((try FieldName("email"), .string(address))) }
        let draft = RecordDraft(id: try RecordID(type: .user, id: id.rawValue), fields: fields)
        if try !store.schemaPlan(saving: [draft]).isEmpty { try await store.createMissingSchema(for: [draft]) }
        let account = NewAccount(
            id: id,
            passwordHash: nil,
            profile: fields,
            identity: identity,
            verifiedEmail: address
        )
        var result = try await openSession(for: id, opening) { session throws(SkyrowError) in
            try await store.users.create(account, session: session)
        }
        result.isNew = true
        return result
    }

    /// Returns the fields that a token may set: neither login keys, which the user verifies or chooses, nor fields that the
    /// service maintains.
    func mergeable(
        _ profile: [(name: FieldName, value: RecordValue)]
    ) -> [(name: FieldName, value: RecordValue)] {
        let kept = TypeRules.ofProfiles(loginKeys: store.loginKeys)
        return profile.filter { !kept.loginKeys.contains($0.name) && !kept.requiredFields.contains($0.name) }
    }

    /// Merges those fields into a profile that its user may change.
    private func merge(
        _ fields: [(name: FieldName, value: RecordValue)],
        into account: IdentifiedAccount
    ) async throws(SkyrowError) {
        let rules = try await profileRules()
        let user = FieldAccess.audience(
            Audience(
                user: account.id,
                roles: account.roles,
                groups: account.groups,
                isRegistered: true,
                isVerified: account.isVerified
            )
        )
        let allowed = fields.filter { !rules.fields.standing(.update, of: $0.name, for: user).isNever }
        guard !allowed.isEmpty else { return }
        let draft = RecordDraft(id: try RecordID(type: .user, id: account.id.rawValue), fields: allowed)
        if try !store.schemaPlan(saving: [draft]).isEmpty { try await store.createMissingSchema(for: [draft]) }
        // The access rules of records apply to users' requests; the application's server has signed these fields.
        let access = try recordAccess(
            to: .everyone,
            for: .writing,
            by: Caller(kind: .master(actingAs: account.id))
        )
        for outcome in try await store.save([.draft(draft)], with: access, atomic: true) {
            if case .failure(let error, _) = outcome { throw error }
        }
    }

    private func profileRules() async throws(SkyrowError) -> TypeRules {
        guard let table = try await store.table(of: .user) else { throw .unexpected }
        return table.rules
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

    /// Verifies a token and marks it as used. A client's failed attempts count like its guesses of passwords.
    private func proven(
        _ token: ProviderToken,
        by provider: OpenIDProvider,
        from client: ClientKey,
        within maximumAge: Double = IDTokenRules.maximumAge,
        signedInWithin signInAge: Double? = nil
    ) async throws(SkyrowError) -> ProvenIdentity {
        let claim = try await claim(tokenOf: client)
        let outcome: Result<OpenIDProvider.Proof, TokenFault>
        do throws(SkyrowError) {
            outcome = try await used(
                try await provider.prove(token, within: maximumAge, signedInWithin: signInAge, at: clock.now())
            )
        } catch {
            // The token was not checked.
            if let claim { try? await store.throttle.withdraw(claim) }
            throw error
        }
        switch outcome {
        case .success(let proof):
            if let claim { try? await store.throttle.withdraw(claim) }
            return proof.identity
        case .failure(let fault):
            observe(.tokenRefused(provider.configuration.name, fault))
            throw fault.idTokenError
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
        let found = try await store.identities.account(of: identity.provider, subject: identity.subject)
        guard found?.id == user, let credentials = try await store.users.credentials(of: user) else {
            throw .signInRefused
        }
        return credentials
    }

    /// Counts a client's attempt with a token, whose account is still unknown.
    private func claim(tokenOf client: ClientKey) async throws(SkyrowError) -> GuessClaim? {
        try await claim(client == .none ? nil : GuessSource(accounts: [], client: client.bytes))
    }
}

// MARK: - Linking

extension ActionService {
    /// `auth:provider:link`: links an identity of a provider with the user's account.
    ///
    /// Throws `109 Duplicated` for an identity of another account, or if the user has another one of that provider, and what
    /// ``logIn(_:from:origin:)-(ProviderLogInRequest,_,_)`` throws about the token.
    package func linkProvider(
        _ token: ProviderToken,
        by caller: Caller,
        with credentials: Credentials,
        from client: ClientKey = .none,
        origin: RequestOrigin = RequestOrigin()
    ) async throws(SkyrowError) {
        try await observed(.authProviderLink) { () async throws(SkyrowError) in
            let user = try caller.requiredUserID
            // An anonymous account has nothing to step up with; its token is its only credential.
            if caller.isRegistered, let refusal = try await stepUpRefusal(of: caller, with: credentials) {
                throw refusal
            }
            let provider = try provider(ofTokens: token.provider)
            let identity = try await proven(token, by: provider, from: client)
            try await link(identity, with: user, by: caller, with: credentials, origin: origin)
        }
    }

    /// Links a proven identity.
    ///
    /// - Parameter flow: the account and session that started the flow; nil if the link is made at once.
    func link(
        _ identity: ProvenIdentity,
        with user: UserID,
        begunBy flow: FlowAccount? = nil,
        by caller: Caller,
        with credentials: Credentials,
        origin: RequestOrigin
    ) async throws(SkyrowError) {
        // Also when it is unknown whether the change was committed.
        defer { forget(.user(user)) }
        let outcome = try await store.identities.link(
            identity,
            with: user,
            session: credentials.ownToken(of: caller).map { TokenHash(of: $0).bytes },
            begunBy: flow,
            recording: AuditEvent(.providerLink, by: AuditEvent.Actor(caller), from: origin)
        )
        switch outcome {
        case .linked, .unchanged: return
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
        case .ended: throw ended(caller)
        }
    }

    /// `auth:provider:unlink`: removes the user's link with a provider. Open sessions stay valid.
    ///
    /// Throws `110 ResourceNotFound` without such a link, and `113 ConstraintViolated` if it is the only way to log in.
    package func unlinkProvider(
        _ provider: String,
        by caller: Caller,
        with credentials: Credentials,
        origin: RequestOrigin = RequestOrigin()
    ) async throws(SkyrowError) {
        try await observed(.authProviderUnlink) { () async throws(SkyrowError) in
            try await unlink(
                provider,
                from: try caller.requiredUserID,
                session: credentials.ownToken(of: caller).map { TokenHash(of: $0).bytes },
                by: caller,
                origin: origin
            )
        }
    }

    /// Removes a user's identity of a provider.
    ///
    /// - Parameter tokenHash: the session that must be valid; nil for the master key.
    func unlink(
        _ provider: String,
        from user: UserID,
        session tokenHash: [UInt8]?,
        by caller: Caller,
        origin: RequestOrigin
    ) async throws(SkyrowError) {
        defer { forget(.user(user)) }
        let outcome = try await store.identities.unlink(
            provider,
            from: user,
            session: tokenHash,
            countsPasswords: configuration.accounts.admitsPasswords,
            recording: AuditEvent(.providerUnlink, by: AuditEvent.Actor(caller), from: origin)
        )
        switch outcome {
        case .unlinked: return
        case .missing: throw SkyrowError(.resourceNotFound, "The account is not linked with this provider.")
        case .last:
            throw SkyrowError(
                .constraintViolated,
                "This is the only way to log in to the account; set a password or link another provider first."
            )
        case .ended: throw ended(caller)
        }
    }

    /// `auth:provider:list`
    package func identities(by caller: Caller) async throws(SkyrowError) -> [AccountIdentity] {
        try await observed(.authProviderList) { () async throws(SkyrowError) in
            try await store.identities.list(of: try caller.requiredUserID)
        }
    }

    func ended(_ caller: Caller) -> SkyrowError {
        caller.isMaster ? .userNotFound : CredentialCheck.tokenNotAccepted
    }
}

extension SkyrowError {
    /// One error for a token and an account that do not match.
    static let signInRefused = TokenFault.key.idTokenError

    /// `109` for an address that another account has verified: its user logs in there, and links the provider.
    static let addressProven = SkyrowError(
        .duplicated,
        "Another account has this email address: log in to it and link the provider.",
        info: ["arguments": .list([.string("email")]), "link": .boolean(true)]
    )
}
