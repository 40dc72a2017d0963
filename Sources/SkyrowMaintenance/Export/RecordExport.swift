package import SkyrowModel
package import SkyrowPostgres
package import SkyrowStore

/// A snapshot of an application's records, read type by type.
///
/// Passed to the body of ``RecordStore/withExport(_:)`` and not `Sendable`, like its transaction.
package final class RecordExport {
    /// Every record type, sorted by name.
    package let types: [ExportedType]
    /// The stored files, which may be deleted meanwhile (``FileSnapshot/holding(_:client:_:)``).
    let files: FileSnapshot
    private let transaction: PostgresTransaction

    fileprivate init(_ transaction: PostgresTransaction, schema: SQLIdentifier, types: [ExportedType]) {
        self.transaction = transaction
        self.types = types
        files = FileSnapshot(transaction, schema: schema)
    }

    /// Emits every record of a type to a sink, with all its columns, and returns their number.
    ///
    /// Members are in column order, ``ReservedColumn``s except the revision first, under their column names, with
    /// `.null` for NULL. Ids and references are stored ones (``StoredID``), which keep the database of private records.
    /// Columns of unsupported types are text.
    ///
    /// - Parameter flush: Called some thousand times per million records, with the number emitted so far.
    package func write<Sink: RecordSink>(
        _ type: ExportedType,
        to sink: inout Sink,
        flush: (inout Sink, Int) async throws -> Void
    ) async throws -> Int {
        // A closure that may run later cannot capture an `inout` parameter, so this copy is assigned back below.
        var filled = sink
        let count = try await transaction.copyOut(type.statement) { output in
            var reader = BinaryCopyReader(columns: type.columns)
            for try await chunk in output {
                try reader.read(chunk, into: &filled)
                try await flush(&filled, reader.rowCount)
            }
            return output.rowCount
        }
        sink = filled
        return count
    }
}

/// A record type in an export.
package struct ExportedType: Sendable {
    package let recordType: RecordType
    /// PostgreSQL's estimate of the number of records; nil before its first estimate.
    package let estimate: Int?
    /// The last assigned number of each field's sequence, if any.
    package let sequences: [FieldName: Int64]
    package let columns: [ExportColumn]
    /// The rules of the type; nil if not set.
    package let access: ClassAccess?
    /// `COPY (SELECT "r"."_id", … FROM "app"."movie" AS "r") TO STDOUT (FORMAT binary)`
    package let statement: SQL

    package var name: RecordTypeName { recordType.name }

    /// The column names, in emission order.
    package var columnNames: [String] { columns.map(\.key.name) }

    package init(_ table: RecordTable, estimate: Int?, sequences: [FieldName: Int64], access: ClassAccess? = nil) {
        self.access = access
        var type = table.recordType
        // Schemas do not list this field. An import ignores it, as it does names with a leading underscore.
        if let verified = table[.verified] { type.fields[.verified] = verified.type }
        recordType = type
        self.estimate = estimate
        self.sequences = sequences
        columns =
            ReservedColumn.exported.map { ExportColumn($0, of: table.name) }
            + table.columns.map { ExportColumn($0, of: table) }
        let selection = columns.map(\.selection).joined(separator: ", ")
        statement =
            "COPY (SELECT \(selection) FROM \(table.qualifiedName) AS \(ExportColumn.alias)) TO STDOUT (FORMAT binary)"
    }
}

extension RecordStore {
    /// Calls `body` with a snapshot of the application's records, unaffected by concurrent writes.
    ///
    /// ```swift
    /// try await store.withExport { export in
    ///     for type in export.types { _ = try await export.write(type, to: &sink) { sink, _ in try file.write(sink.take()) } }
    /// }
    /// ```
    ///
    /// Nothing is changed, and only changes of a table's columns wait. Throws the errors of `body`, and `PostgresError`.
    package func withExport<Success>(_ body: (RecordExport) async throws -> Success) async throws -> Success {
        try await cache.reload()
        let known = cache.current.tables.values.map(\.qualifiedName)
        return try await client.withTransaction(isolation: .snapshot, retries: 0) { transaction in
            // The tables are locked before the snapshot, which LOCK does not take. Otherwise the rows of a table
            // rewritten or truncated after the snapshot would be missing (PostgreSQL's manual, 13.6).
            try await transaction.lockAgainstChanges(known)
            let catalog = try await SchemaCatalog.load(of: schema, in: transaction)
            try await transaction.lockAgainstChanges(catalog.tables.values.map(\.qualifiedName))
            let estimates = try await self.estimates(transaction)
            let access = try await self.access(transaction)
            var types: [ExportedType] = []
            for table in catalog.sortedTables {
                var sequences: [FieldName: Int64] = [:]
                for column in table.columns where column.type == .sequence {
                    sequences[column.field] = try await lastNumber(of: column, table, transaction)
                }
                types.append(
                    ExportedType(
                        table,
                        estimate: estimates[table.name.rawValue],
                        sequences: sequences,
                        access: access(table.name.rawValue)
                    )
                )
            }
            return try await body(RecordExport(transaction, schema: schema, types: types))
        }
    }

    private func estimates(_ transaction: PostgresTransaction) async throws -> [String: Int] {
        let result = try await transaction.query(
            """
            SELECT relname, reltuples::bigint FROM pg_catalog.pg_class
            WHERE relnamespace = \(schema.namespace)
                AND relkind IN ('r', 'p') AND reltuples >= 0
            """
        )
        let names = try result.decodeColumn(0, as: String.self)
        let counts = try result.decodeColumn(1, as: Int64.self)
        return Dictionary(zip(names, counts.map { Int($0) })) { first, _ in first }
    }

    /// Returns a function from a type's name to its rules, including the field rules of all types; nil for no rules.
    private func access(_ transaction: PostgresTransaction) async throws -> (_ type: String) -> ClassAccess? {
        let rows = try await transaction.query(ClassAccess.rows(in: schema))
        var known: [String: ClassAccess] = [:]
        for row in 0..<rows.rowCount {
            known[try rows.decode(row: row, column: 0)] = ClassAccess(storedJSON: try rows.decode(row: row, column: 1))
        }
        let every = known[ClassAccess.everyName] ?? ClassAccess()
        return { [known] type in
            var access = known[type] ?? ClassAccess()
            let rules = FieldRuleGroups(access, besides: every).flattened
            access.fields = rules.ofType
            access.everyField = rules.ofEveryField
            return access == ClassAccess() ? nil : access
        }
    }

    private func lastNumber(
        of column: RecordColumn,
        _ table: RecordTable,
        _ transaction: PostgresTransaction
    ) async throws -> Int64? {
        let result = try await transaction.query(
            "SELECT pg_sequence_last_value(pg_get_serial_sequence(\(table.sequenceOwner), \(column.identifier.name))::regclass)"
        )
        return try result.decode(row: 0, column: 0)
    }
}

extension PostgresTransaction {
    /// Prevents changes of the tables' columns, rewrites and truncation until the transaction ends. Row changes are allowed.
    func lockAgainstChanges(_ tables: [SQL]) async throws {
        guard !tables.isEmpty else { return }
        try await execute("LOCK TABLE \(tables.joined(separator: ", ")) IN ACCESS SHARE MODE")
    }
}
