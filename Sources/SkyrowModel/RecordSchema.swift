/// The type of a field, which determines the type of its column.
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
    /// `geography(Point,4326)` of PostGIS
    case location
    /// `geometry(Geometry,4326)` of PostGIS
    case geometry
    /// A one-dimensional PostgreSQL array, such as `text[]`
    case array(ElementType)
    /// Any number of records of a type, as the rows of a separate table.
    case relation(RecordTypeName)
    /// A column created in psql whose SQL type has no field type; read as text, never written.
    case unknown(String)

    /// The types whose name has no parameter; a type that is missing here is `unknown` to clients.
    private static let named: [(name: String, type: FieldType)] = [
        ("string", .string), ("integer", .integer), ("number", .number), ("boolean", .boolean),
        ("datetime", .datetime), ("json", .json), ("sequence", .sequence), ("bytes", .bytes), ("location", .location),
        ("geometry", .geometry),
    ]

    /// The name in `schema:*` actions: `string`, `ref(category)`, `array(integer)`, …
    public var name: String {
        switch self {
        case .reference(let type): "ref(\(type))"
        case .array(let element): "array(\(element.fieldType.name))"
        case .relation(let type): "relation(\(type))"
        default: Self.named.first { $0.type == self }?.name ?? "unknown"
        }
    }

    /// Parses a name of a `schema:*` action; throws `108 InvalidArgument` for any other.
    public init(name: String) throws(SkyrowError) {
        if let type = Self.named.first(where: { $0.name == name })?.type {
            self = type
        } else if name.hasPrefix("ref("), name.hasSuffix(")") {
            self = .reference(try RecordTypeName(String(name.dropFirst(4).dropLast())))
        } else if name.hasPrefix("relation("), name.hasSuffix(")") {
            self = .relation(try RecordTypeName(String(name.dropFirst(9).dropLast())))
        } else if name.hasPrefix("array("), name.hasSuffix(")"),
            let element = ElementType(try FieldType(name: String(name.dropFirst(6).dropLast())))
        {
            self = .array(element)
        } else {
            throw .invalidArgument("The field type does not exist.", "type")
        }
    }

    /// The type of the records that the field refers to; nil for a field without references.
    package var target: RecordTypeName? {
        switch self {
        case .reference(let target), .array(.reference(let target)), .relation(let target): target
        default: nil
        }
    }
}

/// The fields of one record type, without the reserved ones.
public struct RecordType: Hashable, Sendable {
    public var name: RecordTypeName
    public var fields: [FieldName: FieldType]
    /// What happens to records when the target of a reference is deleted; ``DeleteRule/restrict`` without an entry.
    public var deleteRules: [FieldName: DeleteRule]
    /// How `match` finds the words of string fields; ``TextLanguage/words`` for fields without an entry.
    public var textLanguages: [FieldName: TextLanguage]
    /// The string fields with a language whose words are stored in a separate column, which makes ranking faster.
    public var storedTexts: Set<FieldName>

    public init(
        name: RecordTypeName,
        fields: [FieldName: FieldType] = [:],
        deleteRules: [FieldName: DeleteRule] = [:],
        textLanguages: [FieldName: TextLanguage] = [:],
        storedTexts: Set<FieldName> = []
    ) {
        self.name = name
        self.fields = fields
        self.deleteRules = deleteRules
        self.textLanguages = textLanguages
        self.storedTexts = storedTexts
    }
}

extension RecordType {
    /// Throws `108 InvalidArgument` when words are stored for a field without a language.
    package static func checkStored(_ language: TextLanguage) throws(SkyrowError) {
        guard language != .words else {
            throw .invalidArgument("The words of a text can only be stored in a language; set \"language\".", "text")
        }
    }

    /// `108` for a field that is named `_verified`, which only the service writes.
    package static let verifiedIsKept = SkyrowError.invalidArgument(
        "The name _verified is reserved for the field that says whether an address is verified.",
        FieldName.verified.rawValue
    )

    /// Throws `108 InvalidArgument` unless a field `_parent` is a reference whose records are deleted with their target.
    package static func checkParent(_ type: FieldType, _ rule: DeleteRule?) throws(SkyrowError) {
        guard case .reference = type else {
            throw .invalidArgument("The parent of a record must be a reference: \"type\": \"ref(…)\".", "_parent")
        }
        guard rule == nil || rule == .cascade else {
            throw .invalidArgument(
                "A record is deleted with its parent, so \"on_delete\" must be \"cascade\".",
                "_parent"
            )
        }
    }
}

/// Every record type of an application.
public struct RecordSchema: Hashable, Sendable {
    public var types: [RecordTypeName: RecordType]

    public init(types: [RecordTypeName: RecordType] = [:]) {
        self.types = types
    }
}
