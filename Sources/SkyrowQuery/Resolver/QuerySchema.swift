package import SkyrowModel

/// The record types that a query may name, as its caller sees them.
package protocol QuerySchema {
    associatedtype RecordType: QueryRecordType

    /// The type of this name; nil when there is none.
    subscript(type: RecordTypeName) -> RecordType? { get }
}

/// What the resolver asks about one record type.
package protocol QueryRecordType {
    var name: RecordTypeName { get }
    /// Whether its records have metadata beside their fields.
    var hasMetadata: Bool { get }

    /// The field of this name; nil when there is none, or none that the caller sees.
    func queryField(_ name: FieldName) -> QueryField?

    /// The same of a field that the caller may ask about, whether it sees it or not.
    func askedField(_ name: FieldName) -> QueryField?

    /// Whether a field that the caller may ask about leads to any number of records.
    var hasRelations: Bool { get }

    /// The places of all fields that the caller sees.
    var fieldPositions: [Int] { get }

    /// The fields that the caller sees and that refer to one record, sorted by name.
    var referenceFields: [FieldName] { get }

    /// Whether the type has a field of this name that the caller sees in no record.
    func isHidden(_ name: FieldName) -> Bool

    /// In which records the caller may ask that about a field.
    func standing(_ asking: FieldAsking, of name: FieldName, for caller: FieldAccess) -> FieldStanding

    /// The rules of access to its records; nil where they are the standard ones.
    var classRules: ClassRules? { get }

    /// The collation of the column that holds a text of the metadata.
    func collation(of column: ReservedColumn) -> TextCollation
}

extension QueryRecordType {
    package var hasMetadata: Bool { true }
    package func askedField(_ name: FieldName) -> QueryField? { queryField(name) }
    package var hasRelations: Bool { true }
    package var referenceFields: [FieldName] { [] }
}

/// A field as the resolver sees it.
package struct QueryField: Hashable, Sendable {
    /// Its place among the fields of the type, in the order of their names; those that the caller does not see are behind the others.
    package var position: Int
    package var type: FieldType
    package var collation: TextCollation
    /// As what the values of a json field are read; nil for JSON.
    package var jsonType: JSONValueType?
    /// How `match` finds the words of a string.
    package var language: TextLanguage

    package init(
        position: Int,
        type: FieldType,
        collation: TextCollation = .bytes,
        jsonType: JSONValueType? = nil,
        language: TextLanguage = .words
    ) {
        self.position = position
        self.type = type
        self.collation = collation
        self.jsonType = jsonType
        self.language = language
    }
}
