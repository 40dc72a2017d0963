package import SkyrowModel
internal import SkyrowPostgres

extension RecordStore {
    /// Runs a query in one statement and one round trip, included records and count among it.
    ///
    /// Records that may not be read are neither sent nor counted. A type without a table has no records. Throws `108
    /// InvalidArgument` for a query that refuses to be cut at its limit and has more records, `108`, `111 NotSupported`
    /// or `120 RecordQueryInvalid` for a query that has no meaning, `124 RecordQueryDenied` for one that names a field
    /// which is hidden, and what the database failed with.
    package func query(
        _ query: RecordQuery,
        with access: RecordAccess
    ) async throws(SkyrowError) -> QueryResult {
        guard query.limit >= 0, query.offset >= 0 else {
            throw SkyrowError.invalidArgument("Limit and offset are not negative.", "limit", "offset")
        }
        return try await reporting {
            try await withCatalog { _ in
                guard let table = try await self.table(of: query.type)?.visible(to: access.fields) else {
                    return QueryResult(records: [], count: query.countsMatches ? 0 : nil)
                }
                let statement = try QueryStatement(
                    query,
                    table: table,
                    catalog: self.cache.current.visible(to: access.fields),
                    access: access
                )
                let result = try await self.client.read(statement.sql, limit: .reading, contention: table.contention)
                let found = try statement.read(result)
                guard !found.hasMore || query.overflow == .cut else {
                    throw SkyrowError.invalidArgument(
                        "More than \(query.limit) records match; ask for parts of them with limit and offset.",
                        "limit"
                    )
                }
                return found
            }
        }
    }
}
