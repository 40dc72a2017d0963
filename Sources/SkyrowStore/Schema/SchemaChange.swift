package import SkyrowModel

/// One change of the record types that a request makes.
package enum SchemaChange: Hashable, Sendable {
    /// `SELECT _create_type('note')`
    case createType(RecordTypeName)
    /// `ALTER TABLE note ADD COLUMN title text`
    case addField(FieldName, FieldType, FieldAttributes = FieldAttributes(), to: RecordTypeName)
    /// `ALTER TABLE note ALTER COLUMN stars TYPE double precision`: an integer field met a fraction.
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

/// What is said of a new field besides its name and type.
package struct FieldAttributes: Hashable, Sendable {
    /// Of a reference, what becomes of a record when the one that it leads to is deleted.
    package var onDelete: DeleteRule
    /// Of a string, how `match` finds its words.
    package var textLanguage: TextLanguage
    /// Whether a column keeps these.
    package var storesWords: Bool

    package init(
        onDelete: DeleteRule = .restrict,
        textLanguage: TextLanguage = .words,
        storesWords: Bool = false
    ) {
        self.onDelete = onDelete
        self.textLanguage = textLanguage
        self.storesWords = storesWords
    }
}

extension SchemaChange {
    /// About how many locks the change takes, all held until it is committed; counted in `pg_locks`.
    package var locks: Int64 {
        switch self {
        // The table, its indexes, its TOAST table, and the objects that making it refers to.
        case .createType: Self.locksPerType
        case .addField(_, let type, _, _): type.column.locks
        case .widenField, .renameField, .deleteField: 1
        case .renameRelation: 4
        case .deleteRelation: RelationColumn(target: .user).locks
        }
    }

    package static let locksPerType: Int64 = 9
}

/// What is requested of the schema, before the steps are known.
package enum SchemaRequest: Sendable {
    /// Room for these records: their types and fields.
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
