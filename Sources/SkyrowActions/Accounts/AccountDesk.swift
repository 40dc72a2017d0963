package import SkyrowModel
package import SkyrowProtocol
package import SkyrowStore

/// Operations on accounts without an access check, for an operator at a terminal or an action that has already checked its
/// caller.
///
/// ```swift
/// let desk = AccountDesk(store: store)
/// let id = try await desk.create(SignUpRequest(authData: ["username": "ann"], password: "correct horse"))
/// try await desk.setDisabled(DisabledState(userID: id, isDisabled: true))
/// ```
package struct AccountDesk: Sendable {
    let store: RecordStore
    private let passwords: PasswordHasher
    let policy: AccountPolicy

    package init(
        store: RecordStore,
        passwords: PasswordConfiguration = PasswordConfiguration(),
        policy: AccountPolicy = AccountPolicy()
    ) {
        self.init(store: store, passwords: PasswordHasher(passwords, observe: { _ in }), policy: policy)
    }

    init(store: RecordStore, passwords: PasswordHasher, policy: AccountPolicy = AccountPolicy()) {
        self.store = store
        self.passwords = passwords
        self.policy = policy
    }

    /// Creates an account as `auth:signup` does, without logging in, and returns its id.
    ///
    /// Throws `109 Duplicated` for a login key that is taken, and `110 ResourceNotFound` for an unknown role.
    package func create(_ request: SignUpRequest, roles: [RoleName] = []) async throws(SkyrowError) -> UserID {
        let names = try await existing(roles)
        let account = try await NewAccount(
            SignUpData(request, loginKeys: store.loginKeys, policy: policy),
            in: store,
            passwords: passwords
        )
        _ = try await store.users.create(account, session: nil, roles: names)
        return account.id
    }

    /// Disables or enables an account; every process applies it within a second.
    ///
    /// Throws `110 ResourceNotFound` for an unknown user.
    ///
    /// - Parameter actor: the actor of the audit entry.
    package func setDisabled(
        _ state: DisabledState,
        by actor: AuditEvent.Actor = .operator,
        from origin: RequestOrigin = RequestOrigin()
    ) async throws(SkyrowError) {
        let event = AuditEvent(state.isDisabled ? .disable : .enable, by: actor, from: origin)
        let isKnown =
            state.isDisabled
            ? try await store.users.suspend(
                state.userID,
                AccountSuspension(message: state.message, until: state.expiry),
                recording: event
            )
            : try await store.users.reopen(state.userID, recording: event)
        guard isKnown else { throw SkyrowError.userNotFound }
    }

    /// Returns the names of roles as stored; case may differ when only one role matches.
    func existing(_ roles: [RoleName]) async throws(SkyrowError) -> [RoleName] {
        guard !roles.isEmpty else { return [] }
        let known = try await store.roles.names()
        var names: [RoleName] = []
        for role in roles {
            let alike = known.filter { $0.rawValue.lowercased() == role.rawValue.lowercased() }
            if let exact = known.first(where: { $0 == role }) {
                names.append(exact)
            } else if let only = alike.first, alike.count == 1 {
                names.append(only)
            } else {
                let list = known.isEmpty ? "none" : known.map(\.rawValue).joined(separator: ", ")
                throw SkyrowError(.resourceNotFound, "The role '\(role)' does not exist; existing roles: \(list).")
            }
        }
        return names
    }
}
