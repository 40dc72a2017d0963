package import SkyrowModel
internal import SkyrowPostgres
package import SkyrowQuery

extension RecordStore {
    /// All records of a database that match a predicate, whoever may read them, and a moment before they were read.
    ///
    /// nil for the records where more than the limit match.
    ///
    /// - Parameter predicate: one that asks for nothing but the records themselves, with the columns of `table`.
    package func matchingRecords(
        of table: RecordTable,
        in database: DatabaseScope,
        _ predicate: ResolvedPredicate?,
        limit: Int
    ) async throws(SkyrowError) -> (ChangeMoment, [StoredRecord]?) {
        try await reporting {
            let moment = try await self.changeMoment()
            let whole = self.cache.current.tables[table.name] ?? table
            let access = RecordAccess(in: database, for: .reading, by: Caller(kind: .master(actingAs: nil)))
            let text = QueryText(table, Resolver(schema: self.cache.current, root: table, access: access))
            var sql: SQL = "SELECT \(whole.wholeRow.columns) FROM \(table.qualifiedName) AS \"r\" WHERE "
            switch database {
            case .union: sql += "true"
            case .everyone: sql += "\"r\".\"_database\" = '_public'"
            case .user(let user): sql += "\"r\".\"_database\" = \(user.rawValue)"
            }
            if let predicate { sql += " AND (\(text.matches(predicate)))" }
            sql += " LIMIT \(Int64(limit + 1))"
            let rows = try await self.client.read(sql, limit: .reading)
            guard rows.rowCount <= limit else { return (moment, nil) }
            return (moment, (0..<rows.rowCount).compactMap { StoredRecord(rows, row: $0, of: whole) })
        }
    }
}
