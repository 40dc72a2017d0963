package import SkyrowModel
internal import SkyrowPostgres

/// An account as its operator sees it, without the hash of the password.
package struct AccountSummary: Hashable, Sendable {
    package var id: UserID
    /// The login keys of the account.
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
        return try await store.reporting {
            let byID = try await summaries(where: "account.id = \(name)", limit: 1)
            guard byID.isEmpty else { return byID }
            let conditions = try store.loginKeys.map { key -> SQL in
                let column = try SQLIdentifier(key.rawValue)
                return
                    "\(LoginKeys.canonical("profile.\(column)", in: store.schema)) = \(LoginKeys.canonical("\(name)", in: store.schema))"
            }
            guard !conditions.isEmpty else { return [] }
            return try await summaries(where: conditions.joined(separator: " OR "), limit: 10)
        }
    }

    /// Returns the newest accounts, at most `count`.
    package func newest(_ count: Int, disabledOnly: Bool = false) async throws(SkyrowError) -> [AccountSummary] {
        try await store.reporting {
            let condition: SQL = disabledOnly ? UserTable.isDisabled : "true"
            return try await summaries(where: condition, limit: count)
        }
    }

    /// Returns the number of accounts.
    package func count(disabledOnly: Bool = false) async throws(SkyrowError) -> Int {
        try await store.reporting {
            let condition: SQL = disabledOnly ? UserTable.isDisabled : "true"
            let result = try await store.client.read(
                "SELECT count(*) FROM \(store.schema.internal)._user AS account WHERE \(condition)"
            )
            return Int(try result.decode(row: 0, column: 0, as: Int64.self))
        }
    }

    private func summaries(where condition: SQL, limit: Int) async throws -> [AccountSummary] {
        let schema = store.schema
        let keys = try store.loginKeys.map { key -> SQL in "profile.\(try SQLIdentifier(key.rawValue))" }
        let held = store.roles.held(
            from: "SELECT given.role FROM \(schema.internal)._user_role AS given WHERE given.user_id = account.id"
        )
        let result = try await store.client.read(
            """
            SELECT account.id,
                ARRAY(
                    SELECT given.role FROM \(schema.internal)._user_role AS given
                    WHERE given.user_id = account.id ORDER BY given.role COLLATE "C"
                ),
                EXISTS (
                    SELECT FROM (\(held)) AS held JOIN \(schema.internal)._role AS role ON role.name = held.role
                    WHERE role.is_admin
                ),
                account.password_hash IS NOT NULL,
                account.disabled, account.disabled_message, account.disabled_until,
                account.created_at, account.last_login_at, account.last_seen_at,
                (
                    SELECT count(*) FROM \(schema.internal)._session AS session
                    WHERE session.user_id = account.id AND session.epoch = account.epoch
                        AND (session.expires_at IS NULL OR session.expires_at > now())
                        AND NOT (\(UserTable.isDisabled))
                ),
                ARRAY[\(keys.joined(separator: ", "))]::text[],
                \(UserTable.isDisabled),
                ARRAY(
                    SELECT identity.provider FROM \(schema.internal)._identity AS identity
                    WHERE identity.user_id = account.id ORDER BY identity.provider
                )
            FROM \(schema.internal)._user AS account JOIN \(schema)."user" AS profile ON profile._id = account.id
            WHERE \(condition)
            ORDER BY account.created_at DESC, account.id
            LIMIT \(Int64(limit))
            """
        )
        return try (0..<result.rowCount).map { try AccountSummary(result, row: $0, loginKeys: store.loginKeys) }
    }
}

extension AccountSummary {
    fileprivate init(_ result: PostgresResult, row: Int, loginKeys: [FieldName]) throws(PostgresError) {
        let values = try result.decode(row: row, column: 11, as: [String?].self)
        self.init(
            id: try result.decode(row: row, column: 0),
            roles: try result.decode(row: row, column: 1),
            isAdministrator: try result.decode(row: row, column: 2),
            hasPassword: try result.decode(row: row, column: 3),
            providers: try result.decode(row: row, column: 13),
            isDisabled: try result.decode(row: row, column: 12),
            suspension: try AccountSuspension(result, row: row, column: 4),
            createdAt: try Timestamp(result, row: row, column: 7),
            lastLoginAt: try Timestamp(result, row: row, column: 8),
            lastSeenAt: try Timestamp(result, row: row, column: 9),
            sessionCount: Int(try result.decode(row: row, column: 10, as: Int64.self))
        )
        for (key, value) in zip(loginKeys, values) { self.loginKeys[key] = value }
    }
}
