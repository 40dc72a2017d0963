package import SkyrowModel
package import SkyrowPostgres
package import SkyrowStore

/// One change that brings a database to a schema file; more than the ``SchemaChange``s that requests can make.
package enum SchemaFileChange: Hashable, Sendable {
    case common(SchemaChange)
    /// `ALTER TABLE note RENAME TO memo`
    case renameType(RecordTypeName, to: RecordTypeName)
    /// `DROP TABLE note`
    case deleteType(RecordTypeName)
    /// `ALTER TABLE note ALTER COLUMN stars TYPE bigint USING …`
    case convertField(FieldName, FieldConversion, of: RecordTypeName)
    /// `ALTER TABLE note DROP CONSTRAINT note_category_fkey, ADD FOREIGN KEY (category) REFERENCES … ON DELETE CASCADE
    /// …`, replacing the named foreign keys.
    case setDeleteRule(DeleteRule, FieldName, to: RecordTypeName, replacing: [String], of: RecordTypeName)
    /// `ALTER TABLE note DROP CONSTRAINT note_title_check, ADD CHECK (…)`, replacing the named checks. Its word indexes
    /// are rebuilt.
    case setTextLanguage(TextLanguage, isStored: Bool, FieldName, replacing: [String], of: RecordTypeName)
    /// `ALTER TABLE note ALTER COLUMN stars SET DEFAULT '0'`; nil drops the default.
    case setDefault(RecordValue?, FieldName, of: RecordTypeName)
    /// `COMMENT ON COLUMN note.stars IS '…'`, or on the table
    case setComment(String, FieldName?, of: RecordTypeName)
    /// `CREATE INDEX ON note (stars)`
    case createIndex(DocumentedIndex, of: RecordTypeName)
    /// `DROP INDEX note_stars_idx`, including its constraint if it has one.
    case deleteIndex(InventoryIndex, of: RecordTypeName)
    /// `DELETE FROM _class_rule WHERE type = 'note'; INSERT INTO _class_rule …`
    case setAccess(ClassAccess, of: RecordTypeName)
    /// `DELETE FROM _field_rule WHERE type = '*'; INSERT INTO _field_rule …`
    case setAccessOfAll(ClassAccess)
    /// `ALTER TABLE note REPLICA IDENTITY FULL`
    case setLive(LiveIdentity, of: RecordTypeName)
    /// `INSERT INTO _index …`: the index of a type's changes is built concurrently, or dropped.
    case setSync(Bool, of: RecordTypeName)
    /// The repair of drift.
    case repair(SchemaDrift)
}

extension SchemaFileChange {
    /// The approximate number of locks that the change holds until commit; counted in `pg_locks`.
    var locks: Int64 {
        switch self {
        case .common(let change): change.locks
        // The count includes types, defaults, constraints and triggers.
        case .deleteType: SchemaChange.locksPerDeletedType
        case .convertField, .setDeleteRule, .setTextLanguage, .repair: 4
        case .renameType, .setDefault, .setComment, .createIndex, .deleteIndex, .setLive, .setSync: 1
        // All rule changes together lock the rule tables once.
        case .setAccess, .setAccessOfAll: 0
        }
    }

    /// The approximate duration of the change, in milliseconds of a slow core.
    ///
    /// - Parameter isOfNewType: Whether the table is empty.
    func cost(isOfNewType: Bool) -> Int {
        switch self {
        case .common(let change): change.cost(isOfNewType: isOfNewType)
        case .deleteType: 25
        case .convertField(_, let conversion, _):
            conversion.rewritesRows || conversion.isNarrowing ? SchemaPieces.rewritingCost : 8
        case .setTextLanguage(_, let isStored, _, _, _):
            isStored && !isOfNewType ? SchemaPieces.rewritingCost : 6
        case .repair(let drift): if case .textOrder = drift.fault { SchemaPieces.rewritingCost } else { 6 }
        case .renameType: 15
        case .setDeleteRule, .createIndex: 8
        case .setAccess, .setAccessOfAll: 5
        case .setDefault, .setComment, .deleteIndex, .setLive, .setSync: 2
        }
    }

    var tableLocks: [TableLock] {
        guard let type = try? RecordTypeName(type) else { return [] }
        return switch self {
        case .common(let change): change.tableLocks
        case .renameType(let former, _): [TableLock(.renamed, former)]
        case .deleteType: [TableLock(.dropped, type)]
        case .convertField(let field, let conversion, _):
            [TableLock(.dropped, type, field)] + (conversion.to.target.map { [TableLock(.referred, $0)] } ?? [])
                + (conversion.to == .asset ? [TableLock(.files, type)] : [])
        case .setDeleteRule(_, let field, let target, _, _):
            [TableLock(.dropped, type, field), TableLock(.referred, target)]
        case .setTextLanguage, .setDefault, .createIndex, .deleteIndex, .setLive: [TableLock(.changed, type)]
        // A rule that names fields adds a trigger to the table.
        case .setAccess: [TableLock(.changed, type)]
        case .repair(let drift):
            if case .noComment = drift.fault { [] } else { [TableLock(.changed, type)] }
        case .setComment, .setAccessOfAll, .setSync: []
        }
    }

    /// Returns the statements of a plan of ``SchemaDifference``. Renames come first, as the others use the new names.
    package static func statements(
        ofPlan plan: [SchemaFileChange],
        in schema: SQLIdentifier,
        large: Set<RecordTypeName> = [],
        deletedLater: [RecordTypeName] = []
    ) throws -> [SQL] {
        let renames = plan.prefix(while: \.isRename)
        let others = Array(plan.dropFirst(renames.count))
        return try statements(for: Array(renames), in: schema, large: large)
            + statements(for: others, in: schema, large: large, deletedLater: deletedLater)
    }

    /// Returns the statements of several changes. Tables may refer to each other, so they are dropped last, in one statement.
    ///
    /// - Parameters:
    ///   - large: The types whose rows no statement may read or write.
    ///   - deletedLater: Types deleted by a later transaction; their references do not block this one's deletions.
    package static func statements(
        for changes: [SchemaFileChange],
        in schema: SQLIdentifier,
        large: Set<RecordTypeName> = [],
        deletedLater: [RecordTypeName] = []
    ) throws -> [SQL] {
        let common = changes.compactMap { change -> SchemaChange? in
            if case .common(let change) = change { change } else { nil }
        }
        let makes = common.filter(\.makes)
        var statements = try SchemaChange.statements(for: makes, in: schema, large: large)
        var deleted: [SQL] = []
        for change in changes {
            switch change {
            case .common(let change) where change.makes: break
            case .common(let change): statements += try SchemaChange.statements(for: [change], in: schema)
            case .deleteType(let type):
                // Related objects and references to the table go first.
                statements.append(SchemaChange.closing(type, schema))
                statements.append("SELECT \(schema)._delete_relations(\(literal: type.rawValue))")
                deleted.append(try SchemaChange.table(type, schema))
            case .renameType, .convertField, .setDeleteRule, .setTextLanguage, .setDefault, .setComment, .createIndex,
                .deleteIndex, .setAccess, .setAccessOfAll, .setLive, .setSync, .repair:
                let isLarge = (try? RecordTypeName(change.type)).map(large.contains) ?? false
                statements += try change.ownStatements(in: schema, isLarge: isLarge)
            }
        }
        if !deleted.isEmpty {
            if !deletedLater.isEmpty { statements.append(release(deleted, from: deletedLater, in: schema)) }
            statements.append("DROP TABLE \(deleted.joined(separator: ", "))")
        }
        return statements
    }

    /// Returns the statement that drops the foreign keys of some types, and of their relations, to the targets.
    private static func release(_ targets: [SQL], from types: [RecordTypeName], in schema: SQLIdentifier) -> SQL {
        let names = types.map { "\(literal: $0.rawValue)" as SQL }.joined(separator: ", ")
        let relations = targets.map { "\(literal: $0.text)::regclass" as SQL }.joined(separator: ", ")
        return """
            DO $release$
            DECLARE
                held record;
            BEGIN
                FOR held IN
                    SELECT conrelid::regclass AS relation, conname AS name FROM pg_catalog.pg_constraint
                    WHERE contype = 'f' AND confrelid IN (\(relations)) AND conrelid IN (
                        SELECT to_regclass(format('%I.%I', \(literal: schema.name), type)) FROM unnest(ARRAY[\(names)]) AS type
                        UNION ALL
                        SELECT \(schema)._members(type, field)
                        FROM unnest(ARRAY[\(names)]) AS type CROSS JOIN \(schema)._relations(type) AS field
                    )
                LOOP
                    EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', held.relation, held.name);
                END LOOP;
            END $release$
            """
    }

    private var isRename: Bool {
        switch self {
        case .renameType, .common(.renameField), .common(.renameRelation): true
        case .common, .deleteType, .convertField, .setDeleteRule, .setTextLanguage, .setDefault, .setComment,
            .createIndex, .deleteIndex, .setAccess, .setAccessOfAll, .setLive, .setSync, .repair:
            false
        }
    }
}

extension SchemaChange {
    /// Whether the change adds something. Additions are made first, with one statement per table.
    fileprivate var makes: Bool {
        switch self {
        case .createType, .addField: true
        case .widenField, .renameField, .deleteField, .renameRelation, .deleteRelation: false
        }
    }
}
