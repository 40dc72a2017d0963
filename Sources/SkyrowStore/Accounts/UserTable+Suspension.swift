package import SkyrowModel
internal import SkyrowPostgres

extension UserTable {
    /// The condition that `account`, a row of `_user`, is disabled now.
    static let isDisabled: SQL =
        "account.disabled AND (account.disabled_until IS NULL OR account.disabled_until > now())"

    /// Disables an account and revokes its sessions; returns false if the account does not exist or is being deleted.
    ///
    /// The sessions of an anonymous account are kept: they are refused while it is disabled, and no new one could be opened
    /// later. Triggers notify every process.
    package func suspend(
        _ id: UserID,
        _ suspension: AccountSuspension,
        recording event: AuditEvent? = nil
    ) async throws(SkyrowError) -> Bool {
        let isRegistered = UserTable.isRegistered("account", in: schema)
        return try await store.write(
            """
            WITH account AS (
                UPDATE \(schema.internal)._user AS account
                SET disabled = true, disabled_message = \(suspension.message as String?),
                    disabled_until = \(suspension.until as Timestamp?),
                    token_valid_since = CASE WHEN \(isRegistered) THEN now() ELSE account.token_valid_since END,
                    epoch = CASE WHEN \(isRegistered) THEN account.epoch + 1 ELSE account.epoch END
                WHERE account.id = \(id) AND NOT (\(UserTable.isBeingDeleted("account", in: schema)))
                RETURNING account.id
            )\(store.recording(event, from: "account", user: "account.id"))
            SELECT FROM account
            """
        ) > 0
    }

    /// Enables an account again and removes its revoked sessions. Returns false if the account does not exist or is being
    /// deleted.
    package func reopen(_ id: UserID, recording event: AuditEvent? = nil) async throws(SkyrowError) -> Bool {
        try await store.write(
            """
            WITH account AS (
                UPDATE \(schema.internal)._user AS account
                SET disabled = false, disabled_message = NULL, disabled_until = NULL
                WHERE account.id = \(id) AND NOT (\(UserTable.isBeingDeleted("account", in: schema)))
                RETURNING account.id, account.epoch
            ), ended AS (
                DELETE FROM \(schema.internal)._session AS session USING account
                WHERE session.user_id = account.id AND session.epoch <> account.epoch
            )\(store.recording(event, from: "account", user: "account.id"))
            SELECT FROM account
            """
        ) > 0
    }
}
