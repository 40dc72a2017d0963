package import SkyrowModel
package import SkyrowPostgres
package import SkyrowStore

/// The records of an application as they are at one moment, to be read type by type.
///
/// Lent by ``RecordStore/withExport(_:)`` and not `Sendable`, like the transaction that it is.
package final class RecordExport {
    /// Every record type, sorted by name.
    package let types: [ExportedType]
    private let transaction: PostgresTransaction

    package init(_ transaction: PostgresTransaction, types: [ExportedType]) {
        self.transaction = transaction
        self.types = types
    }

    /// Emits every record of a type to a sink, with all its columns, and returns how many there were.
    ///
    /// Members come in the order of the columns, ``ReservedColumn`` but the revision first, under their names there and
    /// with `.null` where the row has NULL. Ids, and those of references, are stored ones (``StoredID``), so that what
    /// is private of whom is not lost; columns whose type is not ours come as text.
    ///
    /// - Parameter flush: is called some thousand times a million records, with how many were emitted so far.
    package func write<Sink: RecordSink>(
        _ type: ExportedType,
        to sink: inout Sink,
        flush: (inout Sink, Int) async throws -> Void
    ) async throws -> Int {
        // Parameters cannot be captured `inout` by what may run later; the copy comes back below.
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

/// A record type as an export finds it.
package struct ExportedType: Sendable {
    package let recordType: RecordType
    /// How many records PostgreSQL thinks there are; nil when it has not looked yet.
    package let estimate: Int?
    /// The last number of each field's sequence that gave one.
    package let sequences: [FieldName: Int64]
    package let columns: [ExportColumn]
    /// The rules of the type; nil where nothing was set.
    package let access: ClassAccess?
    /// `COPY (SELECT "r"."_id", … FROM "app"."movie" AS "r") TO STDOUT (FORMAT binary)`
    package let statement: SQL

    package var name: RecordTypeName { recordType.name }

    /// The names of the columns, in the order in which they are emitted.
    package var columnNames: [String] { columns.map(\.key.name) }

    package init(
        _ table: RecordTable,
        estimate: Int?,
        sequences: [FieldName: Int64],
        access: ClassAccess? = nil
    ) {
        self.access = access
        var type = table.recordType
        // Schemas do not list it. An import leaves it out, as it does what begins with an underscore.
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
    /// Lends the application's records as they are now, whatever is written meanwhile.
    ///
    /// ```swift
    /// try await store.withExport { export in
    ///     for type in export.types { _ = try await export.write(type, to: &sink) { sink, _ in try file.write(sink.take()) } }
    /// }
    /// ```
    ///
    /// Nothing is changed, and nothing waits but changes of a table's columns. Throws what `body` throws,
    /// and `PostgresError`.
    package func withExport<Success>(_ body: (RecordExport) async throws -> Success) async throws -> Success {
        try await cache.reload()
        let known = cache.current.tables.values.map(\.qualifiedName)
        return try await client.withTransaction(isolation: .snapshot, retries: 0) { transaction in
            // Before the snapshot, which a LOCK does not take: rows of a table that is rewritten or truncated after it
            // would be missing (PostgreSQL's manual, 13.6).
            try await transaction.lockAgainstChanges(known)
            let catalog = try await SchemaCatalog.load(of: schema, in: transaction)
            try await transaction.lockAgainstChanges(catalog.tables.values.map(\.qualifiedName))
            let estimates = try await self.estimates(transaction)
            let access = try await self.access(transaction)
            var types: [ExportedType] = []
            for table in catalog.tables.values.sorted(by: { $0.name < $1.name }) {
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
            return try await body(RecordExport(transaction, types: types))
        }
    }

    private func estimates(_ transaction: PostgresTransaction) async throws -> [String: Int] {
        let result = try await transaction.query(
            """
            SELECT relname, reltuples::bigint FROM pg_catalog.pg_class
            WHERE relnamespace = (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = \(PostgresName(schema.name)))
                AND relkind IN ('r', 'p') AND reltuples >= 0
            """
        )
        let names = try result.decodeColumn(0, as: String.self)
        let counts = try result.decodeColumn(1, as: Int64.self)
        return Dictionary(zip(names, counts.map { Int($0) })) { first, _ in first }
    }

    /// The rules of a type by its name, with those of fields of every type; nil where it has none.
    private func access(
        _ transaction: PostgresTransaction
    ) async throws -> (_ type: String) -> ClassAccess? {
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
    /// Prevents others from changing, rewriting or truncating these tables until the transaction ends; rows may come and go.
    func lockAgainstChanges(_ tables: [SQL]) async throws {
        guard !tables.isEmpty else { return }
        try await execute("LOCK TABLE \(tables.joined(separator: ", ")) IN ACCESS SHARE MODE")
    }
}
