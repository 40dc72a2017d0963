package import SkyrowModel
internal import SkyrowPostgres

extension SessionTable {
    /// Beyond this many rows PostgreSQL's own estimate will do.
    private static let countedRows = 100_000

    /// How many sessions have not ended by their age; of a large table about how many rows there are.
    package func count() async throws(SkyrowError) -> Int {
        try await store.reporting {
            let schema = store.schema
            let result = try await store.client.read(
                """
                SELECT CASE WHEN reltuples < \(Int64(Self.countedRows)) THEN (
                    SELECT count(*) FROM \(schema.internal)._session AS session
                    WHERE session.expires_at IS NULL OR session.expires_at > now()
                ) ELSE reltuples::bigint END
                FROM pg_catalog.pg_class
                WHERE relname = '_session' AND relnamespace = (
                    SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = \(PostgresName(schema.internal.name))
                )
                """
            )
            return result.isEmpty ? 0 : Int(try result.decode(row: 0, column: 0, as: Int64.self))
        }
    }
}
