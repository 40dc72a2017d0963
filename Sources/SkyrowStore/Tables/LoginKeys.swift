package import SkyrowModel
package import SkyrowPostgres

/// The fields of `user` that accounts log in with, each with a unique index over its text in NFC and lower case.
package enum LoginKeys {
    /// `username` and `email`
    package static let standard: [FieldName] = ["username", "email"].compactMap { try? FieldName($0) }

    /// Room for the prefix of the index's name within PostgreSQL's 63 bytes.
    private static let maximumLength = SQLIdentifier.maximumLength - indexPrefix.utf8.count

    private static let indexPrefix = "_login_key_"

    /// The name of a key's index.
    static func index(of key: FieldName) throws(SkyrowError) -> SQLIdentifier {
        guard key.rawValue.utf8.count <= maximumLength, let name = try? SQLIdentifier(indexPrefix + key.rawValue) else {
            throw .invalidArgument("A login key has a name of at most \(maximumLength) letters.", key.rawValue)
        }
        return name
    }

    /// The login key whose index this is, for telling which one another account has.
    static func key(ofIndex name: String) -> String? {
        name.hasPrefix(indexPrefix) ? String(name.dropFirst(indexPrefix.count)) : nil
    }

    /// What the index of a key holds, and what a look-up compares; both must be the same text for PostgreSQL.
    static func canonical(_ value: SQL) -> SQL {
        "lower(normalize(\(value), NFC))"
    }
}

extension LoginKeys {
    /// The keys that a database has, the standard ones first; none where no service has run yet.
    package static func existing(in schema: SQLIdentifier, of client: PostgresClient) async throws -> [FieldName] {
        let result = try await client.read(
            """
            SELECT substr(relname, \(Int32(indexPrefix.utf8.count + 1))) FROM pg_catalog.pg_class
            WHERE relkind = 'i' AND starts_with(relname, \(indexPrefix))
                AND relnamespace = (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = \(PostgresName(schema.name)))
            ORDER BY relname
            """
        )
        let names = try (0..<result.rowCount).map { try result.decode(row: $0, column: 0, as: String.self) }
        let keys = names.compactMap { try? FieldName($0) }
        return standard.filter(keys.contains) + keys.filter { !standard.contains($0) }
    }
}

extension RecordStore {
    /// Makes the columns and unique indexes that the login keys lack.
    ///
    /// Throws `114 IncompatibleSchema` when the field of a key is not a string, and `PostgresError`, such as a unique
    /// violation where two accounts have the same value already.
    func ensureLoginKeys() async throws {
        let type = RecordType(name: .user, fields: Dictionary(loginKeys.map { ($0, .string) }) { first, _ in first })
        let plan = try SchemaPlan(.create([type]), in: cache.current, mode: .development)
        if !plan.isEmpty {
            try await changer.apply(.create([type]), mode: .development)
        }
        let indexes = try loginKeys.map { try LoginKeys.index(of: $0) }
        let known = try await client.read(
            """
            SELECT relname FROM pg_catalog.pg_class
            WHERE relname = ANY (\(indexes.map { PostgresName($0.name) })) AND relnamespace = (
                SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = \(PostgresName(schema.name))
            )
            """
        ).decodeColumn(0, as: String.self)
        guard known.count < Set(indexes).count else { return }
        try await client.withTransaction { transaction in
            try await transaction.lockSchema(schema)
            for (key, index) in zip(loginKeys, indexes) where !known.contains(index.name) {
                let column = try SQLIdentifier(key.rawValue)
                try await transaction.execute(
                    """
                    CREATE UNIQUE INDEX IF NOT EXISTS \(index)
                    ON \(schema)."user" (\(LoginKeys.canonical("\(column)")))
                    """
                )
            }
        }
    }
}
