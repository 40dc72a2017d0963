package import SkyrowModel
internal import SkyrowPostgres

extension UserTable {
    /// Gives an anonymous account login keys and a password, ends its sessions and opens a new one; nil if it is no longer
    /// anonymous, or if the session has ended.
    ///
    /// The profile's fields must exist. Throws `109 Duplicated` if a login key is taken, `123 DeniedArgument` for fields that a
    /// new user may not set, and `108 InvalidArgument` for a new reference to a record that `access` cannot read.
    ///
    /// - Parameters:
    ///   - account: has the id of the anonymous account.
    ///   - access: the access with which the references of the profile are checked.
    ///   - tokenHash: the token hash of the caller's session.
    package func register(
        _ account: NewAccount,
        tokenHash: [UInt8],
        session: NewSession,
        with access: RecordAccess
    ) async throws(SkyrowError) -> SignedInAccount? {
        try await signIn(
            updating: """
                UPDATE \(schema.internal)._user AS account
                SET \(UserTable.setting(account.passwordHash)), last_login_at = now()
                FROM \(schema.internal)._session AS session
                WHERE account.id = \(account.id) AND NOT (\(UserTable.isRegistered("account", in: schema)))
                    AND NOT (\(UserTable.isDisabled)) AND \(SessionTable.isOpen(tokenHash))
                """,
            session: session,
            further: store.sessions.ending,
            profile: { table, catalog throws(SkyrowError) in
                try profileUpdate(of: account, in: table, of: catalog, with: access)
            },
            registers: true,
            // It continues the existing session.
            secondFactor: .settled
        )
    }

    private func profileUpdate(
        of account: NewAccount,
        in table: RecordTable,
        of catalog: SchemaCatalog,
        with access: RecordAccess
    ) throws(SkyrowError) -> SQL {
        let owner = FieldAccess.audience(Audience(user: account.id, isRegistered: true, keyName: access.keyName))
        let denied = account.refusedFields(of: table.rules.fields, by: owner)
        guard denied.isEmpty else { throw .fieldsDenied(denied) }
        var changes: [SQL] = [
            "last_login_at = now()", "_updated_at = now()", "_updated_by = \(account.id)",
            "_revision = \(table.schema)._revision()",
        ]
        if account.verifies { changes.append("_verified = coalesce(profile._verified, false)") }
        for (name, value) in account.profile {
            guard let column = table[name] else { continue }
            guard let accepted = try column.accepted(value) else { continue }
            let judge = account.trusted.contains(name) ? nil : access
            let judged = column.parameter(accepted, judgedBy: judge, in: catalog, keeping: "profile")
            changes.append("\(column.identifier) = \(judged)")
        }
        return """
            UPDATE \(table.qualifiedName) AS profile SET \(changes.joined(separator: ", "))
            FROM account WHERE profile._id = account.id RETURNING profile.*
            """
    }
}

extension RecordColumn {
    /// Returns a value of a profile as a statement stores it.
    ///
    /// A reference to a record that `access` cannot read becomes `~`, an id that no row has, so that the foreign key refuses it
    /// like a missing one, as in a save (``SaveText``).
    ///
    /// - Parameters:
    ///   - access: nil if foreign keys alone check references.
    ///   - row: the stored profile in the statement, whose reference stays allowed: clients send back whole profiles.
    func parameter(
        _ value: RecordValue,
        judgedBy access: RecordAccess?,
        in catalog: SchemaCatalog,
        keeping row: SQLIdentifier? = nil
    ) -> SQL {
        let given = type.column.parameter(value)
        guard let access, access.hidesRecords, case .reference(let name) = type, value != .null,
            let target = catalog[name]
        else { return given }
        let isReadable = access.of(target.rules).shared.shape.condition(on: "t")
            .binding { access.append($0, to: &$1) }
        let kept: SQL = row.map { "CASE WHEN \($0).\(identifier) = \(given) THEN \($0).\(identifier) END, " } ?? ""
        return """
            coalesce((
                SELECT "t"._id FROM \(target.qualifiedName) AS "t" WHERE "t"._id = \(given) AND \(isReadable)
            ), \(kept)'~')
            """
    }
}

extension RecordStore {
    /// Throws `102 PermissionDenied` if the key of the request cannot read a type that a profile refers to.
    ///
    /// - Parameter readsRecords: whether the key can read records of any type.
    package func requireReferring(
        inProfile fields: [(name: FieldName, value: RecordValue)],
        with access: RecordAccess,
        readsRecords: Bool
    ) throws(SkyrowError) {
        try access.requireReferring(inProfile: fields, readsRecords: readsRecords, in: cache.current)
    }
}
