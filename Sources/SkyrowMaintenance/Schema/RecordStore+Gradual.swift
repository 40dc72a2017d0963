import SkyrowModel
import SkyrowPostgres
import SkyrowStore

/// Changes of large tables during reads and writes (Documentation/Decisions/schema-and-migrations.md).
///
/// Each statement blocks other users of a table only as long as a catalogue change takes.
extension RecordStore {
    /// Returns what prevents a plan from running during reads and writes.
    func obstacles(to schedule: SchemaSchedule, in transaction: PostgresTransaction) async throws -> [String] {
        var obstacles = schedule.obstacles
        guard !schedule.later.isEmpty else { return obstacles }
        if !client.hasSessions {
            obstacles.append(
                "Changing large tables needs a connection without a pooler in transaction mode. Connect to PostgreSQL itself, "
                    + "or add --lock-tables while the service is not used."
            )
        }
        for step in schedule.later {
            guard let (type, field) = step.convertedColumn else { continue }
            let former = schedule.formerNames[type] ?? type
            let name = schedule.formerFields[type]?[field] ?? field
            for dependent in try await dependents(on: name, of: former, in: transaction) {
                obstacles.append(
                    "\(type).\(field): \(dependent) depends on the column, which is replaced by a new one since \(type) is "
                        + "large. Drop it first, or add --lock-tables while the service is not used."
                )
            }
        }
        return obstacles
    }

    /// Performs the remaining steps of a plan, each complete in itself.
    func perform(_ steps: [SchemaSchedule.Step], allowingLoss: Bool, _ progress: () -> Void) async throws {
        guard !steps.isEmpty else { return }
        let isDone: Void? = try await client.withTurn(at: "\(schema.internal)._lock") { turn in
            try await client.withSession { session in
                let run = GradualRun(store: self, session: session, allowsLoss: allowingLoss)
                try await run.clear()
                for step in steps {
                    try await turn.requireHeld()
                    try await run.perform(step)
                    progress()
                }
            }
        }
        guard isDone != nil else {
            throw SkyrowError(
                .incompatibleSchema,
                "Another 'skyrow schema apply' is changing large tables; wait for it to finish."
            )
        }
    }

    /// Returns the dependents of a column that would block its replacement, as PostgreSQL describes them.
    private func dependents(
        on field: FieldName,
        of type: RecordTypeName,
        in transaction: PostgresTransaction
    ) async throws -> [String] {
        try await transaction.query(
            """
            SELECT DISTINCT pg_describe_object(classid, objid, objsubid)
            FROM pg_catalog.pg_attribute AS field
            JOIN pg_catalog.pg_depend ON refclassid = 'pg_class'::regclass AND refobjid = attrelid AND refobjsubid = attnum
            WHERE attrelid = to_regclass(\(literal: "\(schema.quoted).\(try SQLIdentifier(type.rawValue).quoted)"))
                AND attname = \(PostgresName(field.rawValue))
                AND CASE classid
                    -- The default of the column itself, and the words of a text, which are dropped with it.
                    WHEN 'pg_attrdef'::regclass THEN NOT EXISTS (
                        SELECT FROM pg_catalog.pg_attrdef AS expression JOIN pg_catalog.pg_attribute AS other
                            ON other.attrelid = adrelid AND other.attnum = adnum
                        WHERE expression.oid = objid AND (adnum = field.attnum OR \(StoredWords.isColumn("other")))
                    )
                    WHEN 'pg_constraint'::regclass THEN NOT EXISTS (
                        SELECT FROM pg_catalog.pg_constraint
                        WHERE oid = objid AND conrelid = field.attrelid AND conkey = ARRAY[field.attnum]
                            AND (contype = 'f' OR contype = 'c' AND \(TextLanguage.isKept))
                    )
                    -- Indexes that are built again, and the sequence of the column.
                    WHEN 'pg_class'::regclass THEN NOT EXISTS (
                        SELECT FROM pg_catalog.pg_class LEFT JOIN pg_catalog.pg_index ON indexrelid = pg_class.oid
                        WHERE pg_class.oid = objid AND (relkind = 'S' OR relkind = 'i' AND (
                            \(Self.isRebuiltIndex) OR indkey[0] = field.attnum AND indnatts = 1
                                AND pg_get_expr(indpred, indrelid) IN (
                                    format('(%I IS NOT NULL)', field.attname), format('(%s IS NOT NULL)', field.attname)
                                )
                        ))
                    )
                    -- What database logins have, which is taken away before and made again by 'skyrow policies apply'.
                    WHEN 'pg_policy'::regclass THEN NOT EXISTS (\(Self.policies(of: type, in: schema)))
                    WHEN 'pg_trigger'::regclass THEN NOT EXISTS (\(Self.policies(of: type, in: schema)))
                    WHEN 'pg_rewrite'::regclass THEN NOT EXISTS (
                        SELECT FROM pg_catalog.pg_rewrite JOIN pg_catalog.pg_class ON pg_class.oid = ev_class
                        JOIN pg_catalog.pg_namespace ON pg_namespace.oid = relnamespace
                        WHERE pg_rewrite.oid = objid AND nspname = \(PostgresName(schema.name + "_visible"))
                    )
                    ELSE true
                END
            UNION ALL
            SELECT 'that it must have a value' FROM pg_catalog.pg_attribute AS field
            WHERE attrelid = to_regclass(\(literal: "\(schema.quoted).\(try SQLIdentifier(type.rawValue).quoted)"))
                AND attname = \(PostgresName(field.rawValue)) AND attnotnull AND attidentity = '' AND NOT EXISTS (
                    SELECT FROM pg_catalog.pg_attrdef
                    WHERE adrelid = attrelid AND adnum = attnum AND starts_with(pg_get_expr(adbin, adrelid), 'nextval(')
                )
            UNION ALL
            SELECT 'a right to it' FROM pg_catalog.pg_attribute AS field
            WHERE attrelid = to_regclass(\(literal: "\(schema.quoted).\(try SQLIdentifier(type.rawValue).quoted)"))
                AND attname = \(PostgresName(field.rawValue)) AND attacl IS NOT NULL
                AND NOT EXISTS (\(Self.policies(of: type, in: schema)))
            UNION ALL
            SELECT 'its being in parts' FROM pg_catalog.pg_class
            WHERE oid = to_regclass(\(literal: "\(schema.quoted).\(try SQLIdentifier(type.rawValue).quoted)")) AND relkind = 'p'
            """
        ).decodeColumn(0, as: String.self)
    }

    /// The condition that an index of plain columns can be rebuilt from its description.
    fileprivate static let isRebuiltIndex: SQL = """
        indexprs IS NULL AND indpred IS NULL AND indnatts = indnkeyatts AND indisvalid AND NOT indisprimary AND NOT EXISTS (
            SELECT FROM pg_catalog.pg_constraint WHERE conindid = indexrelid
        )
        """

    private static func policies(of type: RecordTypeName, in schema: SQLIdentifier) -> SQL {
        "SELECT FROM \(schema.internal)._policy AS made WHERE made.type = \(literal: type.rawValue)"
    }
}

/// Runs the steps of a plan on the connection that holds their lock.
private struct GradualRun {
    let store: RecordStore
    let session: PostgresSession
    let allowsLoss: Bool

    private var client: PostgresClient { store.client }
    private var schema: SQLIdentifier { store.schema }

    /// Drops what an interrupted run left.
    func clear() async throws {
        let left = try await session.query(
            """
            SELECT FROM pg_catalog.pg_attribute JOIN pg_catalog.pg_class ON pg_class.oid = attrelid
            WHERE relnamespace = \(schema.namespace)
                AND starts_with(attname, \(ColumnInMaking.prefix)) AND NOT attisdropped
            UNION ALL
            SELECT FROM pg_catalog.pg_trigger JOIN pg_catalog.pg_class ON pg_class.oid = tgrelid
            WHERE relnamespace = \(schema.namespace)
                AND tgname = \(PostgresName(ColumnInMaking.triggerName.name))
            """
        )
        if !left.isEmpty { try await briefly([ColumnInMaking.clearing(schema)]) }
    }

    func perform(_ step: SchemaSchedule.Step) async throws {
        switch step {
        case .convert(let field, let conversion, let type):
            try await convert(field, conversion, to: conversion.to, of: type)
        case .widenColumn(let field, let target, let type):
            try await convert(field, nil, to: target, of: type)
        case .refer(let field, let conversion, let type):
            try await refer(field, conversion, of: type)
        case .buildIndex(let index, let type):
            let base = ([type.rawValue] + index.columns.map(\.name) + ["idx"]).joined(separator: "_")
            try await build(named: try await freeName(base)) { name in
                try index.creation(named: name, on: SchemaChange.table(type, schema))
            }
        case .buildReferenceIndex(let field, let type):
            try await buildReferenceIndex(field, of: type)
        case .buildPart(let part, let type):
            let (columns, condition): (SQL, SQL) =
                part == .ownerIndex
                ? ("_owner, _created_at", " WHERE _owner IS NOT NULL") : ("_database, _created_at", "")
            let base = "\(type)_\(part == .ownerIndex ? "_owner" : "_database")__created_at_idx"
            try await build(named: try await freeName(base)) { name in
                "CREATE INDEX CONCURRENTLY \(name) ON \(try SchemaChange.table(type, schema)) (\(columns))\(condition)"
            }
        case .validateReference(let field, let type): try await validateReferences(field, of: type)
        case .validate(let name, let type): try await validate(name, of: type)
        case .setNotNull(let column, let type): try await setNotNull(column.identifier, of: type)
        case .addSequence(let field, let type): try await addSequence(field, of: type)
        case .change(let change): try await briefly(try change.ownStatements(in: schema))
        }
    }

    // MARK: Columns

    private func convert(
        _ field: FieldName,
        _ conversion: FieldConversion?,
        to target: FieldType,
        of type: RecordTypeName
    ) async throws {
        let column = try ColumnInMaking(field, conversion, to: target, of: type, in: schema)
        try await briefly(try column.beginning())
        do {
            try await requireFit(field, conversion, of: type)
            if let batch = try column.replacing() { try await change(batch) }
            try await change(column.filling())
            let (comment, indexes) = try await surroundings(of: column)
            var made: [(made: SQLIdentifier, name: SQLIdentifier)] = []
            for (name, definition) in indexes where !(conversion?.indexes.contains(name) ?? false) {
                let temporary = try await freeName("\(ColumnInMaking.prefix)\(name)")
                try await build(named: temporary) { _ in
                    try definition.replacing(field.rawValue, with: column.name.name)
                        .creation(named: temporary, on: column.table)
                }
                made.append((temporary, try SQLIdentifier(name)))
            }
            try await briefly(
                try column.ending(foreignKeys: conversion?.foreignKeys ?? [], indexes: made, comment: comment)
            )
        } catch {
            // Without the trigger, values that do not fit would no longer be refused.
            try? await briefly([ColumnInMaking.clearing(schema)])
            throw error
        }
        _ = try await session.query("ANALYZE \(column.table) (\(column.column))")
    }

    /// Throws `114 IncompatibleSchema` if values would be lost and loss is not allowed.
    private func requireFit(_ field: FieldName, _ conversion: FieldConversion?, of type: RecordTypeName) async throws {
        guard !allowsLoss, let conversion, conversion.isNarrowing else { return }
        let count = try SchemaLoss.misfits(field, conversion, type).count(in: schema)
        let lost = try await session.query(count).decode(row: 0, column: 0, as: Int64.self)
        guard lost == 0 else {
            throw SkyrowError(
                .incompatibleSchema,
                "\(type).\(field) now has \(lost) values that would be lost; review the changes again."
            )
        }
    }

    /// Returns a column's comment, and the indexes to rebuild, by name.
    private func surroundings(
        of column: ColumnInMaking
    ) async throws -> (comment: String?, indexes: [(name: String, definition: DocumentedIndex)]) {
        let rows = try await session.query(
            """
            SELECT col_description(field.attrelid, field.attnum), index_class.relname::text, amname::text, indisunique, ARRAY(
                SELECT attname::text FROM unnest(indkey::smallint[]) WITH ORDINALITY AS key (number, place)
                JOIN pg_catalog.pg_attribute ON attrelid = indrelid AND attnum = key.number ORDER BY place
            ), ARRAY(SELECT unnest(indoption::smallint[]) & 1 = 1)
            FROM pg_catalog.pg_attribute AS field
            LEFT JOIN (
                pg_catalog.pg_index JOIN pg_catalog.pg_class AS index_class ON index_class.oid = indexrelid
                JOIN pg_catalog.pg_am ON pg_am.oid = relam
            ) ON indrelid = field.attrelid AND field.attnum = ANY (indkey::smallint[]) AND \(RecordStore.isRebuiltIndex)
            WHERE field.attrelid = to_regclass(\(literal: column.table.text)) AND attname = \(PostgresName(column.field.rawValue))
            ORDER BY 2
            """
        )
        var indexes: [(name: String, definition: DocumentedIndex)] = []
        for row in 0..<rows.rowCount {
            guard let name = try rows.decode(row: row, column: 1, as: String?.self) else { continue }
            let method = DocumentedIndex.Method(rawValue: try rows.decode(row: row, column: 2))
            let columns = try rows.decode(row: row, column: 4, as: [String].self)
            let descending = try rows.decode(row: row, column: 5, as: [Bool].self)
            let definition = DocumentedIndex(
                zip(columns, descending).map { DocumentedIndex.Column($0, isDescending: $1) },
                isUnique: try rows.decode(row: row, column: 3),
                method: method ?? .btree
            )
            indexes.append((name, definition))
        }
        return (try rows.decode(row: 0, column: 0, as: String?.self), indexes)
    }

    private func refer(_ field: FieldName, _ conversion: FieldConversion, of type: RecordTypeName) async throws {
        let table = try SchemaChange.table(type, schema)
        let column = try SQLIdentifier(field.rawValue)
        try await requireFit(field, conversion, of: type)
        let refers = conversion.to.target != nil || conversion.to.hasForeignKey
        if !conversion.indexes.isEmpty || refers { try await buildReferenceIndex(field, of: type) }
        // From here on dangling references are refused.
        try await briefly(try conversion.statements(field, of: type, in: schema, isGradual: true))
        do {
            try await requireFit(field, conversion, of: type)
        } catch {
            let made = try await unvalidatedKeys(field, of: type)
            try await briefly(made.map { "ALTER TABLE \(table) DROP CONSTRAINT \($0)" })
            throw error
        }
        try await change(
            RowBatch(
                table: table,
                assignment: "\(column) = NULL",
                condition:
                    "record.\(column) IS NOT NULL AND NOT \(try conversion.fits("record.\(column)", in: schema))",
                keepsRevision: false
            )
        )
        try await validateReferences(field, of: type)
    }

    private func addSequence(_ field: FieldName, of type: RecordTypeName) async throws {
        let column = try ColumnInMaking(field, nil, to: .integer, of: type, in: schema)
        try await briefly(column.beginningSequence())
        do {
            try await change(column.counting())
            try await setNotNull(column.name, of: type)
            try await build(named: try await freeName("\(type)_\(field)_idx")) { name in
                """
                CREATE UNIQUE INDEX CONCURRENTLY \(name) ON \(column.table) (\(column.name)) WHERE \(column.name) IS NOT NULL
                """
            }
            try await briefly(try column.endingSequence())
        } catch {
            try? await briefly([ColumnInMaking.clearing(schema)])
            throw error
        }
        _ = try await session.query("ANALYZE \(column.table) (\(column.column))")
    }

    private func setNotNull(_ column: SQLIdentifier, of type: RecordTypeName) async throws {
        let table = try SchemaChange.table(type, schema)
        let check: SQLIdentifier = "_becoming_not_null"
        // With a valid check, PostgreSQL does not scan the rows for SET NOT NULL.
        try await briefly([
            "ALTER TABLE \(table) DROP CONSTRAINT IF EXISTS \(check)",
            "ALTER TABLE \(table) ADD CONSTRAINT \(check) CHECK (\(column) IS NOT NULL) NOT VALID",
        ])
        do {
            try await validate(check.name, of: type)
            try await briefly(["ALTER TABLE \(table) ALTER COLUMN \(column) SET NOT NULL"])
        } catch {
            try? await briefly(["ALTER TABLE \(table) DROP CONSTRAINT IF EXISTS \(check)"])
            throw error
        }
        try await briefly(["ALTER TABLE \(table) DROP CONSTRAINT \(check)"])
    }

    // MARK: Constraints

    private func validateReferences(_ field: FieldName, of type: RecordTypeName) async throws {
        for key in try await unvalidatedKeys(field, of: type) { try await validate(key.name, of: type) }
    }

    private func unvalidatedKeys(_ field: FieldName, of type: RecordTypeName) async throws -> [SQLIdentifier] {
        try await session.query(
            """
            SELECT conname FROM pg_catalog.pg_constraint JOIN pg_catalog.pg_attribute
                ON attrelid = conrelid AND conkey = ARRAY[attnum]
            WHERE contype = 'f' AND NOT convalidated AND attname = \(PostgresName(field.rawValue))
                AND conrelid = to_regclass(\(literal: try SchemaChange.table(type, schema).text))
            """
        ).decodeColumn(0, as: PostgresName.self).map { try SQLIdentifier($0.text) }
    }

    /// Reads all rows under a lock that does not conflict with reads and writes.
    private func validate(_ name: String, of type: RecordTypeName) async throws {
        _ = try await session.query(
            "ALTER TABLE \(try SchemaChange.table(type, schema)) VALIDATE CONSTRAINT \(try SQLIdentifier(name))"
        )
    }

    // MARK: Indexes

    private func buildReferenceIndex(_ field: FieldName, of type: RecordTypeName) async throws {
        let column = try SQLIdentifier(field.rawValue)
        try await build(named: try await freeName("\(type)_\(field)_idx")) { name in
            """
            CREATE INDEX CONCURRENTLY \(name) ON \(try SchemaChange.table(type, schema)) (\(column)) WHERE \(column) IS NOT NULL
            """
        }
    }

    private func build(named name: SQLIdentifier, _ statement: (SQLIdentifier) throws -> SQL) async throws {
        do {
            _ = try await session.query(try statement(name))
        } catch {
            // An unfinished index would keep its name and still be maintained.
            _ = try? await session.query("DROP INDEX CONCURRENTLY IF EXISTS \(schema).\(name)")
            throw error
        }
    }

    /// Returns the name that PostgreSQL would give an index, with a number if it is taken.
    private func freeName(_ base: String) async throws -> SQLIdentifier {
        let short = base.utf8.count > 60 ? String(base.prefix(56)) + "_idx" : base
        for number in 0... {
            let name = try SQLIdentifier(number == 0 ? short : "\(short.prefix(59))\(number)")
            let taken = try await session.query(
                """
                SELECT FROM pg_catalog.pg_class WHERE relname = \(PostgresName(name.name))
                    AND relnamespace = \(schema.namespace)
                """
            )
            if taken.isEmpty { return name }
        }
        throw SkyrowError.unexpected
    }

    // MARK: Transactions

    /// Changes the catalogue in one short transaction, which notifies every process.
    private func briefly(_ statements: [SQL]) async throws {
        try await patiently {
            try await client.withTransaction { transaction in
                try await transaction.lockSchema(schema)
                try await transaction.limitLockWaits()
                _ = try await transaction.query("SELECT set_config('search_path', 'pg_catalog', true)")
                for statement in statements { _ = try await transaction.query(statement) }
                _ = try await transaction.query("SELECT \(schema)._notify('schema', '')")
            }
        }
    }

    /// The target duration of a batch, during which its records are locked.
    private static let batchTime = Duration.milliseconds(25)

    private func change(_ batch: RowBatch) async throws {
        var last = ""
        var count = 200
        while true {
            let start = ContinuousClock.now
            let result = try await patiently {
                try await client.withTransaction { transaction in
                    try await transaction.limitLockWaits()
                    _ = try await transaction.query(
                        """
                        SELECT set_config('skyrow.keeps_revision', \(batch.keepsRevision ? "on" : "off"), true),
                            set_config('extra_float_digits', '1', true),
                            -- By the primary key, also when the statistics of the table suggest another plan.
                            set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true),
                            set_config('enable_mergejoin', 'off', true)
                        """
                    )
                    return try await transaction.query(batch.statement(after: last, count: count))
                }
            }
            guard let id = try result.decode(row: 0, column: 0, as: String?.self) else { return }
            last = id
            let time = ContinuousClock.now - start
            count =
                time > Self.batchTime * 2 ? max(count / 2, 20) : time < Self.batchTime ? min(count * 2, 2000) : count
        }
    }
}

extension SchemaSchedule.Step {
    /// The column that is replaced.
    fileprivate var convertedColumn: (RecordTypeName, FieldName)? {
        switch self {
        case .convert(let field, _, let type), .widenColumn(let field, _, let type): (type, field)
        default: nil
        }
    }
}

extension DocumentedIndex {
    fileprivate func replacing(_ name: String, with newName: String) -> DocumentedIndex {
        DocumentedIndex(
            columns.map { Column($0.name == name ? newName : $0.name, isDescending: $0.isDescending) },
            isUnique: isUnique,
            method: method
        )
    }
}
