package import SkyrowModel

/// One change of the record types by a request.
package enum SchemaChange: Hashable, Sendable {
    /// `SELECT _create_type('note')`
    case createType(RecordTypeName)
    /// `ALTER TABLE note ADD COLUMN title text`
    case addField(FieldName, FieldType, FieldAttributes = FieldAttributes(), to: RecordTypeName)
    /// `ALTER TABLE note ALTER COLUMN stars TYPE double precision`, for a fraction in an integer field.
    case widenField(FieldName, of: RecordTypeName)
    /// `ALTER TABLE note RENAME COLUMN title TO name`
    case renameField(FieldName, to: FieldName, of: RecordTypeName)
    /// `ALTER TABLE note DROP COLUMN title`
    case deleteField(FieldName, of: RecordTypeName)
    /// `SELECT _rename_relation('post', 'likes', 'fans')`
    case renameRelation(FieldName, to: FieldName, of: RecordTypeName)
    /// `SELECT _delete_relation('post', 'likes')`
    case deleteRelation(FieldName, of: RecordTypeName)
}

/// The attributes of a new field other than its name and type.
package struct FieldAttributes: Hashable, Sendable {
    /// For a reference: what happens to a record when its target is deleted.
    package var onDelete: DeleteRule
    /// For a string: how `match` finds its words.
    package var textLanguage: TextLanguage
    /// Whether a column stores these words.
    package var storesWords: Bool

    package init(onDelete: DeleteRule = .restrict, textLanguage: TextLanguage = .words, storesWords: Bool = false) {
        self.onDelete = onDelete
        self.textLanguage = textLanguage
        self.storesWords = storesWords
    }
}

extension SchemaChange {
    package var type: RecordTypeName {
        switch self {
        case .createType(let type), .addField(_, _, _, let type), .widenField(_, let type),
            .renameField(_, _, let type), .deleteField(_, let type), .renameRelation(_, _, let type),
            .deleteRelation(_, let type):
            type
        }
    }

    /// The work on existing rows; nil if the time does not depend on their number.
    package var rowWork: RowWork? {
        switch self {
        case .widenField: .rewriting
        case .addField(_, .sequence, _, _): .rewriting
        case .addField(_, .reference, _, _), .addField(_, .asset, _, _): .indexing
        case .addField(_, let type, let attributes, _):
            attributes.storesWords ? .rewriting : type == .string || type.isReferenceArray ? .checking : nil
        case .createType, .renameField, .deleteField, .renameRelation, .deleteRelation: nil
        }
    }

    /// The approximate time of the change, in milliseconds of a slow core; for a table with rows, unless it is new.
    package func cost(isOfNewType: Bool = false) -> Int {
        if !isOfNewType, case .rewriting? = rowWork { return SchemaPieces.rewritingCost }
        return switch self {
        case .createType: 10
        case .addField(_, let type, _, _): Int(type.column.locks) * 2
        case .widenField: SchemaPieces.rewritingCost
        case .renameField, .deleteField: 2
        case .renameRelation: 4
        case .deleteRelation: 15
        }
    }

    package var needsPostGIS: Bool {
        if case .addField(_, let type, _, _) = self { PostGIS.isNeeded(by: type) } else { false }
    }

    package var tableLocks: [TableLock] {
        switch self {
        case .createType: []
        case .addField(_, let fieldType, _, let type):
            switch fieldType {
            case .reference(let target), .relation(let target):
                [TableLock(.changed, type), TableLock(.referred, target)]
            case .asset: [TableLock(.changed, type), TableLock(.files, type)]
            default: [TableLock(.changed, type)]
            }
        case .widenField(_, let type), .renameField(_, _, let type): [TableLock(.changed, type)]
        case .deleteField(let field, let type): [TableLock(.changed, type), TableLock(.dropped, type, field)]
        case .renameRelation(let field, _, let type), .deleteRelation(let field, let type):
            [TableLock(.changed, type), TableLock(.members, type, field)]
        }
    }

    /// `114` for a change that would keep a large table locked; nil for one that can avoid that.
    var refusalOfLargeTable: SkyrowError? {
        switch self {
        case .widenField(let field, let type):
            .tooLarge(
                "The field \(field) of \(type) holds integers, and there are too many records to convert them to numbers while "
                    + "other requests wait. 'skyrow schema apply' does this while the service runs.",
                field
            )
        case .addField(let field, let fieldType, _, let type) where rowWork == .indexing:
            .tooLarge(
                "There are too many records of the type \(type) to add \(field), a \(fieldType.name), while other requests wait "
                    + "for its index. 'skyrow schema apply' does this while the service runs.",
                field
            )
        case .addField(let field, .sequence, _, let type):
            .tooLarge(
                "There are too many records of the type \(type) to number them for \(field), a sequence, while other "
                    + "requests wait. 'skyrow schema apply' does this while the service runs.",
                field
            )
        case .addField(let field, let fieldType, _, let type) where rowWork == .rewriting:
            .tooLarge(
                "There are too many records of the type \(type) to write a value of \(field), a \(fieldType.name), into each "
                    + "while other requests wait. 'skyrow schema apply --lock-tables' does this while the service is not in use.",
                field
            )
        case .createType, .addField, .renameField, .deleteField, .renameRelation, .deleteRelation: nil
        }
    }

    /// The approximate number of locks that the change takes and holds until it is committed, counted in `pg_locks`.
    package var locks: Int64 {
        switch self {
        // The table, its indexes, its TOAST table, and the objects that creating it refers to.
        case .createType: Self.locksPerType
        case .addField(_, let type, _, _): type.column.locks
        case .widenField, .renameField, .deleteField: 1
        case .renameRelation: 4
        case .deleteRelation: RelationColumn(target: .user).locks
        }
    }

    package static let locksPerType: Int64 = 9
    package static let locksPerDeletedType: Int64 = 30
}

/// A requested change of the schema, before its steps are planned.
package enum SchemaRequest: Sendable {
    /// The types and fields that these records require.
    case save([RecordDraft])
    /// These types and fields.
    case create([RecordType])
    case rename(FieldName, to: FieldName, of: RecordTypeName)
    case delete(FieldName, of: RecordTypeName)

    /// The record types that the plan depends on.
    package var types: Set<RecordTypeName> {
        var types: Set<RecordTypeName> = []
        switch self {
        case .save(let drafts):
            for draft in drafts {
                types.insert(draft.id.type)
                for value in draft.fields.lazy.map(\.value) {
                    switch value {
                    case .reference(let target): types.insert(target.type)
                    case .relation(let target): types.insert(target)
                    default: break
                    }
                }
                for target in draft.operators.lazy.compactMap(\.change.reference) { types.insert(target.type) }
            }
        case .create(let wanted):
            for type in wanted {
                types.insert(type.name)
                types.formUnion(type.fields.values.compactMap(\.target))
            }
        case .rename(_, _, let type), .delete(_, let type):
            types.insert(type)
        }
        return types
    }
}

extension FieldType {
    fileprivate var isReferenceArray: Bool {
        if case .array(.reference) = self { true } else { false }
    }
}

extension SkyrowError {
    fileprivate static func tooLarge(_ message: String, _ field: FieldName) -> SkyrowError {
        SkyrowError(.incompatibleSchema, message, info: ["arguments": .list([.string(field.rawValue)])])
    }
}
