/// The schema as a file says it, for `skyrow schema diff` and `apply`: the form of `schema:fetch` with what else Skyrow
/// keeps in order, such as indexes and defaults.
package struct SchemaDocument: Hashable, Sendable {
    package var types: [RecordTypeName: DocumentedType]
    /// The rules of fields of every type; nil for a file that leaves these as they are.
    package var accessOfAll: ClassAccess?
    /// The keys of ``SchemaDrift`` that are as they should be.
    package var acceptedDrift: Set<String>

    package init(types: [RecordTypeName: DocumentedType] = [:], acceptedDrift: Set<String> = []) {
        self.types = types
        self.acceptedDrift = acceptedDrift
    }
}

/// A record type as a file says it.
package struct DocumentedType: Hashable, Sendable {
    /// What the type was called before, where it still has that name.
    package var renamedFrom: RecordTypeName?
    /// nil for Skyrow's own sentence.
    package var comment: String?
    package var fields: [FieldName: DocumentedField]
    package var indexes: Set<DocumentedIndex>
    /// Who creates, reads, updates and deletes the records; nil for a file that leaves that as it is.
    package var access: ClassAccess?
    /// What the log says of a record before its change.
    package var live: LiveIdentity
    /// Whether it has the index by which changes are found in large types: `"sync": true`.
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

/// What of a record before its change is in PostgreSQL's log, from which live queries are fed.
package enum LiveIdentity: String, Hashable, Sendable, CaseIterable {
    /// All fields, so that live queries have the record as it was.
    case full
    /// The id alone, which spares the log the fields of large records that often change.
    case key
}

/// A field as a file says it.
package struct DocumentedField: Hashable, Sendable {
    /// `.unknown` is a column of a type that is not ours, which a file can mention and not make.
    package var type: FieldType
    /// Whether PostgreSQL computes the values; a file can mention that and not make it.
    package var isGenerated: Bool
    package var renamedFrom: FieldName?
    /// What a new record has that is saved without the field; of the field's own type.
    package var defaultValue: RecordValue?
    /// nil for Skyrow's own sentence.
    package var comment: String?
    /// Of a reference, what becomes of the record when the one that it leads to is deleted.
    package var onDelete: DeleteRule
    /// Of a string, how `match` finds its words.
    package var textLanguage: TextLanguage
    /// Whether a column keeps these.
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

    /// Whether a field of this type can have that default: a value of its own type, of json the empty array or object.
    package static func canDefault(_ type: FieldType, to value: RecordValue) -> Bool {
        switch (type, value) {
        case (.string, .string), (.integer, .integer), (.boolean, .boolean): true
        case (.number, .number(let number)): number.isFinite
        case (.json, .json(let text)): [Array("[]".utf8), Array("{}".utf8)].contains(text.utf8)
        default: false
        }
    }
}

/// An index over fields as a file says it; those that Skyrow makes by itself are in no file.
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
