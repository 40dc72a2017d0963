package import SkyrowPostgres

/// What the tools of PostgreSQL need of a database beside its tables.
package enum ToolAccess {
    /// Lets sessions find the tables of an application by their names alone, unless somebody has set a path.
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

    /// Gives the role of the client a password, for connections over TCP.
    package static func setPassword(_ password: String, client: PostgresClient) async throws {
        try await client.withTransaction { transaction in
            _ = try await transaction.query("SELECT set_config('password_encryption', 'scram-sha-256', true)")
            // As a script, so that the text is in no log of slow statements.
            try await transaction.executeScript("ALTER ROLE CURRENT_USER PASSWORD \(literal: password)")
        }
    }
}
