internal import SkyrowModel
internal import SkyrowPostgres
internal import SkyrowQuery
internal import Synchronization

extension RecordStore {
    /// Returns the number of records of a type according to PostgreSQL's statistics; 0 for a small table or without statistics.
    func size(of type: RecordTypeName) -> Double {
        sizes.withLock { $0[type.rawValue] ?? 0 }
    }

    /// Reads the row counts of large tables.
    package func readSizes() async throws {
        let result = try await client.read(
            """
            SELECT relname::text, reltuples::double precision FROM pg_catalog.pg_class
            WHERE reltuples > \(QueryAdvice.largeTable) AND relkind IN ('r', 'p') AND relnamespace = \(schema.namespace)
            """
        )
        let names: [String] = try result.decodeColumn(0)
        let rows: [Double] = try result.decodeColumn(1)
        let found = Dictionary(zip(names, rows)) { first, _ in first }
        sizes.withLock { $0 = found }
    }
}
