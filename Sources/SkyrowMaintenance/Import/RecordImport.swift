internal import Logging
package import SkyrowModel
package import SkyrowPostgres
package import SkyrowStore

/// An import of records with their types and fields, completely or not at all.
///
/// Passed to the body of ``RecordStore/withImport(creating:_:)`` and not `Sendable`, like its transaction.
package final class RecordImport {
    private let store: RecordStore
    private let transaction: PostgresTransaction
    private var targets: [ImportTarget] = []

    package init(_ transaction: PostgresTransaction, of store: RecordStore) {
        self.store = store
        self.transaction = transaction
    }

    /// Adds records of a type through COPY, and returns their number.
    ///
    /// A record may refer to a later one of the import. Throws ``ImportFault`` for the first record that cannot be
    /// imported, `114 IncompatibleSchema` for an unknown type or field, and the errors of `rows`.
    ///
    /// - Parameter progress: Called after each part with the number of records added so far.
    package func add<Rows: AsyncSequence>(
        _ rows: Rows,
        to columns: ImportColumns,
        progress: (Int) -> Void = { _ in }
    ) async throws -> Int where Rows.Element == ImportRow {
        let catalog = try await SchemaCatalog.load(.types([columns.type]), of: store.schema, in: transaction)
        guard let table = catalog[columns.type] else { throw SkyrowError.noType(columns.type) }
        let target = try ImportTarget(table: table, columns: columns)
        targets.append(target)
        var imported = 0
        do {
            try await RecordStore.inParts(rows) { part in
                var faults: [ImportFault] = []
                let lines = target.encoded(part, &faults)
                if let fault = faults.first { throw fault }
                imported += try await store.copy(lines, into: target, &faults) { transfers in
                    try await transaction.withSavepoint { try await $0.copyIn(transfers) }
                }
                if let fault = faults.min(by: { ($0.line ?? 0) < ($1.line ?? 0) }) { throw fault }
                progress(imported)
            }
        } catch let error as PostgresError {
            throw store.report(error, table: table)
        }
        return imported
    }

    /// Advances a field's sequence to a number, unless it is already higher.
    package func advanceSequence(_ field: FieldName, of type: RecordTypeName, to number: Int64) async throws {
        guard let target = targets.first(where: { $0.table.name == type }),
            let column = target.sequences.first(where: { $0.field == field })
        else { return }
        try await store.reporting {
            _ = try await transaction.query(target.advancing(column, to: "\(number)"))
        }
    }

    /// Performs the steps that need all records.
    package func finish() async throws {
        for target in targets {
            for statement in target.sequenceAdvances { _ = try await transaction.query(statement) }
            if TypeRules.builtIn(target.table.name).origin == .accounts { try await createAccounts() }
        }
        do {
            _ = try await transaction.query("SET CONSTRAINTS ALL IMMEDIATE")
        } catch let error as PostgresError where error.isAboutValues {
            let table = targets.map(\.table).first { $0.name.rawValue == error.table }
            throw ImportFault(line: nil, error: store.report(error, table: table))
        }
    }

    /// The planner gets statistics of the new rows without waiting for autovacuum.
    func analyze() async throws {
        for target in targets { _ = try await store.client.write("ANALYZE \(target.table.qualifiedName)") }
    }

    /// Creates the accounts of new profiles. They cannot log in, since passwords are not imported.
    private func createAccounts() async throws {
        let schema = store.schema
        try await transaction.execute(
            """
            INSERT INTO \(schema.internal)._user (id, created_at)
            SELECT profile._id, profile._created_at FROM \(schema)."user" AS profile WHERE profile._revision = \(schema)._revision()
            ON CONFLICT DO NOTHING
            """
        )
    }
}

extension RecordStore {
    /// Runs `body` with an import, and commits it afterwards; if `body` throws, no record stays. New types and fields are
    /// made in an earlier transaction, so the import holds no schema locks. If the import fails, they are deleted,
    /// unless others have used them or the type is large.
    ///
    /// ```swift
    /// let count = try await store.withImport(creating: [movie]) { records in
    ///     try await records.add(rows, to: ImportColumns(type: movie.name, fields: [title, year]))
    /// }
    /// ```
    ///
    /// - Parameter access: The rules of new types, set before the types are made. Existing rules stay.
    ///
    /// Throws the errors of `body`, ``ImportFault`` for a reference to a missing record, and `SkyrowError`.
    package func withImport<Success>(
        creating types: [RecordType] = [],
        access: [RecordTypeName: ClassAccess] = [:],
        _ body: (RecordImport) async throws -> Success
    ) async throws -> Success {
        let request = SchemaRequest.create(types)
        let changesSchema = try !SchemaPlan(request, in: cache.current, mode: .development).isEmpty
        let known = cache.current
        var ruled: Set<RecordTypeName> = []
        do {
            for (type, access) in access.sorted(by: { $0.key < $1.key }) where known[type] == nil {
                if try await setRules(access, of: type) { ruled.insert(type) }
            }
            if changesSchema { _ = try await createTypes(types) }
            let (success, records) = try await patiently {
                try await client.withTransaction(retries: 0) { transaction in
                    _ = try await transaction.query("SET CONSTRAINTS ALL DEFERRED")
                    let records = RecordImport(transaction, of: self)
                    let success: Success
                    do {
                        success = try await body(records)
                        try await records.finish()
                    } catch let error as PostgresError {
                        // Not retryable: the rows are consumed.
                        throw report(error)
                    }
                    return (success, records)
                }
            }
            try await records.analyze()
            return success
        } catch {
            if changesSchema { await takeBack(types, madeSince: known, ruled: ruled) }
            guard let error = error as? PostgresError else { throw error }
            throw SkyrowError.schemaFailure(error) ?? report(error)
        }
    }

    /// Sets the exported rules of a type before it is made, unless it has rules already. Returns whether it set them.
    private func setRules(_ access: ClassAccess, of type: RecordTypeName) async throws -> Bool {
        try await client.withTransaction { transaction in
            _ = try await transaction.query("SELECT FROM \(schema.internal)._version WHERE name = 'rules' FOR UPDATE")
            let rules = try await ClassAccessTable.access(of: type, in: schema) { try await transaction.query($0) }
            // A row may contain only the note that access lists name relations.
            guard rules == ClassAccess() else { return false }
            let change = ClassAccessChange(type: type, to: access)
            for statement in ClassAccessTable.statements(access, of: change, in: schema) {
                _ = try await transaction.query(statement)
            }
            try await record(type, in: transaction)
            return true
        }
    }

    /// Adds the type's new rules to the audit log.
    private func record(_ type: RecordTypeName, in transaction: PostgresTransaction) async throws {
        let event = AuditEvent(.rule, by: .operator)
        _ = try await transaction.query(ClassAccessTable.recording(event, of: type, in: schema))
    }

    /// Deletes the types, their rules, and the fields that a failed import made and that are not used.
    private func takeBack(_ types: [RecordType], madeSince known: SchemaCatalog, ruled: Set<RecordTypeName>) async {
        // A type stays while a field refers to it, and new types may refer to each other.
        for type in types {
            for (field, fieldType) in type.fields.sorted(by: { $0.key < $1.key }) where known[type.name]?[field] == nil
            {
                guard let column = try? SQLIdentifier(field.rawValue) else { continue }
                let isUsed: SQL
                if known[type.name] != nil {
                    isUsed = "\(column) IS NOT NULL"
                } else if case .reference = fieldType {
                    isUsed = "true"
                } else {
                    continue
                }
                await takeBack([.common(.deleteField(field, of: type.name))], of: type.name, unless: isUsed)
            }
        }
        for type in types where known[type.name] == nil {
            let rules = ruled.contains(type.name) ? [SchemaFileChange.setAccess(ClassAccess(), of: type.name)] : []
            await takeBack([.deleteType(type.name)] + rules, of: type.name, unless: "true")
        }
        try? await cache.reload(.types(SchemaRequest.create(types).types))
    }

    private func takeBack(_ changes: [SchemaFileChange], of type: RecordTypeName, unless isUsed: SQL) async {
        do {
            try await patiently {
                try await client.withTransaction { transaction in
                    try await transaction.lockSchema(schema)
                    try await transaction.limitLockWaits()
                    let table = try SchemaChange.table(type, schema)
                    _ = try await transaction.query("LOCK TABLE \(table) IN ACCESS EXCLUSIVE MODE")
                    let isLarge = try await !LargeTables.types(
                        among: [type],
                        in: schema,
                        beyond: largeTableBound,
                        in: transaction
                    ).isEmpty
                    guard !isLarge, try await transaction.query("SELECT FROM \(table) WHERE \(isUsed) LIMIT 1").isEmpty
                    else {
                        return
                    }
                    for statement in try SchemaFileChange.statements(for: changes, in: schema) {
                        _ = try await transaction.query(statement)
                    }
                    for case .setAccess(_, let type) in changes { try await record(type, in: transaction) }
                    _ = try await transaction.query("SELECT \(schema)._notify('schema', '')")
                }
            }
        } catch {
            logger.warning(
                "The tables of a failed import could not be deleted",
                metadata: ["type": "\(type)", "error": "\(error)"]
            )
        }
    }
}

extension PostgresTransaction {
    /// Performs the transfers, and returns the number of rows of the first one.
    func copyIn(_ transfers: [ImportTarget.Transfer]) async throws -> Int {
        var count: Int?
        for transfer in transfers {
            let rows = try await copyIn(transfer.statement, chunks: transfer.chunk)
            count = count ?? rows
        }
        return count ?? 0
    }
}

extension SkyrowError {
    static func noType(_ type: RecordTypeName) -> SkyrowError {
        SkyrowError(.incompatibleSchema, "The record type \(type) does not exist.")
    }
}
