package import SkyrowModel
internal import SkyrowPostgres

extension UserTable {
    /// Gives an anonymous account login keys and a password, ends its sessions and opens a new one; nil where it is not anonymous
    /// any more, or the session has ended.
    ///
    /// The profile's fields must exist. Throws `109 Duplicated` when a login key is taken, and `123 DeniedArgument` for fields that
    /// one who signs up may not set.
    ///
    /// - Parameters:
    ///   - account: the id is that of the anonymous account.
    ///   - tokenHash: that of the session that asks.
    package func register(
        _ account: NewAccount,
        tokenHash: [UInt8],
        session: NewSession
    ) async throws(SkyrowError) -> SignedInAccount? {
        let schema = store.schema
        return try await signIn(
            updating: """
                UPDATE \(schema)._user AS account
                SET password_hash = \(account.passwordHash as String?), password_changed_at = now(),
                    token_valid_since = now(), epoch = account.epoch + 1, last_login_at = now(), last_seen_at = now()
                FROM \(schema)._session AS session
                WHERE account.id = \(account.id) AND NOT (\(UserTable.isRegistered("account", in: store.schema)))
                    AND NOT (\(UserTable.isDisabled))
                    AND \(SessionTable.has(tokenHash)) AND session.user_id = account.id
                    AND session.epoch = account.epoch
                """,
            isLogIn: false,
            session: session,
            ended: "DELETE FROM \(schema)._session AS session USING account WHERE session.user_id = account.id",
            profile: { table throws(SkyrowError) in try profileUpdate(of: account, in: table) },
            registers: true,
            // It goes on with the session that there was.
            secondFactor: .settled
        )
    }

    private func profileUpdate(of account: NewAccount, in table: RecordTable) throws(SkyrowError) -> SQL {
        let owner = FieldAccess.audience(Audience(user: account.id, isRegistered: true))
        let given = account.profile.filter { $0.value != .null }.map(\.name)
        let denied = table.rules.fields.refusedInNew(given, by: owner)
        guard denied.isEmpty else { throw .fieldsDenied(denied) }
        var changes: [SQL] = [
            "last_login_at = now()", "_updated_at = now()", "_updated_by = \(account.id)",
            "_revision = \(table.schema)._revision()",
        ]
        for (name, value) in account.profile {
            guard let column = table[name] else { continue }
            guard let accepted = try column.accepted(value) else { continue }
            changes.append("\(column.identifier) = \(column.type.column.parameter(accepted))")
        }
        return """
            UPDATE \(table.qualifiedName) AS profile SET \(changes.joined(separator: ", "))
            FROM account WHERE profile._id = account.id RETURNING profile.*
            """
    }
}
