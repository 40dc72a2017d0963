package import SkyrowModel
import SkyrowStore

extension ActionService {
    /// `auth:register`: gives the anonymous account of the caller login keys and a password; its id and its records stay.
    ///
    /// Every session of the account ends and one is opened, since an access token that another one knew must not become that of an
    /// account with a password. Throws `104 AccessTokenNotAccepted` when the session has ended meanwhile, `109 Duplicated` when a
    /// login key is taken, or the account has a password, and `108 InvalidArgument` for a reference as `auth:signup` does.
    package func register(
        _ request: RegisterRequest,
        by caller: Caller,
        with own: Credentials,
        from client: ClientKey = .none,
        origin: RequestOrigin = RequestOrigin()
    ) async throws(SkyrowError) -> AuthResult {
        try await observed(.authRegister) { () async throws(SkyrowError) in
            let user = try caller.requiredUserID
            // It is made by the one who has its session, and by no other.
            guard let token = own.ownToken(of: caller) else { throw CredentialCheck.userMissing }
            guard caller.isMaster || !caller.isRegistered else { throw .registeredAlready }
            let signUp = SignUpRequest(authData: request.authData, password: request.password, profile: request.profile)
            let data = try SignUpData(signUp, loginKeys: store.loginKeys, policy: configuration.accounts)
            try requireSignUp(of: data, by: caller)
            let address = try addressToVerify(of: data)
            var creator = caller
            creator.isRegistered = true
            let access = try profileAccess(to: data.fields, by: creator)
            var draft = try await NewAccount(data, of: user, in: store, passwords: passwords, client: client)
            draft.verifies = address != nil
            let account = draft
            // Also where it is unknown whether the change was committed.
            defer { forget(.user(user)) }
            let hash = TokenHash(of: token).bytes
            let opening = Opening(.register, origin: origin, replaced: hash)
            let result = try await openSession(for: user, opening) { session throws(SkyrowError) in
                let changed = try await store.users.register(account, tokenHash: hash, session: session, with: access)
                guard let changed else {
                    throw try await store.users.credentials(of: user)?.passwordHash == nil
                        ? CredentialCheck.tokenNotAccepted : .registeredAlready
                }
                return changed
            }
            // The session that there was goes on where an address has to be proved: what it has saved would be lost otherwise.
            if let address { await mailFirstCode(to: address, from: client) }
            return result
        }
    }

    /// By what the references of a profile are judged: as in any save of its user, or of the master key.
    ///
    /// Throws `102 PermissionDenied` where the key of the request does not read a type that they lead to.
    func profileAccess(
        to fields: [(name: FieldName, value: RecordValue)],
        by creator: Caller
    ) throws(SkyrowError) -> RecordAccess {
        let access = RecordAccess(in: .everyone, for: .writing, by: creator)
        let readsRecords = creator.key.map { $0.missing(for: .recordFetch) == nil } ?? true
        try store.requireReferring(inProfile: fields, with: access, readsRecords: readsRecords)
        return access
    }

    /// Throws `102 PermissionDenied` where accounts of this kind are not made by the caller.
    func requireSignUp(of data: SignUpData, by caller: Caller) throws(SkyrowError) {
        let life = configuration.accountLife
        guard caller.isMaster || life.admitsSelfSignUp else {
            throw SkyrowError(.permissionDenied, "Accounts are made by the operator of this service.")
        }
        guard data.password != nil || life.admitsAnonymous else {
            throw SkyrowError(.permissionDenied, "This service makes no anonymous accounts.")
        }
    }
}

extension SkyrowError {
    fileprivate static let registeredAlready = SkyrowError(
        .duplicated,
        "The account has a password already; auth:password changes it."
    )
}
