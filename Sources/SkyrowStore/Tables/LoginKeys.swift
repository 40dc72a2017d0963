package import SkyrowModel
package import SkyrowPostgres

/// The fields of `user` that accounts log in with, each with a unique index over the form in which texts that look alike are
/// one (`_login_canonical`).
package enum LoginKeys {
    /// `username` and `email`
    package static let `default`: [FieldName] = ["username", "email"].compactMap { try? FieldName($0) }

    /// Room for the prefix of an index's name within PostgreSQL's 63 bytes.
    private static let maximumLength = SQLIdentifier.maximumLength - "_check_former_".utf8.count

    private static let indexPrefix = "_login_key_"

    /// The index of a key, with what it holds.
    static func index(
        of key: FieldName,
        in schema: SQLIdentifier
    ) throws(SkyrowError) -> (name: SQLIdentifier, expression: SQL) {
        guard key.rawValue.utf8.count <= maximumLength, let column = try? SQLIdentifier(key.rawValue),
            let name = try? SQLIdentifier(indexPrefix + key.rawValue)
        else {
            throw .invalidArgument("A login key has a name of at most \(maximumLength) letters.", key.rawValue)
        }
        return (name, canonical("\(column)", in: schema))
    }

    /// The login key whose index this is, for an error that names the key which another account has.
    package static func key(ofIndex name: String) -> String? {
        name.hasPrefix(indexPrefix) ? String(name.dropFirst(indexPrefix.count)) : nil
    }

    /// What the index of a key holds, and what a look-up compares; both must be the same text for PostgreSQL.
    static func canonical(_ value: SQL, in schema: SQLIdentifier) -> SQL {
        "\(schema)._login_canonical(\(value))"
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
        return `default`.filter(keys.contains) + keys.filter { !`default`.contains($0) }
    }
}

extension RecordStore {
    /// Makes the columns, unique indexes and triggers that the login keys lack.
    ///
    /// Throws `114 IncompatibleSchema` when the field of a key is not a string, and `PostgresError`, such as a unique
    /// violation where two accounts have the same value already.
    func ensureLoginKeys() async throws {
        let type = RecordType(name: .user, fields: Dictionary(loginKeys.map { ($0, .string) }) { first, _ in first })
        let plan = try SchemaPlan(.create([type]), in: cache.current, mode: .development)
        if !plan.isEmpty {
            try await changer.apply(.create([type]), mode: .development)
        }
        let indexes = try loginKeys.map { try LoginKeys.index(of: $0, in: schema) }
        let known = try await client.read(
            """
            SELECT relname FROM pg_catalog.pg_class
            WHERE relname = ANY (\(indexes.map { PostgresName($0.name.name) })) AND relnamespace = (
                SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = \(PostgresName(schema.name))
            )
            """
        ).decodeColumn(0, as: String.self)
        let triggers = try await client.read(
            """
            SELECT tgname FROM pg_catalog.pg_trigger
            WHERE tgname = ANY (\(loginKeys.map { PostgresName("_check_former_\($0)") })) AND tgrelid = (
                SELECT oid FROM pg_catalog.pg_class WHERE relname = 'user' AND relnamespace = (
                    SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = \(PostgresName(schema.name))
                )
            )
            """
        ).rowCount
        guard known.count < Set(indexes.map(\.name)).count || triggers < Set(loginKeys).count else { return }
        try await client.withTransaction { transaction in
            try await transaction.lockSchema(schema)
            for index in indexes where !known.contains(index.name.name) {
                try await transaction.execute(
                    """
                    CREATE UNIQUE INDEX IF NOT EXISTS \(index.name)
                    ON \(schema)."user" (\(index.expression))
                    """
                )
            }
            for key in loginKeys {
                let column = try SQLIdentifier(key.rawValue)
                // Its name is no longer than that of the index.
                let trigger = try SQLIdentifier("_check_former_" + key.rawValue)
                try await transaction.execute(
                    """
                    CREATE OR REPLACE TRIGGER \(trigger) AFTER INSERT OR UPDATE OF \(column) ON \(schema)."user" FOR EACH ROW
                    WHEN (NEW.\(column) IS NOT NULL)
                    EXECUTE FUNCTION \(schema)._check_former_login(\(literal: key.rawValue))
                    """
                )
            }
        }
    }
}
