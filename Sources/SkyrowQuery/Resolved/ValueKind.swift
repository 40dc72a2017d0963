package import SkyrowModel

/// The kind of a column's values, which decides how they are compared.
package enum ValueKind: Hashable, Sendable {
    case string
    /// Integers and sequences.
    case integer
    case number
    /// A number inside JSON, which keeps every digit.
    case decimal
    case boolean
    case datetime
    case json
    case bytes
    case reference(RecordTypeName)
    /// The id of the record itself.
    case id(RecordTypeName)
    /// The id of a user: `_owner_id`, `_created_by`, `_updated_by`.
    case user
    /// The name of the database.
    case database
    /// The access list.
    case access
    /// An array whose elements are of this type.
    case array(ElementType)
    case location
    case geometry
    /// The members of a relation.
    case relation(RecordTypeName)
    /// A column of an unsupported type that psql created; it can only be compared with `null`.
    case opaque

    package init(_ type: FieldType) {
        switch type {
        case .string: self = .string
        case .integer, .sequence: self = .integer
        case .number: self = .number
        case .boolean: self = .boolean
        case .datetime: self = .datetime
        case .json: self = .json
        case .reference(let target): self = .reference(target)
        case .bytes: self = .bytes
        case .array(let element): self = .array(element)
        case .location: self = .location
        case .geometry: self = .geometry
        case .relation(let target): self = .relation(target)
        case .unknown: self = .opaque
        }
    }

    /// The target type of a reference; nil for values that are not references.
    package var target: RecordTypeName? {
        switch self {
        case .reference(let type): type
        case .user: .user
        case .string, .integer, .number, .decimal, .boolean, .datetime, .json, .bytes, .id, .database, .access, .array,
            .location, .geometry, .relation, .opaque:
            nil
        }
    }

    /// The target type of a value with any number of references; nil for other values.
    package var listTarget: RecordTypeName? {
        switch self {
        case .array(.reference(let type)), .relation(let type): type
        default: nil
        }
    }

    /// Whether the values are texts in PostgreSQL, which have a collation.
    package var isText: Bool {
        switch self {
        case .string, .reference, .id, .user, .database, .array(.string), .array(.reference): true
        case .integer, .number, .decimal, .boolean, .datetime, .json, .bytes, .access, .array, .location, .geometry,
            .relation, .opaque:
            false
        }
    }
}

/// The classes of values that the operator table distinguishes.
package struct ValueClasses: OptionSet, Hashable, Sendable {
    package let rawValue: UInt32

    package init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    package static let string = ValueClasses(rawValue: 1 << 0)
    /// Integers, sequences, doubles, and numbers inside JSON.
    package static let number = ValueClasses(rawValue: 1 << 1)
    package static let boolean = ValueClasses(rawValue: 1 << 2)
    package static let datetime = ValueClasses(rawValue: 1 << 3)
    package static let bytes = ValueClasses(rawValue: 1 << 4)
    package static let reference = ValueClasses(rawValue: 1 << 5)
    package static let json = ValueClasses(rawValue: 1 << 6)
    package static let id = ValueClasses(rawValue: 1 << 7)
    package static let user = ValueClasses(rawValue: 1 << 8)
    package static let database = ValueClasses(rawValue: 1 << 9)
    /// Access lists and columns of unknown types.
    package static let opaque = ValueClasses(rawValue: 1 << 10)

    /// A value inside JSON.
    package static let jsonPath = ValueClasses(rawValue: 1 << 11)

    /// Arrays of one type.
    package static let array = ValueClasses(rawValue: 1 << 12)

    package static let location = ValueClasses(rawValue: 1 << 13)

    package static let geometry = ValueClasses(rawValue: 1 << 14)

    package static let relation = ValueClasses(rawValue: 1 << 15)

    package static let all = ValueClasses(rawValue: 1 << 16 - 1)
}

extension ValueKind {
    /// The row of the operator table for fields of the kind.
    package var valueClass: ValueClasses {
        switch self {
        case .string: .string
        case .integer, .number, .decimal: .number
        case .boolean: .boolean
        case .datetime: .datetime
        case .json: .json
        case .bytes: .bytes
        case .reference: .reference
        case .id: .id
        case .user: .user
        case .database: .database
        case .array: .array
        case .location: .location
        case .geometry: .geometry
        case .relation: .relation
        case .access, .opaque: .opaque
        }
    }
}
