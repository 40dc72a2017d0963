/// The schema in a file, for `skyrow schema diff` and `apply`: the form of `schema:fetch` with what else Skyrow manages, such
/// as indexes and defaults.
package struct SchemaDocument: Hashable, Sendable {
    package var types: [RecordTypeName: DocumentedType]
    /// The field rules of every type; nil for a file that leaves them unchanged.
    package var accessOfAll: ClassAccess?
    /// The keys of ``SchemaDrift`` that are accepted.
    package var acceptedDrift: Set<String>

    package init(types: [RecordTypeName: DocumentedType] = [:], acceptedDrift: Set<String> = []) {
        self.types = types
        self.acceptedDrift = acceptedDrift
    }
}

/// A record type in a schema file.
package struct DocumentedType: Hashable, Sendable {
    /// The former name of the type, when the database still has it.
    package var renamedFrom: RecordTypeName?
    /// nil for Skyrow's default comment.
    package var comment: String?
    package var fields: [FieldName: DocumentedField]
    package var indexes: Set<DocumentedIndex>
    /// Who creates, reads, updates and deletes the records; nil for a file that leaves this unchanged.
    package var access: ClassAccess?
    /// What the log contains of a record before its change.
    package var live: LiveIdentity
    /// Whether the type has the index that finds changes in large types: `"sync": true`.
    package var isFollowed: Bool

    package init(
        renamedFrom: RecordTypeName? = nil,
        comment: String? = nil,
        fields: [FieldName: DocumentedField] = [:],
        indexes: Set<DocumentedIndex> = [],
        access: ClassAccess? = nil,
        live: LiveIdentity = .full,
        isFollowed: Bool = false
    ) {
        self.renamedFrom = renamedFrom
        self.comment = comment
        self.fields = fields
        self.indexes = indexes
        self.access = access
        self.live = live
        self.isFollowed = isFollowed
    }
}

/// What PostgreSQL's log, from which live queries are fed, contains of a record before its change.
package enum LiveIdentity: String, Hashable, Sendable, CaseIterable {
    /// All fields, so that live queries get the record as it was.
    case full
    /// Only the id, which keeps the fields of large, frequently changed records out of the log.
    case key
}

/// A field in a schema file.
package struct DocumentedField: Hashable, Sendable {
    /// `.unknown` is a column of an unsupported type, which a file can mention but not create.
    package var type: FieldType
    /// Whether PostgreSQL computes the values, which a file can mention but not create.
    package var isGenerated: Bool
    package var renamedFrom: FieldName?
    /// The value in a new record that is saved without the field; it has the field's type.
    package var defaultValue: RecordValue?
    /// nil for Skyrow's default comment.
    package var comment: String?
    /// For a reference, what happens to the record when the target is deleted.
    package var onDelete: DeleteRule
    /// For a string, how `match` finds its words.
    package var textLanguage: TextLanguage
    /// Whether a column stores these words.
    package var storesWords: Bool

    package init(
        _ type: FieldType,
        isGenerated: Bool = false,
        renamedFrom: FieldName? = nil,
        defaultValue: RecordValue? = nil,
        comment: String? = nil,
        onDelete: DeleteRule = .restrict,
        textLanguage: TextLanguage = .words,
        storesWords: Bool = false
    ) {
        self.type = type
        self.isGenerated = isGenerated
        self.renamedFrom = renamedFrom
        self.defaultValue = defaultValue
        self.comment = comment
        self.onDelete = onDelete
        self.textLanguage = textLanguage
        self.storesWords = storesWords
    }

    /// Whether a field of this type can have that default: a value of the same type; for JSON the empty array or object.
    package static func canDefault(_ type: FieldType, to value: RecordValue) -> Bool {
        switch (type, value) {
        case (.string, .string), (.integer, .integer), (.boolean, .boolean): true
        case (.number, .number(let number)): number.isFinite
        case (.json, .json(let text)): [Array("[]".utf8), Array("{}".utf8)].contains(text.utf8)
        default: false
        }
    }
}

/// An index over fields in a schema file; files omit the indexes that Skyrow creates by itself.
package struct DocumentedIndex: Hashable, Sendable, Comparable {
    package enum Method: String, Hashable, Sendable, CaseIterable {
        case btree, hash, gin, gist, brin
    }

    package struct Column: Hashable, Sendable {
        /// A field, or a reserved column such as `_created_at`.
        package var name: String
        package var isDescending: Bool

        package init(_ name: String, isDescending: Bool = false) {
            self.name = name
            self.isDescending = isDescending
        }

        /// `stars`, `stars desc`
        package var text: String { isDescending ? "\(name) desc" : name }
    }

    package var columns: [Column]
    package var isUnique: Bool
    package var method: Method

    package init(_ columns: [Column], isUnique: Bool = false, method: Method = .btree) {
        self.columns = columns
        self.isUnique = isUnique
        self.method = method
    }

    /// `unique (city, stars desc)`
    package var text: String {
        let names = columns.map(\.text).joined(separator: ", ")
        return (isUnique ? "unique " : "") + (method == .btree ? "" : "\(method.rawValue) ") + "(\(names))"
    }

    package static func < (a: DocumentedIndex, b: DocumentedIndex) -> Bool {
        a.text < b.text
    }
}
