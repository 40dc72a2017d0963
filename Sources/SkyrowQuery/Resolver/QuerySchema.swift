package import SkyrowModel

/// The record types that a query may name, as its caller sees them.
package protocol QuerySchema {
    associatedtype RecordType: QueryRecordType

    /// Returns the type of this name; nil if it does not exist.
    subscript(type: RecordTypeName) -> RecordType? { get }
}

/// What the resolver needs of one record type.
package protocol QueryRecordType {
    var name: RecordTypeName { get }
    /// Whether its records have metadata in addition to their fields.
    var hasMetadata: Bool { get }

    /// Returns the field of this name; nil if it does not exist or the caller does not see it.
    func queryField(_ name: FieldName) -> QueryField?

    /// Returns a field that the caller may query, even if it does not see it.
    func askedField(_ name: FieldName) -> QueryField?

    /// Whether a field that the caller may query leads to any number of records.
    var hasRelations: Bool { get }

    /// The positions of all fields that the caller sees.
    var fieldPositions: [Int] { get }

    /// The fields that the caller sees and that refer to one record, sorted by name.
    var referenceFields: [FieldName] { get }

    /// Returns whether the type has a field of this name that the caller sees in no record.
    func isHidden(_ name: FieldName) -> Bool

    /// Returns in which records the caller may use a field in this way.
    func standing(_ asking: FieldAsking, of name: FieldName, for caller: FieldAccess) -> AccessCondition

    /// The access rules for its records; nil for the default rules.
    var classRules: ClassRules? { get }

    /// Returns the collation of a metadata column with texts.
    func collation(of column: ReservedColumn) -> TextCollation
}

extension QueryRecordType {
    package var hasMetadata: Bool { true }
    package func askedField(_ name: FieldName) -> QueryField? { queryField(name) }
    package var hasRelations: Bool { true }
    package var referenceFields: [FieldName] { [] }
}

/// A field for the resolver.
package struct QueryField: Hashable, Sendable {
    /// Its position among the fields of the type, in the order of their names; fields that the caller does not see come last.
    package var position: Int
    package var type: FieldType
    package var collation: TextCollation
    /// The type in which the values of a JSON field are read; nil for JSON.
    package var jsonType: JSONValueType?
    /// The language by which `match` splits a string into words.
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
