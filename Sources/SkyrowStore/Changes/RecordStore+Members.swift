package import SkyrowModel
internal import SkyrowPostgres
package import SkyrowQuery

extension RecordStore {
    /// Whether PostgreSQL's log has of records before their changes nothing but their ids.
    package func logsKeysAlone(of table: RecordTable) async throws(SkyrowError) -> Bool {
        try await reporting {
            try await self.client.read(
                """
                SELECT coalesce((SELECT relreplident <> 'f' FROM pg_catalog.pg_class
                    WHERE relname = \(PostgresName(table.name.rawValue)) AND relnamespace = (
                        SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = \(PostgresName(self.schema.name))
                    )), false)
                """
            ).decode(row: 0, column: 0, as: Bool.self)
        }
    }

    /// Records as they are now, in the place of changes that did not come whole: of one that is gone meanwhile, its end.
    func presentChanges(of table: RecordTable, _ ids: [String]) async throws -> [RecordChange] {
        let sql: SQL = """
            SELECT \(table.wholeRow.columns) FROM \(table.qualifiedName) AS "r" WHERE "r"."_id" = ANY (\(ids))
            """
        let rows = try await client.read(sql, limit: .reading)
        var found: [String: RecordChange] = [:]
        for row in 0..<rows.rowCount {
            guard let after = StoredRecord(rows, row: row, of: table) else { continue }
            found[after.storedID] = RecordChange(
                of: table,
                storedID: after.storedID,
                before: .unknown(mayBeNew: false),
                after: after,
                rows: rows,
                row: row
            )
        }
        return ids.map { id in
            found[id]
                ?? RecordChange(deleting: id, of: table)
        }
    }

    /// All records of a database that match a predicate, for any reader, and a moment before they were read.
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
