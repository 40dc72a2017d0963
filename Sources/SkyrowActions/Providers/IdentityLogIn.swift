import SkyrowJSON
import SkyrowModel
import SkyrowProtocol
import SkyrowStore

/// A login by an identity that a provider, or a server of the application, has proved.
struct IdentityLogIn {
    let identity: ProvenIdentity
    let opening: ActionService.Opening
    /// The fields to merge into the profile.
    var profile: [(name: FieldName, value: RecordValue)] = []
    /// Whether a missing account is created.
    var makesAccounts = false
    /// Whether a new account gets the address that the provider has verified.
    var trustsEmail = false
    /// The provider's tokens to store.
    var tokens: JSONText?

    init(
        _ identity: ProvenIdentity,
        by method: SessionOpening = .provider,
        _ device: SessionDevice,
        _ call: Call,
        tokens: JSONText? = nil
    ) {
        self.identity = identity
        opening = ActionService.Opening(method, provider: identity.provider, device: device, origin: call.origin)
        self.tokens = tokens
    }
}

extension ActionService {
    /// Logs in by an identity of a provider, as the settings of the provider say.
    func logIn(_ logIn: IdentityLogIn, by provider: OpenIDProvider) async throws(SkyrowError) -> AuthResult {
        var logIn = logIn
        logIn.makesAccounts = provider.configuration.allowsSignUp && configuration.accountLife.admitsSelfSignUp
        logIn.trustsEmail = provider.configuration.trustsEmail
        return try await self.logIn(logIn)
    }

    /// Opens a session for an identity, and creates its account if it is missing.
    func logIn(_ logIn: IdentityLogIn) async throws(SkyrowError) -> AuthResult {
        let identity = logIn.identity
        var known: UserID?
        do throws(SkyrowError) {
            // Of two concurrent first logins one creates the account, and the other finds it.
            for _ in 0..<3 {
                let found = try await store.identities.account(of: identity.provider, subject: identity.subject)
                known = found?.id
                if let found { return try await self.logIn(logIn, to: found) }
                guard logIn.makesAccounts else { throw .signInRefused }
                let address = logIn.trustsEmail ? try await addressOfNewAccount(logIn) : nil
                do throws(SkyrowError) {
                    return try await signUp(logIn, address: address)
                } catch {
                    // Another account may have got the address meanwhile, too.
                    guard error == .identityTaken || address != nil && error.code == .duplicated else { throw error }
                }
            }
            throw .signInRefused
        } catch {
            // `secondFactorRequired` audits a login that waits for its second factor.
            if error.code != .secondFactorRequired {
                await audit(.logIn, refusedWith: error, of: known, from: logIn.opening.origin)
            }
            throw error
        }
    }

    private func logIn(_ logIn: IdentityLogIn, to found: IdentifiedAccount) async throws(SkyrowError) -> AuthResult {
        if let suspension = found.suspension, !suspension.isOver(at: clock.now()) { throw suspension.error }
        try await requireVerifiedAddress(of: found.id)
        if !logIn.profile.isEmpty { try await merge(logIn.profile, into: found) }
        let identity = try await store.identities.sealing(logIn.tokens, of: logIn.identity, for: found.id)
        // A provider's assertion is a first factor, like a password.
        if let account = try await store.users.credentials(of: found.id), account.hasSecondFactor {
            try await store.identities.keep(identity, of: found.id)
            throw try await secondFactorRequired(of: account, logIn.opening, refusal: .signInRefused)
        }
        var result = try await openSession(for: found.id, logIn.opening) { session throws(SkyrowError) in
            // nil if the identity was unlinked or the account disabled meanwhile.
            guard let account = try await store.users.logIn(with: identity, as: found.id, session: session) else {
                throw .signInRefused
            }
            return account
        }
        result.isNew = false
        return result
    }

    /// Creates the account of an identity.
    ///
    /// - Parameter address: the verified address of the account.
    func signUp(_ logIn: IdentityLogIn, address: String? = nil) async throws(SkyrowError) -> AuthResult {
        let id = UserID(UUIDText().description)
        let identity = try await store.identities.sealing(logIn.tokens, of: logIn.identity, for: id)
        let rules = try await profileRules()
        let creator = FieldAccess.audience(Audience(user: id, isRegistered: true))
        let denied = rules.fields.refusedInNew(logIn.profile.map(\.name), by: creator)
        var fields = logIn.profile.filter { !denied.contains($0.name) }
        if let address { fields.append((try FieldName("email"), .string(address))) }
        // The application's server has signed these fields.
        try await requireUsableFiles(in: fields, of: id, by: Caller(kind: .master(actingAs: id)))
        let hookCaller = hookCaller(of: id, from: logIn.opening.origin)
        let hooked = try await hookedProfile(fields, of: id, hasLoginKeys: true, for: hookCaller)
        _ = try await store.profileDraft(of: id, hooked.fields)
        var draft = NewAccount(
            id: id,
            passwordHash: nil,
            profile: hooked.fields,
            identity: identity,
            verifiedEmail: hooked.trusted.contains { $0.rawValue == "email" } ? nil : address
        )
        draft.trusted = hooked.trusted
        let account = draft
        var result = try await openSession(for: id, logIn.opening) { session throws(SkyrowError) in
            try await store.users.create(account, session: session)
        }
        result.isNew = true
        await runHooks(afterSignUpOf: id, for: hookCaller)
        return result
    }

    /// Returns the address of a new account: the one that the provider has verified. It is removed from accounts that have not
    /// verified it.
    ///
    /// Throws `109 Duplicated` with `link` if another account has verified it.
    private func addressOfNewAccount(_ logIn: IdentityLogIn) async throws(SkyrowError) -> String? {
        guard let address = logIn.identity.verifiedEmail,
            store.loginKeys.contains(where: { $0.rawValue == "email" })
        else { return nil }
        guard try await !store.identities.isProven(address) else { throw .addressProven }
        try await store.identities.release(address, from: logIn.opening.origin)
        return address
    }

    /// Returns the fields that a token may set: neither login keys, which the user verifies or chooses, nor fields that the
    /// service maintains.
    func mergeable(_ profile: [(name: FieldName, value: RecordValue)]) -> [(name: FieldName, value: RecordValue)] {
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
        // The access rules of records apply to users' requests; the application's server has signed these fields.
        let signer = Caller(kind: .master(actingAs: account.id))
        try await requireUsableFiles(in: allowed, of: account.id, by: signer)
        let draft = try await store.profileDraft(of: account.id, allowed)
        let access = try recordAccess(to: .everyone, for: .writing, by: signer)
        for outcome in try await store.save([.draft(draft)], with: access, atomic: true) {
            if case .failure(let error, _) = outcome { throw error }
        }
    }

    private func profileRules() async throws(SkyrowError) -> TypeRules {
        guard let table = try await store.table(of: .user) else { throw .unexpected }
        return table.rules
    }
}

extension SkyrowError {
    /// `109` for an address that another account has verified: its user logs in there, and links the provider.
    fileprivate static let addressProven = SkyrowError(
        .duplicated,
        "Another account has this email address: log in to it and link the provider.",
        info: ["arguments": .list([.string("email")]), "link": .boolean(true)]
    )
}
