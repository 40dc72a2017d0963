/// The type of a field, which decides its column's type.
public enum FieldType: Hashable, Sendable {
    /// `text`
    case string
    /// `bigint`
    case integer
    /// `double precision`
    case number
    /// `boolean`
    case boolean
    /// `timestamptz`
    case datetime
    /// `jsonb`
    case json
    /// `text` with a foreign key to the type's table
    case reference(RecordTypeName)
    /// `bigint` that takes its default from a sequence
    case sequence
    /// `bytea`
    case bytes
    /// A column made in psql whose SQL type has no field type; read as text, never written.
    case unknown(String)

    /// The name in `schema:*` actions: `string`, `ref(category)`, …
    public var name: String {
        switch self {
        case .string: "string"
        case .integer: "integer"
        case .number: "number"
        case .boolean: "boolean"
        case .datetime: "datetime"
        case .json: "json"
        case .reference(let type): "ref(\(type))"
        case .sequence: "sequence"
        case .bytes: "bytes"
        case .unknown: "unknown"
        }
    }

    /// Reads a name of a `schema:*` action; throws `108 InvalidArgument` for any other.
    public init(name: String) throws(SkyrowError) {
        switch name {
        case "string": self = .string
        case "integer": self = .integer
        case "number": self = .number
        case "boolean": self = .boolean
        case "datetime": self = .datetime
        case "json": self = .json
        case "sequence": self = .sequence
        case "bytes": self = .bytes
        default:
            guard name.hasPrefix("ref("), name.hasSuffix(")") else {
                throw .invalidArgument("There is no field type of that name.", "type")
            }
            self = .reference(try RecordTypeName(String(name.dropFirst(4).dropLast())))
        }
    }
}

/// The fields of one record type, without the reserved ones.
public struct RecordType: Hashable, Sendable {
    public var name: RecordTypeName
    public var fields: [FieldName: FieldType]

    public init(name: RecordTypeName, fields: [FieldName: FieldType] = [:]) {
        self.name = name
        self.fields = fields
    }
}

/// Every record type of an application.
public struct RecordSchema: Hashable, Sendable {
    public var types: [RecordTypeName: RecordType]

    public init(types: [RecordTypeName: RecordType] = [:]) {
        self.types = types
    }
}
