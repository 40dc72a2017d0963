internal import Logging
package import SkyrowModel
package import SkyrowPostgres
package import SkyrowStore

/// Records that are imported together, with the types and fields they need: all of it or nothing.
///
/// Lent by ``RecordStore/withImport(creating:_:)`` and not `Sendable`, like the transaction that it is.
package final class RecordImport {
    private let store: RecordStore
    private let transaction: PostgresTransaction
    private var targets: [ImportTarget] = []

    package init(_ transaction: PostgresTransaction, of store: RecordStore) {
        self.store = store
        self.transaction = transaction
    }

    /// Adds records of a type, through COPY, and returns how many they were.
    ///
    /// A record may refer to another one of the import that comes later. Throws ``ImportFault`` for the first record
    /// that cannot be imported, `114 IncompatibleSchema` for a type or field that does not exist, and what `rows`
    /// throws.
    ///
    /// - Parameter progress: gets after each part how many of these records are in.
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

    /// Lets the sequence of a field count on from a number at least.
    package func advanceSequence(_ field: FieldName, of type: RecordTypeName, to number: Int64) async throws {
        guard let target = targets.first(where: { $0.table.name == type }),
            let column = target.sequences.first(where: { $0.field == field })
        else { return }
        try await store.reporting {
            _ = try await transaction.query(target.advancing(column, to: "\(number)"))
        }
    }

    /// What only makes sense when all records are there.
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

    /// The planner has statistics of the new rows at once and not when autovacuum comes by.
    func analyze() async throws {
        for target in targets { _ = try await store.client.write("ANALYZE \(target.table.qualifiedName)") }
    }

    /// Every profile has an account; these cannot log in, since passwords are not imported.
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
    /// Lends an import and commits what it did when `body` returns; no record of it stays when `body` throws. Types and fields that are
    /// new are made before, so that others wait for no import; when it fails they go, unless others have used them or the type is
    /// large.
    ///
    /// ```swift
    /// let count = try await store.withImport(creating: [movie]) { records in
    ///     try await records.add(rows, to: ImportColumns(type: movie.name, fields: [title, year]))
    /// }
    /// ```
    ///
    /// - Parameter access: the rules of new types, which hold before there is such a type; those that there are stay.
    ///
    /// Throws what `body` throws, ``ImportFault`` for a reference to a record that never came, and
    /// `SkyrowError`.
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
            if changesSchema { _ = try await createTypes(SchemaCreateRequest(types: types)) }
            let (success, records) = try await patiently {
                try await client.withTransaction(retries: 0) { transaction in
                    _ = try await transaction.query("SET CONSTRAINTS ALL DEFERRED")
                    let records = RecordImport(transaction, of: self)
                    let success: Success
                    do {
                        success = try await body(records)
                        try await records.finish()
                    } catch let error as PostgresError {
                        // Not to be tried again: the rows are gone.
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

    /// Gives a type that is about to be made the rules that it had where it was exported, unless it has some already; returns whether
    /// it had none.
    private func setRules(_ access: ClassAccess, of type: RecordTypeName) async throws -> Bool {
        try await client.withTransaction { transaction in
            _ = try await transaction.query("SELECT FROM \(schema.internal)._version WHERE name = 'rules' FOR UPDATE")
            let known = try await transaction.query(
                "SELECT access FROM (\(ClassAccess.rows(in: schema))) AS item WHERE type = \(type.rawValue)"
            )
            // A row may say no more than that lists of its records name relations.
            let rules = known.isEmpty ? ClassAccess() : ClassAccess(storedJSON: try known.decode(row: 0, column: 0))
            guard rules == ClassAccess() else { return false }
            let change = ClassAccessChange(type: type, to: access)
            for statement in ClassAccessTable.statements(access, of: change, in: schema) {
                _ = try await transaction.query(statement)
            }
            try await record(type, in: transaction)
            return true
        }
    }

    /// Stores in the audit log what the rules of a type are now.
    private func record(_ type: RecordTypeName, in transaction: PostgresTransaction) async throws {
        let event = AuditEvent(.rule, by: .operator)
        _ = try await transaction.query(ClassAccessTable.recording(event, of: type, in: schema))
    }

    /// Deletes the types, their rules, and the fields that an import has made and that are not used.
    private func takeBack(
        _ types: [RecordType],
        madeSince known: SchemaCatalog,
        ruled: Set<RecordTypeName>
    ) async {
        // A type stays as long as a field refers to it, and new types may refer to each other.
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
                "What an import has made could not be deleted",
                metadata: ["type": "\(type)", "error": "\(error)"]
            )
        }
    }
}

extension PostgresTransaction {
    /// Carries out some transfers and returns the number of rows of the first.
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
        SkyrowError(.incompatibleSchema, "There is no record type \(type).")
    }
}
