package import SkyrowModel
internal import SkyrowPostgres
package import SkyrowQuery

/// What PostgreSQL's log contains of the changes of a type.
package struct ChangeLogging: Hashable, Sendable {
    /// Whether the log contains only the ids of old rows.
    package let hasKeysAlone: Bool
    /// Whether the publication includes the changes.
    package let isPublished: Bool
}

extension RecordStore {
    /// Reads what PostgreSQL's log contains of the changes of a type.
    package func logging(of table: RecordTable) async throws(SkyrowError) -> ChangeLogging {
        try await reporting {
            let result = try await self.client.read(
                """
                SELECT relreplident <> 'f', EXISTS (
                    SELECT FROM pg_catalog.pg_publication_rel AS member
                    WHERE prrelid = pg_class.oid AND \(Publication.isWhole(in: self.schema))
                ) FROM pg_catalog.pg_class
                WHERE relname = \(PostgresName(table.name.rawValue)) AND relnamespace = \(self.schema.namespace)
                """
            )
            guard !result.isEmpty else { return ChangeLogging(hasKeysAlone: false, isPublished: false) }
            return ChangeLogging(
                hasKeysAlone: try result.decode(row: 0, column: 0),
                isPublished: try result.decode(row: 0, column: 1)
            )
        }
    }

    /// The tables of which every change is published: the oid of the membership by the oid of the table.
    package func publishedTables() async throws(SkyrowError) -> [UInt32: UInt32] {
        try await reporting { try await Publication.members(of: self.schema, by: self.client) }
    }

    /// Publishes the changes of all types, as far as the role has the right.
    package func publish() async throws(SkyrowError) {
        try await reporting { _ = try await Publication.prepare(of: self.schema, by: self.client) }
    }

    /// Reads the current records in place of incomplete changes; a record that no longer exists becomes a deletion.
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

    /// Returns all records of a database that match a predicate, for any reader, and a snapshot from before they were read.
    ///
    /// The records are nil if more than `limit` match.
    ///
    /// - Parameter predicate: one that depends only on the record itself, with the columns of `table`.
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
