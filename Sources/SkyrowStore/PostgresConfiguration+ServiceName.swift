package import SkyrowPostgres

extension PostgresConfiguration {
    /// The `application_name` of a service's connections in `pg_stat_activity`, by which a restore detects a running service.
    package static func serviceName(of schema: SQLIdentifier) -> String {
        // PostgreSQL truncates the name at 63 bytes.
        String((servicePrefix + schema.name).prefix(63))
    }

    /// Prefix of the names of all services.
    package static let servicePrefix = "skyrow "
}
