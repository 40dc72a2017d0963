package import SkyrowModel
internal import SkyrowPostgres

/// An account as its operator sees it, without the hash of the password.
package struct AccountSummary: Hashable, Sendable {
    package var id: UserID
    package var loginKeys: [FieldName: String] = [:]
    /// Sorted.
    package var roles: [RoleName] = []
    package var isAdministrator = false
    package var hasPassword = true
    /// The providers by which it logs in, sorted.
    package var providers: [String] = []
    /// Whether the account is disabled now.
    package var isDisabled = false
    /// The last suspension, even if it is over.
    package var suspension: AccountSuspension?
    package var createdAt: Timestamp?
    package var lastLoginAt: Timestamp?
    package var lastSeenAt: Timestamp?
    /// The number of open sessions; sessions of a disabled account do not count.
    package var sessionCount = 0
}

extension UserTable {
    /// Returns the accounts that a name may mean: the account with that id, else all accounts with that login key.
    package func accounts(named name: String) async throws(SkyrowError) -> [AccountSummary] {
        // A text in PostgreSQL cannot have NUL characters.
        guard !name.hasNUL else { return [] }
        let byID = try await summaries(where: "account.id = \(name)", limit: 1)
        let keys = try store.loginColumns
        guard byID.isEmpty, !keys.isEmpty else { return byID }
        let conditions = keys.map { LoginKeys.matches($0, name, in: schema) }
        return try await summaries(where: conditions.joined(separator: " OR "), limit: 10)
    }

    /// Returns the newest accounts, at most `count`.
    package func newest(_ count: Int, disabledOnly: Bool = false) async throws(SkyrowError) -> [AccountSummary] {
        try await summaries(where: disabledOnly ? UserTable.isDisabled : "true", limit: count)
    }

    package func count(disabledOnly: Bool = false) async throws(SkyrowError) -> Int {
        let condition: SQL = disabledOnly ? UserTable.isDisabled : "true"
        return try await store.value(
            reading: "SELECT count(*) FROM \(schema.internal)._user AS account WHERE \(condition)"
        ) ?? 0
    }

    private func summaries(where condition: SQL, limit: Int) async throws(SkyrowError) -> [AccountSummary] {
        let keys = store.loginKeys
        let values = try store.loginColumns.joined(separator: ", ")
        let given = store.roles.given(to: "account.id")
        let columns = Columns(
            AccountSummary.init(
                id:
                loginKeys:
                roles:
                isAdministrator:
                hasPassword:
                providers:
                isDisabled:
                suspension:
                createdAt:
                lastLoginAt:
                lastSeenAt:
                sessionCount:
            ),
            "account.id",
            Columns(
                { (values: [String?]) in
                    Dictionary(zip(keys, values).compactMap { key, value in value.map { (key, $0) } }) { $1 }
                },
                "ARRAY[\(values)]::text[]"
            ),
            "ARRAY(\(given) ORDER BY given.role COLLATE \"C\")",
            "\(store.roles.isAdministrators(given))",
            "account.password_hash IS NOT NULL",
            """
            ARRAY(
                SELECT identity.provider FROM \(schema.internal)._identity AS identity
                WHERE identity.user_id = account.id ORDER BY identity.provider
            )
            """,
            "\(UserTable.isDisabled)",
            AccountSuspension.columns,
            "account.created_at",
            "account.last_login_at",
            "account.last_seen_at",
            """
            (
                SELECT count(*) FROM \(schema.internal)._session AS session
                WHERE session.user_id = account.id AND session.epoch = account.epoch
                    AND (session.expires_at IS NULL OR session.expires_at > now()) AND NOT (\(UserTable.isDisabled))
            )
            """
        )
        return try await store.read(columns) {
            """
            SELECT \($0) FROM \(profiles) WHERE \(condition)
            ORDER BY account.created_at DESC, account.id LIMIT \(limit)
            """
        }
    }
}
