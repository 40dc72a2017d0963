package import SkyrowModel
internal import SkyrowPostgres

/// The data that a new password of an account is compared with.
package struct PasswordSurroundings: Hashable, Sendable {
    /// Texts of the user's record.
    package var own: [String] = []
    /// Texts of the fields that were requested.
    package var excluded: [String] = []
    /// The hashes of the last passwords, the present one first.
    package var hashes: [String] = []
}

extension UserTable {
    /// Upper bounds on the texts of a record that a password is compared with, and on the characters of each.
    private static let ownTexts = 50
    private static let ownTextLength = 128

    /// Returns the texts and the last passwords of an account; empty if the account does not exist.
    ///
    /// - Parameter historySize: the number of passwords, including the present one.
    package func passwordSurroundings(
        of id: UserID,
        excludedFields: [FieldName],
        historySize: Int
    ) async throws(SkyrowError) -> PasswordSurroundings {
        try await store.reporting {
            try await store.withCatalog { catalog in
                let table = try catalog.userTable
                let columns = table.columns.filter { $0.type == .string }
                let excluded = columns.filter { excludedFields.contains($0.field) }
                let own = columns.filter { !excludedFields.contains($0.field) }.prefix(UserTable.ownTexts)
                func texts(_ columns: some Sequence<RecordColumn>) -> SQL {
                    let values = columns.map { column in
                        "left(profile.\(column.identifier), \(Int32(UserTable.ownTextLength)))" as SQL
                    }
                    return "array_remove(ARRAY[\(values.joined(separator: ", "))]::text[], NULL)"
                }
                let surroundings = Columns(
                    { (own: [String], excluded: [String], hashes: [String]) in
                        PasswordSurroundings(
                            own: own + excluded,
                            excluded: excluded,
                            hashes: historySize > 0 ? hashes : []
                        )
                    },
                    "\(texts(own))",
                    "\(texts(excluded))",
                    """
                    array_remove(ARRAY[account.password_hash], NULL) || ARRAY(
                        SELECT former.hash FROM \(schema.internal)._password_history AS former
                        WHERE former.user_id = account.id ORDER BY former.id DESC LIMIT \(max(0, historySize - 1))
                    )
                    """
                )
                return try await store.client.read(
                    "SELECT \(surroundings.list) FROM \(profiles) WHERE account.id = \(id)"
                ).rows(surroundings).first ?? PasswordSurroundings()
            }
        }
    }

    /// Further parts that store the previous password of the statement's `account`, and remove those that are no longer compared.
    ///
    /// - Parameter size: the number of passwords that are compared, including the present one.
    func keepingFormerPassword(_ size: Int) -> SQL {
        guard size > 1 else { return "" }
        return """
            , former AS (
                INSERT INTO \(schema.internal)._password_history (user_id, hash)
                SELECT before.id, before.password_hash
                FROM \(schema.internal)._user AS before JOIN account ON account.id = before.id
                WHERE before.password_hash IS NOT NULL
            ), forgotten AS (
                DELETE FROM \(schema.internal)._password_history AS former USING (
                    SELECT older.id
                    FROM \(schema.internal)._password_history AS older JOIN account ON account.id = older.user_id
                    ORDER BY older.id DESC OFFSET \(size - 2)
                ) AS surplus
                WHERE former.id = surplus.id
            )
            """
    }
}
