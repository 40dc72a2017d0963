import SkyrowModel
import SkyrowStore

extension ActionService {
    /// Returns the hash of a new password, after checks against the texts of the account and its last passwords.
    ///
    /// Each comparison is queued like the password of a login.
    ///
    /// Throws `108 InvalidArgument` and `126 PasswordPolicyViolated`.
    ///
    /// - Parameter present: the current password, if it was just verified.
    func newPasswordHash(
        _ password: String,
        of user: UserID,
        replacing present: String? = nil,
        from client: ClientKey
    ) async throws(SkyrowError) -> String {
        let policy = configuration.accounts.passwords
        if policy.isAboutUser || policy.historySize > 0 {
            let found = try await store.users.passwordSurroundings(
                of: user,
                excludedFields: policy.excludedFields,
                historySize: policy.historySize
            )
            if let violation = policy.violation(in: password, excluded: found.excluded, own: found.own) {
                throw violation.error
            }
            try await requireUnused(password, of: user, among: found.hashes, replacing: present, from: client)
        }
        return try await passwords.hash(password, from: client)
    }

    private func requireUnused(
        _ password: String,
        of user: UserID,
        among hashes: [String],
        replacing present: String?,
        from client: ClientKey
    ) async throws(SkyrowError) {
        let size = configuration.accounts.passwords.historySize
        guard size > 0 else { return }
        let reused = PasswordPolicy.Violation.reused(of: size)
        if let present, present.isSameText(as: password) { throw reused.error }
        // The first one is the hash of the current password.
        for hash in hashes.dropFirst(present == nil ? 0 : 1) {
            let verdict = try await passwords.verify(
                password,
                against: hash,
                of: AccountKey(user: user),
                from: client,
                replacingWeak: false
            )
            guard !verdict.isRight else { throw reused.error }
        }
    }

    /// Throws `126 PasswordPolicyViolated` for a right password that is too old.
    func requireUnexpired(_ credentials: AccountCredentials) throws(SkyrowError) {
        guard configuration.accounts.passwords.isExpired(afterSeconds: credentials.passwordAge) else { return }
        throw PasswordPolicy.Violation.expired.error
    }

    /// Changes the password of an account whose current one was verified, ends its sessions and opens one.
    ///
    /// Throws `refusal` if the account has changed meanwhile.
    func changePassword(
        of credentials: AccountCredentials,
        from old: String,
        to new: String,
        _ opening: Opening,
        from client: ClientKey,
        refusal: SkyrowError
    ) async throws(SkyrowError) -> AuthResult {
        let user = credentials.id
        let hash = try await newPasswordHash(new, of: user, replacing: old, from: client)
        // Also when it is unknown whether the change was committed.
        defer { forget(.user(user)) }
        return try await openSession(for: user, opening) { session throws(SkyrowError) in
            let account = try await store.users.changePassword(
                of: credentials,
                to: hash,
                session: session,
                historySize: configuration.accounts.passwords.historySize
            )
            guard let account else { throw refusal }
            return account
        }
    }
}
