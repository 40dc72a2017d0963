package import SkyrowPostgres

extension PostgresConfiguration {
    /// The name that a service's connections carry in `pg_stat_activity`, by which a restore detects that it runs.
    package static func serviceName(of schema: SQLIdentifier) -> String {
        // PostgreSQL cuts it there.
        String((servicePrefix + schema.name).prefix(63))
    }

    /// How the names of all services begin.
    package static let servicePrefix = "skyrow "
}
