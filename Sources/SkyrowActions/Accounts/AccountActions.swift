import SkyrowJSON
import SkyrowModel
import SkyrowProtocol
import SkyrowStore

extension ActionTable {
    static let accounts: [any AnyEntry] = [
        Entry(Actions.authSignUp, ActionService.signUp(_:_:)),
        Entry(Actions.authLogIn, ActionService.logIn(_:_:)),
        Entry(Actions.authPassword, ActionService.changePassword(_:_:)),
        Entry(Actions.authRegister, ActionService.register(_:_:)),
    ]
}

extension ActionService {
    /// The master key makes accounts when others may not.
    ///
    /// Throws `102 PermissionDenied` if such accounts are not permitted, and `109 Duplicated` for a login key that is taken; of
    /// several concurrent signups with one login key, exactly one succeeds. Throws `108 InvalidArgument` for a reference to a
    /// record that the new user may not read, as for a missing one.
    fileprivate func signUp(_ request: SignUpRequest, _ call: Call) async throws(SkyrowError) -> AuthResult {
        if let provider = request.provider { return try await logIn(by: provider, call) }
        var data = try SignUpData(request, loginKeys: store.loginKeys, policy: configuration.accounts)
        try requireSignUp(of: data, by: call.caller)
        let id = UserID(UUIDText().description)
        // The new user has none of the creator's roles.
        var creator = Caller(
            kind: call.caller.isMaster ? .master(actingAs: id) : .user(id),
            isRegistered: data.password != nil
        )
        creator.key = call.caller.key
        creator.keyName = call.caller.keyName
        let access = try profileAccess(to: data.fields, by: creator)
        try await requireUsableFiles(in: data.fields, of: id, by: creator)
        (data.fields, data.trusted) = try await hookedProfile(
            data.fields,
            of: id,
            hasLoginKeys: data.password != nil,
            for: hookCaller(of: call)
        )
        let address = try addressToVerify(of: data)
        var draft = try await NewAccount(data, of: id, in: store, passwords: passwords, client: call.client)
        draft.verifies = address != nil
        let account = draft
        let opening = Opening(.signUp, device: request.device, origin: call.origin)
        let result: AuthResult
        do throws(SkyrowError) {
            if let address {
                result = try await signUp(account, with: access, verifying: address, opening, from: call.client)
            } else {
                result = try await openSession(for: account.id, opening) { session throws(SkyrowError) in
                    try await store.users.create(account, session: session, with: access)
                }
            }
        } catch {
            // The account exists then.
            if error.code == .verificationRequired {
                await runHooks(afterSignUpOf: id, for: hookCaller(of: call))
            }
            throw error
        }
        await runHooks(afterSignUpOf: id, for: hookCaller(of: call))
        return result
    }

    /// Throws `111 NotSupported` if passwords are switched off; `105 InvalidCredentials` after exactly one hash, whether the user
    /// is unknown, has no password or another one; only after the right password `127 UserDisabled`, `126 PasswordPolicyViolated`
    /// for a password that is too old, and `137 SecondFactorRequired` for an account with a second factor; `135 Overloaded` when
    /// too many passwords wait; `131 RateLimited` when too many were tried for the account or wait for the client.
    fileprivate func logIn(_ request: LogInRequest, _ call: Call) async throws(SkyrowError) -> AuthResult {
        if let provider = request.provider { return try await logIn(by: provider, call) }
        return try await loggingIn(by: .password) { () async throws(SkyrowError) in
            try configuration.accounts.requirePasswords()
            let data = try LoginData(request.authData, loginKeys: store.loginKeys)
            guard !data.values.isEmpty else { throw LoginData.missing(store.loginKeys) }
            let password = try Password.checked(request.password, argument: "password")
            let new = try request.newPassword.map { new throws(SkyrowError) in
                try configuration.accounts.accepted(new, argument: "new_password")
            }
            let guess = Guess(logIn: data.values, from: call.client, device: request.device)
            var known: UserID?
            let credentials: AccountCredentials
            let verdict: PasswordHasher.Verdict
            do throws(SkyrowError) {
                let found: AccountCredentials?
                (found, verdict) = try await judge(password, guess) { () async throws(SkyrowError) in
                    try await self.store.users.credentials(of: data.values)
                }
                known = found?.id
                guard let found, verdict.isRight else { throw .loginRefused }
                if let suspension = found.suspension, !suspension.isOver(at: clock.now()) { throw suspension.error }
                try await requireVerifiedAddress(of: found.id)
                if new == nil { try requireUnexpired(found) }
                credentials = found
            } catch {
                await audit(.logIn, refusedWith: error, of: known, accounts: guess.accounts, from: call.origin)
                throw error
            }
            if let new {
                // Otherwise an attacker who has learnt the password could lock out the user whose second factor stops the
                // attacker.
                guard !credentials.hasSecondFactor else { throw .passwordOfSecondFactor }
                let profile = try await runHooks(beforeLogInOf: credentials.id, from: call.origin)
                let result = try await changePassword(
                    of: credentials,
                    from: password,
                    to: new,
                    Opening(.password, device: request.device, origin: call.origin),
                    from: call.client,
                    refusal: .loginRefused
                )
                if let profile { await runHooks(.afterLogin, of: profile, for: hookCaller(of: call)) }
                return result
            }
            let opening = Opening(.logIn, device: request.device, origin: call.origin)
            let result = try await enter(credentials, opening, refusal: .loginRefused) { session throws(SkyrowError) in
                try await store.users.logIn(credentials, session: session)
            }
            if case .rightAndRehashed(let hash) = verdict {
                // The login succeeds without it, and the next one tries again.
                try? await store.users.rehash(credentials, as: hash)
            }
            return result
        }
    }

    /// Returns the account of a session's user, with the token of the session.
    func account(of user: UserID, with token: String) async throws(SkyrowError) -> AuthResult {
        let hash = TokenHash(of: token).bytes
        guard let account = try await store.users.touch(user, tokenHash: hash) else {
            forget(.token(hash: hash))
            throw CredentialCheck.tokenNotAccepted
        }
        return AuthResult(account, of: user, accessToken: token)
    }

    /// Throws `105 InvalidCredentials` when the old password is wrong, and `126 PasswordPolicyViolated`.
    fileprivate func changePassword(
        _ request: ChangePasswordRequest,
        _ call: Call
    ) async throws(SkyrowError) -> AuthResult {
        let user = try call.caller.requiredUserID
        let old = try Password.checked(request.oldPassword, argument: "old_password")
        let new = try configuration.accounts.accepted(request.password, argument: "password")
        let guess = Guess(user: user, from: call.client)
        let credentials: AccountCredentials
        do throws(SkyrowError) {
            let (found, verdict) = try await judge(old, guess, replacingWeak: false) {
                () async throws(SkyrowError) in
                try await self.store.users.credentials(of: user)
            }
            guard let found, verdict.isRight else { throw .wrongPassword }
            credentials = found
        } catch {
            await audit(.password, refusedWith: error, of: user, by: call.actor, from: call.origin)
            throw error
        }
        let replaced = call.credentials.ownToken(of: call.caller).map { TokenHash(of: $0).bytes }
        return try await changePassword(
            of: credentials,
            from: old,
            to: new,
            Opening(.password, origin: call.origin, replaced: replaced),
            from: call.client,
            refusal: .wrongPassword
        )
    }

    /// The properties stored with a new session.
    struct Opening {
        let by: SessionOpening
        /// The provider that authenticated the user.
        let provider: String?
        let device: SessionDevice
        let origin: RequestOrigin
        let replaced: [UInt8]?
        /// 2 after a second factor.
        let level: Int

        init(
            _ by: SessionOpening,
            provider: String? = nil,
            device: SessionDevice = SessionDevice(),
            origin: RequestOrigin,
            replaced: [UInt8]? = nil,
            level: Int = 1
        ) {
            self.level = level
            self.by = by
            self.provider = provider
            self.device = device
            self.origin = origin
            self.replaced = replaced
        }
    }

    /// Generates a token, stores its hash with `open`, and caches the session; runs the hooks of a login.
    ///
    /// Throws the errors of `open` and of hooks before a login.
    func openSession(
        for user: UserID,
        _ opening: Opening,
        _ open: (NewSession) async throws(SkyrowError) -> SignedInAccount
    ) async throws(SkyrowError) -> AuthResult {
        guard opening.by.isLogIn, let profile = try await runHooks(beforeLogInOf: user, from: opening.origin) else {
            return try await storeSession(of: user, opening, open)
        }
        let result = try await storeSession(of: user, opening, open)
        await runHooks(.afterLogin, of: profile, for: hookCaller(of: user, from: opening.origin))
        return result
    }

    private func storeSession(
        of user: UserID,
        _ opening: Opening,
        _ open: (NewSession) async throws(SkyrowError) -> SignedInAccount
    ) async throws(SkyrowError) -> AuthResult {
        let token = AccessToken()
        let expiresAt = configuration.tokenLifetime.map { clock.now().adding($0) }
        let moment = momentOfLoading
        let account = try await open(
            NewSession(
                tokenHash: token.hash.bytes,
                expiresAt: expiresAt,
                limit: configuration.sessionLimit,
                level: opening.level,
                createdWith: opening.by,
                provider: opening.provider,
                device: opening.device,
                origin: opening.origin,
                replaced: opening.replaced
            )
        )
        // Sessions with too many roles are left to the lookup, which reports the error.
        var result = AuthResult(account, of: user, accessToken: token.text)
        result.level = opening.level
        guard account.heldRoles.count <= RoleTable.maximumHeld else { return result }
        remember(
            StoredSession(
                userID: user,
                roles: account.heldRoles,
                groups: account.groups,
                isAdministrator: account.isAdministrator,
                isRegistered: account.isRegistered,
                isVerified: account.isVerified,
                expiresAt: expiresAt,
                isElevated: opening.by == .signUp
            ),
            for: token.hash,
            loadedAt: moment
        )
        return result
    }
}

extension AuthResult {
    init(_ account: SignedInAccount, of user: UserID, accessToken: String) {
        self.init(
            userID: user,
            profile: OwnProfile(
                account.profile,
                verified: account.verified,
                groups: account.groups,
                roles: account.heldRoles
            ),
            roles: account.roles,
            accessToken: accessToken,
            lastLoginAt: account.lastLoginAt,
            lastSeenAt: account.lastSeenAt
        )
        isAnonymous = !account.isRegistered
    }
}

extension NewAccount {
    /// Creates missing profile fields in the schema, and hashes the password.
    init(
        _ data: SignUpData,
        of id: UserID = UserID(UUIDText().description),
        in store: RecordStore,
        passwords: PasswordHasher,
        client: ClientKey = .none
    ) async throws(SkyrowError) {
        _ = try await store.profileDraft(of: id, data.fields)
        var hash: String?
        if let password = data.password { hash = try await passwords.hash(password, for: .signUp, from: client) }
        self.init(id: id, passwordHash: hash, profile: data.fields)
        trusted = data.trusted
    }
}

extension Caller {
    /// The acting user; throws `101` without one.
    var requiredUserID: UserID {
        get throws(SkyrowError) {
            guard let userID else { throw SkyrowError(.notAuthenticated, "Log in first.") }
            return userID
        }
    }
}

extension SkyrowError {
    /// One error for every failed login, so that it does not reveal which accounts exist.
    fileprivate static let loginRefused = SkyrowError(
        .invalidCredentials,
        "No account has this login key and password; check both."
    )
    fileprivate static let passwordOfSecondFactor = SkyrowError.invalidArgument(
        "With a second factor, change the password in a session, or reset it by mail.",
        "new_password"
    )
    fileprivate static let wrongPassword = SkyrowError(.invalidCredentials, "The old password is wrong.")
}
