internal import Logging
package import SkyrowModel
package import SkyrowPostgres

extension ApplicationRegistry {
    /// Creates an application with its schema and reserved tables, or nothing.
    ///
    /// - Parameters:
    ///   - adoptsSchema: whether a schema that already holds Skyrow's records becomes this application's.
    /// - Throws: 108 for a schema that is not free, 109 for a name, a schema, a key or a host that is taken.
    package func create(
        _ name: ApplicationName,
        schema: SQLIdentifier,
        adoptsSchema: Bool = false,
        keys: [NewApplicationKey],
        hosts: [HostName] = [],
        settings: [String: String] = [:]
    ) async throws(SkyrowError) {
        guard name != .default else {
            throw SkyrowError(
                .duplicated,
                "The application app is the service's own; it is configured by the service's settings."
            )
        }
        guard schema != defaultSchema else {
            throw SkyrowError(.duplicated, "The schema \(schema.name) belongs to the application app.")
        }
        try await changing { transaction in
            try await install(in: transaction)
            try await refuseTaken(name, schema, in: transaction)
            try await refuseForeignSchema(schema, adopts: adoptsSchema, in: transaction)
            try await transaction.execute(
                "INSERT INTO _skyrow.application (name, schema) VALUES (\(name.rawValue), \(schema.name))"
            )
            for key in keys { try await add(key, to: name, in: transaction) }
            for host in hosts { try await add(host, to: name, in: transaction) }
            try await transaction.lockSchema(schema)
            _ = try await MigrationRun(client: client, schema: schema, logger: logger)(in: transaction)
            for (setting, value) in settings { try await set(setting, to: value, in: schema, transaction) }
        }
    }

    /// Deletes an application with its keys and host names; its schema stays, or is dropped with all of its records.
    ///
    /// Throws 108 for the default application, even if it is registered for further keys.
    package func delete(_ name: ApplicationName, dropsSchema: Bool) async throws(SkyrowError) {
        guard name != .default else {
            throw .invalidArgument("The application app is the service's own and cannot be deleted.")
        }
        let schema = try await application(named: name).schema
        if dropsSchema {
            // In several transactions, since a large schema has more objects than one transaction may lock. The application is
            // deleted last, so that an interrupted deletion can be repeated.
            try await setDisabled(true, name)
            try await reporting {
                // The tables identify the publication.
                try await client.withTransaction { try await Publication.drop(of: schema, in: $0) }
                try await SchemaRemoval.dropTables(of: schema, client: client)
            }
        }
        try await changing { transaction in
            try await affecting(name) {
                try await transaction.execute("DELETE FROM _skyrow.application WHERE name = \(name.rawValue)")
            }
            guard dropsSchema else { return }
            try await transaction.lockSchema(schema)
            try await transaction.execute("DROP SCHEMA IF EXISTS \(schema), \(schema.internal) CASCADE")
        }
    }

    /// Throws 108 for the default application, which exists as long as the service runs.
    package func setDisabled(_ isDisabled: Bool, _ name: ApplicationName) async throws(SkyrowError) {
        guard name != .default else {
            throw .invalidArgument("The application app is the service's own; stop the service instead.")
        }
        try await changingExisting { transaction in
            try await affecting(name) {
                try await transaction.execute(
                    "UPDATE _skyrow.application SET disabled = \(isDisabled) WHERE name = \(name.rawValue)"
                )
            }
        }
    }

    /// Adds a key; with `overlap`, in seconds, the others of its kind expire after that time unless they expire before.
    package func add(
        _ key: NewApplicationKey,
        to name: ApplicationName,
        endingOthersIn overlap: Int64? = nil
    ) async throws(SkyrowError) {
        try await changingExisting { transaction in
            try await requireApplication(name, in: transaction)
            if let overlap {
                try await transaction.execute(
                    """
                    UPDATE _skyrow.application_key
                    SET expires_at = least(expires_at, now() + make_interval(secs => \(Double(overlap))))
                    WHERE application = \(name.rawValue) AND kind = \(key.kind.rawValue)
                    """
                )
            }
            try await add(key, to: name, in: transaction)
        }
    }

    /// Removes the key that begins with `hint`; throws 110 if no key does.
    ///
    /// - Parameter hint: at least eight characters of the key.
    package func removeKey(beginning hint: String, of name: ApplicationName) async throws(SkyrowError) {
        try await changingExisting { transaction in
            try await requireApplication(name, in: transaction)
            let removed = try await transaction.execute(
                """
                DELETE FROM _skyrow.application_key
                WHERE application = \(name.rawValue) AND hint = \(String(hint.prefix(ApplicationRegistry.hintLength)))
                """
            )
            guard removed == 1 else {
                throw SkyrowError(.resourceNotFound, "The application \(name) has no key that begins with \(hint).")
            }
        }
    }

    package func add(_ host: HostName, to name: ApplicationName) async throws(SkyrowError) {
        try await changingExisting { transaction in
            try await requireApplication(name, in: transaction)
            try await add(host, to: name, in: transaction)
        }
    }

    package func remove(_ host: HostName, from name: ApplicationName) async throws(SkyrowError) {
        try await changingExisting { transaction in
            try await requireApplication(name, in: transaction)
            let removed = try await transaction.execute(
                """
                DELETE FROM _skyrow.application_host
                WHERE host = \(host.rawValue) AND application = \(name.rawValue)
                """
            )
            guard removed == 1 else {
                throw SkyrowError(.resourceNotFound, "The application \(name) has no host name \(host).")
            }
        }
    }

    /// Sets or removes a setting of an application.
    package func set(_ setting: String, to value: String?, of name: ApplicationName) async throws(SkyrowError) {
        let schema = try await application(named: name).schema
        try await changing { transaction in
            if let value {
                try await set(setting, to: value, in: schema, transaction)
            } else {
                try await transaction.execute("DELETE FROM \(schema.internal)._setting WHERE name = \(setting)")
            }
        }
    }

    /// Returns the settings of an application, by name.
    package func settings(of schema: SQLIdentifier) async throws(SkyrowError) -> [String: String] {
        try await reporting {
            let result = try await client.read("SELECT name, value FROM \(schema.internal)._setting")
            let names: [String] = try result.decodeColumn(0)
            return Dictionary(zip(names, try result.decodeColumn(1))) { first, _ in first }
        }
    }

    /// The length of the stored prefix of a key, by which it is recognised; too short for guessing the rest.
    package static let hintLength = 8
}

// MARK: - Steps

extension ApplicationRegistry {
    /// Runs `body` in a transaction that notifies services of a change.
    private func changing(_ body: (PostgresTransaction) async throws -> Void) async throws(SkyrowError) {
        try await reporting {
            try await client.withTransaction { transaction in
                try await body(transaction)
                _ = try await transaction.query("SELECT pg_notify(\(ApplicationRegistry.channel.name), '')")
            }
        }
    }

    /// Runs `body` as ``changing(_:)`` does, with the registry created if missing.
    private func changingExisting(_ body: (PostgresTransaction) async throws -> Void) async throws(SkyrowError) {
        try await changing { transaction in
            try await install(in: transaction)
            try await body(transaction)
        }
    }

    private func install(in transaction: PostgresTransaction) async throws {
        try await transaction.lockSchema("_skyrow")
        let isThere = try await transaction.query(ApplicationRegistry.installed)
        if try isThere.decode(row: 0, column: 0, as: Bool.self) { return }
        try await transaction.executeScript(SQL(trustedText: Migration.applications))
    }

    /// The default application is registered when it gets a key or a host name in addition to those of its settings.
    private func requireApplication(_ name: ApplicationName, in transaction: PostgresTransaction) async throws {
        if name == .default {
            try await transaction.execute(
                """
                INSERT INTO _skyrow.application (name, schema) VALUES (\(name.rawValue), \(defaultSchema.name))
                ON CONFLICT (name) DO NOTHING
                """
            )
        }
        let found = try await transaction.query(
            "SELECT FROM _skyrow.application WHERE name = \(name.rawValue) FOR UPDATE"
        )
        if found.isEmpty { throw ApplicationRegistry.unknown(name) }
    }

    private func set(
        _ setting: String,
        to value: String,
        in schema: SQLIdentifier,
        _ transaction: PostgresTransaction
    ) async throws {
        try await transaction.execute(
            """
            INSERT INTO \(schema.internal)._setting (name, value) VALUES (\(setting), \(value))
            ON CONFLICT (name) DO UPDATE SET value = EXCLUDED.value
            """
        )
    }

    private func affecting(_ name: ApplicationName, _ body: () async throws -> Int) async throws {
        if try await body() == 0 { throw ApplicationRegistry.unknown(name) }
    }

    private func add(
        _ key: NewApplicationKey,
        to name: ApplicationName,
        in transaction: PostgresTransaction
    ) async throws {
        try await transaction.execute(
            """
            INSERT INTO _skyrow.application_key (hash, application, kind, hint)
            VALUES (\(key.hash), \(name.rawValue), \(key.kind.rawValue), \(key.hint))
            """
        )
    }

    private func add(_ host: HostName, to name: ApplicationName, in transaction: PostgresTransaction) async throws {
        try await transaction.execute(
            "INSERT INTO _skyrow.application_host (host, application) VALUES (\(host.rawValue), \(name.rawValue))"
        )
    }

    /// Throws 109 for a name or a schema that another application has, before the schema itself is checked.
    private func refuseTaken(
        _ name: ApplicationName,
        _ schema: SQLIdentifier,
        in transaction: PostgresTransaction
    ) async throws {
        let found = try await transaction.query(
            """
            SELECT name = \(name.rawValue) FROM _skyrow.application
            WHERE name = \(name.rawValue) OR schema = \(schema.name) ORDER BY 1 DESC
            """
        )
        guard !found.isEmpty else { return }
        throw try found.decode(row: 0, column: 0, as: Bool.self)
            ? ApplicationRegistry.nameTaken : ApplicationRegistry.schemaTaken
    }

    /// Throws 108 for a reserved schema, for one with another owner or purpose, and if its internal schema is not free.
    private func refuseForeignSchema(
        _ schema: SQLIdentifier,
        adopts: Bool,
        in transaction: PostgresTransaction
    ) async throws {
        let name = schema.name
        let reserved = ["information_schema", "public", "postgis", "skyrow_admin"]
        guard !name.hasPrefix("pg_"), !name.hasPrefix("_"), !reserved.contains(name), !schema.isBesideAnother else {
            throw SkyrowError.invalidArgument(
                "The schema \(name) cannot be used for an application; choose another one."
            )
        }
        let found = try await transaction.query(
            """
            SELECT nspname::text, pg_catalog.pg_has_role(nspowner, 'USAGE'),
                EXISTS (SELECT FROM pg_catalog.pg_class WHERE relnamespace = home.oid AND relname = '_migration'),
                EXISTS (SELECT FROM pg_catalog.pg_class WHERE relnamespace = home.oid)
                    OR EXISTS (SELECT FROM pg_catalog.pg_proc WHERE pronamespace = home.oid)
                    OR EXISTS (SELECT FROM pg_catalog.pg_type WHERE typnamespace = home.oid)
            FROM pg_catalog.pg_namespace AS home
            WHERE nspname IN (\(PostgresName(name)), \(PostgresName(schema.internal.name)))
            ORDER BY nspname
            """
        )
        let homes = try found.decodeColumn(0, as: String.self)
        for (row, home) in homes.enumerated() where try !found.decode(row: row, column: 1, as: Bool.self) {
            throw SkyrowError.invalidArgument("The schema \(home) belongs to another role; choose another one.")
        }
        let isOurs = try found.decodeColumn(2, as: Bool.self).contains(true)
        guard !isOurs else {
            if adopts { return }
            throw SkyrowError.invalidArgument(
                "The schema \(name) already has records; use --existing to adopt them for this application."
            )
        }
        for (row, home) in homes.enumerated() where try found.decode(row: row, column: 3, as: Bool.self) {
            throw SkyrowError.invalidArgument(
                "The schema \(home) has objects that are not Skyrow's; choose another one."
            )
        }
    }
}
