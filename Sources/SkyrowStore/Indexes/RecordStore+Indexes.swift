package import SkyrowModel
internal import SkyrowPostgres
package import SkyrowProtocol

extension RecordStore {
    /// `schema:index:create`: records a requested index, which an ``IndexBuilder`` then builds.
    ///
    /// A repeated request means the same index, and retries a failed build. Throws `110 ResourceNotFound` for a missing type,
    /// `108 InvalidArgument` for an invalid definition, and `111 NotSupported` if the service has no PostgreSQL sessions for
    /// builds.
    package func createIndex(_ wanted: IndexDefinition) async throws(SkyrowError) -> RecordIndex {
        guard client.hasSessions else { throw .noSessionsForIndexes }
        guard try await table(of: wanted.type) != nil else { throw .noSuchType(wanted.type) }
        return try await reporting(special: SkyrowError.schemaFailure) {
            try await client.withTransaction { transaction in
                try await transaction.lockSchema(schema)
                let catalog = try await SchemaCatalog.load(.types([wanted.type]), of: schema, in: transaction)
                guard let table = catalog[wanted.type] else { throw SkyrowError.noSuchType(wanted.type) }
                let plan = try IndexPlan(
                    wanted,
                    on: table,
                    rows: try await indexRows(of: wanted.type, in: transaction),
                    taken: try await takenNames(in: transaction),
                    serverVersion: try await transaction.query("SELECT current_setting('server_version_num')::integer")
                        .decode(row: 0, column: 0, as: Int.self)
                )
                let name: String
                switch plan.outcome {
                case .existing(let existing):
                    name = existing
                case .again(let failed):
                    name = failed
                    let again = IndexRecord(.building, hasBegun: true)
                    try await write(
                        IndexPlan.Row(name: name, definition: plan.definition, record: again),
                        in: transaction
                    )
                case .new(let new, let replaced):
                    name = new
                    if let replaced { try await deleteRow(replaced, in: transaction) }
                    try await requireExtension(of: plan.definition, in: transaction)
                    let row = IndexPlan.Row(name: name, definition: plan.definition, record: IndexRecord())
                    try await write(row, in: transaction)
                }
                guard let index = try await indexes(of: wanted.type, named: name, in: transaction).first else {
                    throw SkyrowError.unexpected
                }
                return index
            }
        }
    }

    /// `schema:index:delete`: records the deletion of an index, which an ``IndexBuilder`` then drops.
    ///
    /// Throws `110 ResourceNotFound` if there is no index of that name, and `108 InvalidArgument` for an index that every table
    /// has or that belongs to a constraint, and without `force` for an index not created by the service.
    package func deleteIndex(_ deletion: IndexDeletion) async throws(SkyrowError) -> RecordIndex {
        guard client.hasSessions else { throw .noSessionsForIndexes }
        return try await reporting(special: SkyrowError.schemaFailure) {
            try await client.withTransaction { transaction in
                try await transaction.lockSchema(schema)
                let catalog = try await SchemaCatalog.load(of: schema, in: transaction)
                let table = catalog.tables.values.first { $0.index(named: deletion.name) != nil }
                let row = try await indexRow(named: deletion.name, in: transaction)
                if let table, let index = table.index(named: deletion.name) {
                    try index.requireDeletable(of: table, isOurs: row != nil, forces: deletion.forces)
                }
                if row == nil, table == nil { throw SkyrowError(.resourceNotFound, "The index does not exist.") }
                // The service has created the index of this name if a build was ever started.
                if let row, !row.record.hasBegun {
                    try await deleteRow(deletion.name, in: transaction)
                } else {
                    let type = row?.type ?? table?.name.rawValue ?? ""
                    _ = try await transaction.query(
                        """
                        INSERT INTO \(schema.internal)._index (name, type, state, has_begun)
                        VALUES (\(deletion.name), \(type), 'deleting', true)
                        ON CONFLICT (name) DO UPDATE SET state = 'deleting', changed_at = now()
                        """
                    )
                }
                try await announceIndexes(in: transaction)
                guard let type = try? RecordTypeName(row?.type ?? table?.name.rawValue ?? "") else {
                    throw SkyrowError.unexpected
                }
                return RecordIndex(name: deletion.name, type: type, state: .deleting, definition: row?.definition)
            }
        }
    }

    /// `schema:index:list`: lists the indexes of a type, or of all, without those that every table has.
    ///
    /// Throws `110 ResourceNotFound` if the type does not exist.
    package func indexes(of type: RecordTypeName? = nil) async throws(SkyrowError) -> [RecordIndex] {
        if let type, try await table(of: type) == nil { throw .noSuchType(type) }
        return try await reporting {
            try await client.withTransaction { try await indexes(of: type, in: $0) }
        }
    }

    // MARK: Rows

    private func indexRows(
        of type: RecordTypeName,
        in transaction: PostgresTransaction
    ) async throws -> [IndexPlan.Row] {
        let result = try await transaction.query(
            "SELECT \(IndexRow.columns) FROM \(schema.internal)._index AS item WHERE type = \(type.rawValue) ORDER BY name"
        )
        return try (0..<result.rowCount).map { number in
            let row = try IndexRow(result, row: number, in: schema)
            return IndexPlan.Row(name: row.name, definition: row.definition, record: row.record)
        }
    }

    private func indexRow(named name: String, in transaction: PostgresTransaction) async throws -> IndexRow? {
        let result = try await transaction.query(
            "SELECT \(IndexRow.columns) FROM \(schema.internal)._index AS item WHERE name = \(name)"
        )
        return result.isEmpty ? nil : try IndexRow(result, row: 0, in: schema)
    }

    private func takenNames(in transaction: PostgresTransaction) async throws -> Set<String> {
        let names = try await transaction.query(
            """
            SELECT relname::text FROM pg_catalog.pg_class WHERE relnamespace = \(schema.namespace)
            UNION SELECT name FROM \(schema.internal)._index
            """
        ).decodeColumn(0, as: String.self)
        return Set(names)
    }

    private func write(_ row: IndexPlan.Row, in transaction: PostgresTransaction) async throws {
        guard let definition = row.definition else { return }
        _ = try await transaction.query(
            """
            INSERT INTO \(schema.internal)._index (name, type, kind, fields, is_unique, nulls_equal, has_begun)
            VALUES (\(row.name), \(definition.type.rawValue), \(definition.kind.rawValue),
                \(definition.fields.map(\.text)), \(definition.isUnique), \(definition.treatsNullsAsEqual),
                \(row.record.hasBegun))
            ON CONFLICT (name) DO UPDATE SET state = 'building', attempts = 0, has_begun = EXCLUDED.has_begun,
                reason = NULL, duplicates = NULL, sql_state = NULL, changed_at = now()
            """
        )
        try await announceIndexes(in: transaction)
    }

    private func deleteRow(_ name: String, in transaction: PostgresTransaction) async throws {
        _ = try await transaction.query("DELETE FROM \(schema.internal)._index WHERE name = \(name)")
    }

    private func announceIndexes(in transaction: PostgresTransaction) async throws {
        _ = try await transaction.query(IndexBuilder.signal)
    }

    private func requireExtension(of definition: IndexDefinition, in transaction: PostgresTransaction) async throws {
        guard definition.kind == .trigram else { return }
        _ = try await transaction.query(Trigrams.requirement)
    }

    // MARK: The list

    private func indexes(
        of type: RecordTypeName?,
        named name: String? = nil,
        in transaction: PostgresTransaction
    ) async throws -> [RecordIndex] {
        let catalog = try await SchemaCatalog.load(
            type.map { .types([$0]) } ?? .everything,
            of: schema,
            in: transaction
        )
        let condition: SQL = name.map { "name = \($0)" } ?? type.map { "type = \($0.rawValue)" } ?? "true"
        let result = try await transaction.query(
            """
            WITH present AS (
                SELECT index_class.relname::text AS name, record_table.relname::text AS type, index_class.oid, indisvalid,
                    pg_get_indexdef(index_class.oid) AS statement, pg_relation_size(index_class.oid) AS bytes,
                    phase, blocks_done, blocks_total
                FROM pg_catalog.pg_index
                JOIN pg_catalog.pg_class AS index_class ON index_class.oid = indexrelid
                JOIN pg_catalog.pg_class AS record_table ON record_table.oid = indrelid
                LEFT JOIN pg_catalog.pg_stat_progress_create_index AS progress ON index_relid = index_class.oid
                WHERE record_table.relnamespace = \(schema.namespace)
            )
            SELECT coalesce(item.name, present.name), coalesce(item.type, present.type), item.name IS NOT NULL,
                present.indisvalid, present.statement, present.bytes, present.phase, present.blocks_done,
                present.blocks_total, \(IndexRow.columns)
            FROM (SELECT * FROM present WHERE \(condition)) AS present
            FULL JOIN (SELECT * FROM \(schema.internal)._index WHERE \(condition)) AS item ON item.name = present.name
            ORDER BY 2, 1
            """
        )
        var indexes: [RecordIndex] = []
        for row in 0..<result.rowCount {
            let name = try result.decode(row: row, column: 0, as: String.self)
            guard let type = try? RecordTypeName(try result.decode(row: row, column: 1)), let table = catalog[type]
            else {
                continue
            }
            var index = RecordIndex(
                name: name,
                type: type,
                state: .foreign,
                bytes: try result.decode(row: row, column: 5),
                isValid: try result.decode(row: row, column: 3, as: Bool?.self) ?? false
            )
            if let phase = try result.decode(row: row, column: 6, as: String?.self) {
                index.progress = RecordIndex.Progress(
                    phase: phase,
                    blocksDone: try result.decode(row: row, column: 7),
                    blocksTotal: try result.decode(row: row, column: 8)
                )
            }
            let isOurs = try result.decode(row: row, column: 2, as: Bool.self)
            if isOurs {
                let item = try IndexRow(result, row: row, in: schema, from: 9)
                index.definition = item.definition
                index.attempts = item.record.attempts
                index.failure = item.record.failure
                index.state = RecordIndex.State(item.record.state)
                // Deleting a field drops its indexes before the builder updates their rows.
                if item.record.state == .ready, !index.isValid { continue }
            } else {
                if table.index(named: name)?.isBuiltIn(of: table) ?? true { continue }
                index.statement = try result.decode(row: row, column: 4, as: String?.self) ?? ""
            }
            indexes.append(index)
        }
        return indexes
    }
}

extension RecordIndex.State {
    fileprivate init(_ state: IndexRecord.State) {
        switch state {
        case .building: self = .building
        case .ready: self = .ready
        case .failed: self = .failed
        case .deleting: self = .deleting
        }
    }
}

extension TableIndex {
    /// Throws `108 InvalidArgument` for an index that must not be deleted.
    func requireDeletable(of table: RecordTable, isOurs: Bool, forces: Bool) throws(SkyrowError) {
        guard !isBuiltIn(of: table) else {
            throw .invalidArgument("This index is required by its record type or field and cannot be deleted.", "name")
        }
        guard !isConstraint else {
            throw .invalidArgument(
                "This index belongs to a constraint of the table; drop the constraint with psql.",
                "name"
            )
        }
        guard isOurs || forces else {
            throw .invalidArgument(
                "This index was not created by schema:index:create; send \"force\": true to delete it.",
                "force"
            )
        }
    }
}

extension SkyrowError {
    fileprivate static func noSuchType(_ type: RecordTypeName) -> SkyrowError {
        SkyrowError(.resourceNotFound, "The record type \(type) does not exist.")
    }

    static let noSessionsForIndexes = SkyrowError(
        .notSupported,
        """
        An index is built on a dedicated connection, which is not possible through a transaction-mode pooler: set \
        listen-database-url to the address of PostgreSQL itself.
        """
    )
}
