import SkyrowModel
import SkyrowProtocol
import SkyrowStore

extension ActionService {
    /// The id and the records of the account stay.
    ///
    /// Every session of the account ends and a new one is opened, since an access token known to someone else must not become
    /// valid for an account with a password. Throws `104 AccessTokenNotAccepted` if the session has ended meanwhile, `109
    /// Duplicated` if a login key is taken or the account has a password, and `108 InvalidArgument` for a reference as
    /// `auth:signup` does.
    func register(_ request: RegisterRequest, _ call: Call) async throws(SkyrowError) -> AuthResult {
        let caller = call.caller
        let user = try caller.requiredUserID
        // Only the holder of the account's session may do this.
        guard let token = call.credentials.ownToken(of: caller) else { throw CredentialCheck.userMissing }
        guard caller.isMaster || !caller.isRegistered else { throw .registeredAlready }
        let signUp = SignUpRequest(authData: request.authData, password: request.password, profile: request.profile)
        var data = try SignUpData(signUp, loginKeys: store.loginKeys, policy: configuration.accounts)
        try requireSignUp(of: data, by: caller)
        var creator = caller
        creator.isRegistered = true
        let access = try profileAccess(to: data.fields, by: creator)
        try await requireUsableFiles(in: data.fields, of: user, by: creator)
        let original = try await profileForHooks(of: user)
        (data.fields, data.trusted) = try await hookedProfile(
            data.fields,
            of: user,
            replacing: original,
            hasLoginKeys: true,
            for: hookCaller(of: call)
        )
        let address = try addressToVerify(of: data)
        var draft = try await NewAccount(data, of: user, in: store, passwords: passwords, client: call.client)
        draft.verifies = address != nil
        let account = draft
        // Also when it is unknown whether the change was committed.
        defer { forget(.user(user)) }
        let hash = TokenHash(of: token).bytes
        let opening = Opening(.register, origin: call.origin, replaced: hash)
        let result = try await openSession(for: user, opening) { session throws(SkyrowError) in
            let changed = try await store.users.register(account, tokenHash: hash, session: session, with: access)
            guard let changed else {
                throw try await store.users.credentials(of: user)?.passwordHash == nil
                    ? CredentialCheck.tokenNotAccepted : .registeredAlready
            }
            return changed
        }
        // With an address to verify the former session stays valid: otherwise its saved records would be lost.
        if let address { await mailFirstCode(to: address, from: call.client) }
        await runHooks(afterSignUpOf: user, replacing: original, for: hookCaller(of: call))
        return result
    }

    /// Returns the access by which the references of a profile are checked: as in a save by its user, or by the master key.
    ///
    /// Throws `102 PermissionDenied` if the request's key may not read a type that they refer to.
    func profileAccess(
        to fields: [(name: FieldName, value: RecordValue)],
        by creator: Caller
    ) throws(SkyrowError) -> RecordAccess {
        let access = RecordAccess(in: .everyone, for: .writing, by: creator)
        let readsRecords = creator.key.map { $0.missing(for: Actions.recordFetch.description) == nil } ?? true
        try store.requireReferring(inProfile: fields, with: access, readsRecords: readsRecords)
        return access
    }

    /// Throws `102 PermissionDenied` if the caller may not create accounts of this kind.
    func requireSignUp(of data: SignUpData, by caller: Caller) throws(SkyrowError) {
        let life = configuration.accountLife
        guard caller.isMaster || life.admitsSelfSignUp else {
            throw SkyrowError(.permissionDenied, "Only the operator of this service can create accounts.")
        }
        guard data.password != nil || life.admitsAnonymous else {
            throw SkyrowError(.permissionDenied, "This service does not allow anonymous accounts.")
        }
    }
}

extension SkyrowError {
    fileprivate static let registeredAlready = SkyrowError(
        .duplicated,
        "The account already has a password; use auth:password to change it."
    )
}
