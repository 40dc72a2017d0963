internal import Logging
package import SkyrowModel
package import SkyrowPostgres
internal import SkyrowSystem

/// The fields of `user` with which accounts log in. Each has a unique index on a form in which texts that look alike are equal
/// (`_login_canonical`).
package enum LoginKeys {
    /// `username` and `email`
    package static let `default`: [FieldName] = ["username", "email"].compactMap { try? FieldName($0) }

    /// Leaves room for the prefix of an index's name within PostgreSQL's 63 bytes.
    private static let maximumLength = SQLIdentifier.maximumLength - "_check_former_".utf8.count

    private static let indexPrefix = "_login_key_"

    /// The index of a key, with its expression.
    static func index(
        of key: FieldName,
        in schema: SQLIdentifier
    ) throws(SkyrowError) -> (name: SQLIdentifier, expression: SQL) {
        guard key.rawValue.utf8.count <= maximumLength, let column = try? SQLIdentifier(key.rawValue),
            let name = try? SQLIdentifier(indexPrefix + key.rawValue)
        else {
            throw .invalidArgument(
                "The name of a login key can have at most \(maximumLength) characters.",
                key.rawValue
            )
        }
        return (name, canonical("\(column)", in: schema))
    }

    /// The login key of an index, for an error that names the key which another account has.
    package static func key(ofIndex name: String) -> String? {
        name.hasPrefix(indexPrefix) ? String(name.dropFirst(indexPrefix.count)) : nil
    }

    /// The expression in the index of a key and in a lookup; PostgreSQL requires that both are the same.
    static func canonical(_ value: SQL, in schema: SQLIdentifier) -> SQL {
        "\(schema)._login_canonical(\(value))"
    }

    /// The condition that a key has a value, in any case and form of it.
    static func matches(_ column: SQL, _ value: String, in schema: SQLIdentifier) -> SQL {
        "\(canonical(column, in: schema)) = \(canonical("\(value)", in: schema))"
    }
}

extension LoginKeys {
    /// Returns the login keys that a database has, the default ones first; empty if no service has run yet.
    package static func existing(in schema: SQLIdentifier, of client: PostgresClient) async throws -> [FieldName] {
        let result = try await client.read(
            """
            SELECT substr(relname, \(Int32(indexPrefix.utf8.count + 1)))
            FROM pg_catalog.pg_class JOIN pg_catalog.pg_index ON indexrelid = pg_class.oid
            WHERE indisvalid AND starts_with(relname, \(indexPrefix))
                AND relnamespace = \(schema.namespace)
            ORDER BY relname
            """
        )
        let keys = try result.decodeColumn(0, as: String.self).compactMap { try? FieldName($0) }
        return `default`.filter(keys.contains) + keys.filter { !`default`.contains($0) }
    }
}

extension RecordStore {
    /// The columns of the login keys in a `profile`.
    var loginColumns: [SQL] {
        get throws(SkyrowError) {
            try loginKeys.map { key throws(SkyrowError) -> SQL in
                do throws(PostgresError) { return "profile.\(try SQLIdentifier(key.rawValue))" } catch {
                    throw report(error)
                }
            }
        }
    }

    /// Creates the columns, unique indexes and triggers that the login keys lack. If there are many accounts, they can be written
    /// meanwhile. Logins by a new key work when it returns.
    ///
    /// Throws `114 IncompatibleSchema` if the field of a key is not a string, `111 NotSupported` if an index cannot be built
    /// while accounts are written, and `PostgresError`, such as a unique violation if two accounts have the same value already.
    func ensureLoginKeys() async throws {
        let type = RecordType(name: .user, fields: Dictionary(loginKeys.map { ($0, .string) }) { first, _ in first })
        let plan = try SchemaPlan(.create([type]), in: cache.current, mode: .development)
        if !plan.isEmpty { try await changer.apply(.create([type]), mode: .development) }
        let indexes = try loginKeys.map { try LoginKeys.index(of: $0, in: schema) }
        let names = Set(indexes.map(\.name))
        let known = try await validity(of: names) { try await client.read($0) }
        let triggers = try await client.read(
            """
            SELECT tgname FROM pg_catalog.pg_trigger
            WHERE tgname = ANY (\(loginKeys.map { PostgresName("_check_former_\($0)") })) AND tgrelid = (
                SELECT oid FROM pg_catalog.pg_class WHERE relname = 'user' AND relnamespace = \(schema.namespace)
            )
            """
        ).rowCount
        let isComplete = names.allSatisfy { known[$0.name] == true }
        guard !isComplete || triggers < Set(loginKeys).count else { return }
        var missing = indexes.filter { known[$0.name.name] == nil }
        // Another process may be building an index that exists.
        var isLarge = known.values.contains(false)
        if !missing.isEmpty, !isLarge { isLarge = try await hasManyAccounts() }
        if isLarge {
            try await buildLoginIndexes(indexes)
            missing = []
        }
        try await patiently { [missing] in
            try await client.withTransaction { transaction in
                try await transaction.lockSchema(schema)
                try await transaction.limitLockWaits()
                for index in missing {
                    try await transaction.execute(
                        "CREATE UNIQUE INDEX IF NOT EXISTS \(index.name) ON \(schema).\"user\" (\(index.expression))"
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

    private func hasManyAccounts() async throws -> Bool {
        try await client.withTransaction { transaction in
            try await !LargeTables.types(among: [.user], in: schema, beyond: largeTableBound, in: transaction).isEmpty
        }
    }

    /// Returns for each existing index whether PostgreSQL uses it.
    private func validity(
        of names: Set<SQLIdentifier>,
        _ query: (SQL) async throws -> PostgresResult
    ) async throws -> [String: Bool] {
        let columns = Columns({ (name: String, isValid: Bool) in (name, isValid) }, "relname::text", "indisvalid")
        let result = try await query(
            """
            SELECT \(columns.list) FROM pg_catalog.pg_index JOIN pg_catalog.pg_class ON pg_class.oid = indexrelid
            WHERE relname = ANY (\(names.map { PostgresName($0.name) })) AND relnamespace = \(schema.namespace)
            """
        )
        return Dictionary(uniqueKeysWithValues: try result.rows(columns))
    }

    /// Builds the missing indexes while accounts are written. Drops the remains of an interrupted build.
    private func buildLoginIndexes(_ indexes: [(name: SQLIdentifier, expression: SQL)]) async throws {
        guard client.hasSessions else { throw SkyrowError.noSessionsForIndexes }
        // The build of the lock holder would wait for any statement that waits for the lock.
        while try await client.withTurn(at: "\(schema.internal)._migration", { try await build(indexes, $0) }) == nil {
            try await ServiceTimer.sleep(for: .milliseconds(500))
        }
    }

    private func build(_ indexes: [(name: SQLIdentifier, expression: SQL)], _ turn: DatabaseTurn) async throws {
        try await client.withSession { session in
            for (name, expression) in indexes {
                try await turn.requireHeld()
                switch try await validity(of: [name], { try await session.query($0) })[name.name] {
                case true?: continue
                case false?: _ = try await session.query("DROP INDEX CONCURRENTLY \(schema).\(name)")
                case nil: break
                }
                logger.notice("The index of a login key is being built", metadata: ["index": "\(name)"])
                do {
                    _ = try await session.query(
                        "CREATE UNIQUE INDEX CONCURRENTLY \(name) ON \(schema).\"user\" (\(expression))"
                    )
                } catch {
                    // The failed index would still reject duplicate keys, but serve no lookup.
                    _ = try? await session.query("DROP INDEX CONCURRENTLY IF EXISTS \(schema).\(name)")
                    throw error
                }
            }
        }
    }
}
