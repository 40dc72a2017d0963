package import SkyrowPostgres

/// What PostgreSQL's tools need of a database apart from its tables.
package enum ToolAccess {
    /// Sets the database's search path so that sessions find an application's tables by name, unless a path is set already.
    package static func setSearchPath(to schema: SQLIdentifier, client: PostgresClient) async throws {
        let found = try await client.read(
            """
            SELECT datname, EXISTS (
                SELECT FROM pg_catalog.pg_db_role_setting
                WHERE setdatabase = pg_database.oid AND setrole = 0 AND EXISTS (
                    SELECT FROM unnest(setconfig) AS setting WHERE starts_with(setting, 'search_path=')
                )
            ) FROM pg_catalog.pg_database WHERE datname = current_database()
            """
        )
        guard try !found.decode(row: 0, column: 1, as: Bool.self) else { return }
        let database = try SQLIdentifier(try found.decode(row: 0, column: 0, as: String.self))
        _ = try await client.write("ALTER DATABASE \(database) SET search_path = \(schema), public, postgis")
    }

    /// Sets the password of the client's role, for connections over TCP.
    package static func setPassword(_ password: String, client: PostgresClient) async throws {
        try await client.withTransaction { transaction in
            _ = try await transaction.query("SELECT set_config('password_encryption', 'scram-sha-256', true)")
            // Sent as a script, to keep the text out of logs of slow statements.
            try await transaction.executeScript("ALTER ROLE CURRENT_USER PASSWORD \(literal: password)")
        }
    }
}
