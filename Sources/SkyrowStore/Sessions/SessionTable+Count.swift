package import SkyrowModel
internal import SkyrowPostgres

extension SessionTable {
    /// Above this number of rows, PostgreSQL's estimate is used.
    private static let countedRows = 100_000

    /// Returns the number of sessions that have not expired; for a large table, the estimated number of its rows.
    package func count() async throws(SkyrowError) -> Int {
        try await store.value(
            reading: """
                SELECT CASE WHEN reltuples < \(Self.countedRows) THEN (
                    SELECT count(*) FROM \(schema.internal)._session AS session
                    WHERE session.expires_at IS NULL OR session.expires_at > now()
                ) ELSE reltuples::bigint END
                FROM pg_catalog.pg_class
                WHERE relname = '_session' AND relnamespace = \(schema.internal.identifier.namespace)
                """
        ) ?? 0
    }
}
