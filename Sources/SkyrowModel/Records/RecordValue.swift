// What a value type is: its field type, its value, and the value as it is borrowed from a row. A new type is added to each.

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
    /// `text` with a foreign key to the table of files
    case asset
    /// A one-dimensional PostgreSQL array, such as `text[]`
    case array(ElementType)
    /// Any number of records of a type, as the rows of a separate table.
    case relation(RecordTypeName)
    /// A column created in psql whose SQL type has no field type; read as text, never written.
    case unknown(String)

    /// The types whose name has no parameter.
    private static let named: [(name: String, type: FieldType)] = [
        ("string", .string), ("integer", .integer), ("number", .number), ("boolean", .boolean),
        ("datetime", .datetime), ("json", .json), ("sequence", .sequence), ("bytes", .bytes), ("location", .location),
        ("geometry", .geometry), ("asset", .asset),
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

/// The value of one field, as clients send it and rules check it.
public enum RecordValue: Hashable, Sendable {
    case null
    case string(String)
    case integer(Int64)
    case number(Double)
    case boolean(Bool)
    case datetime(Timestamp)
    /// An array or object, kept as JSON text so that nested typed values and every digit are preserved.
    case json(JSONText)
    case reference(RecordID)
    /// `{"$type":"seq"}`: requests a sequence column, whose values the database generates.
    case sequence
    case bytes([UInt8])
    case location(Location)
    case geometry(Geometry)
    case asset(Asset)
    /// The elements of an array, all of one type; `null` for elements that psql made NULL.
    ///
    /// On the wire it looks like ``json(_:)``, and is read as such: the type of the field distinguishes the two.
    case array([RecordValue])
    /// The value of a field of the type `relation`: the type of its members, which operators change and queries find.
    case relation(RecordTypeName)
}

extension RecordValue {
    /// The type of a new field that this value is the first to set; nil for `null`, which has no type, and for an array, whose
    /// field only a schema change creates.
    package var fieldType: FieldType? {
        switch self {
        case .null, .array: nil
        case .string: .string
        case .integer: .integer
        case .number: .number
        case .boolean: .boolean
        case .datetime: .datetime
        case .json: .json
        case .reference(let id): .reference(id.type)
        case .sequence: .sequence
        case .bytes: .bytes
        case .location: .location
        case .geometry: .geometry
        case .asset: .asset
        case .relation(let target): .relation(target)
        }
    }

    /// The approximate size in memory, in bytes.
    package var size: Int {
        switch self {
        case .string(let text): text.utf8.count
        case .json(let text): text.utf8.count
        case .bytes(let bytes): bytes.count
        case .geometry(let geometry): 32 + 16 * geometry.positions.count
        case .asset(let asset): asset.name.rawValue.utf8.count + (asset.url?.utf8.count ?? 0)
        case .array(let elements): elements.reduce(32) { $0 + $1.size }
        default: 32
        }
    }
}

/// A member's value, borrowed from the memory of a database result for the duration of one call.
package enum BorrowedValue {
    case null
    case boolean(Bool)
    case integer(Int64)
    case number(Double)
    /// UTF-8 text.
    case string(UnsafeRawBufferPointer)
    /// Becomes `{"$type":"date","$date":"…"}`.
    case datetime(Timestamp)
    /// A timestamp of a reserved column, which is a bare string on the wire.
    case plainDatetime(Timestamp)
    /// Valid JSON text to copy through.
    case json(UnsafeRawBufferPointer)
    /// `"type/id"` as a plain string, as in `_id`; type and id are UTF-8.
    case recordID(type: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer)
    /// Becomes `{"$type":"ref","$id":"type/id"}`.
    case reference(type: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer)
    /// Becomes `{"$type":"bytes","$base64":"…"}`.
    case bytes(UnsafeRawBufferPointer)
    /// Becomes `{"$type":"geo","$lng":114.15,"$lat":22.28}`.
    case location(Location)
    /// A geometry in EWKB; becomes `{"$type":"geojson","$val":{…}}`.
    case geometry(UnsafeRawBufferPointer)
    /// The name of a file; becomes `{"$type":"asset","$name":"…"}`, with `$url` where addresses are sent.
    case asset(UnsafeRawBufferPointer)
    /// The elements of an array, `null` where they are NULL.
    case array(UnsafeBufferPointer<BorrowedValue>)
    /// Becomes `{"$type":"relation","$record_type":"user"}`.
    case relation(type: UnsafeRawBufferPointer)
    /// A column of an unsupported SQL type, by the type's name: `{"$type":"unknown","$underlying_type":"money"}`.
    case unknown(UnsafeRawBufferPointer)
}

extension RecordValue {
    /// Lends the value to `body`; does nothing for `null`, and for a sequence, which requests a number and has no value.
    package func withBorrowed(_ body: (BorrowedValue) -> Void) {
        switch self {
        case .null, .sequence: break
        case .string(let text): text.withBytes { body(.string($0)) }
        case .integer(let value): body(.integer(value))
        case .number(let value): body(.number(value))
        case .boolean(let value): body(.boolean(value))
        case .datetime(let value): body(.datetime(value))
        case .json(let text): text.utf8.withUnsafeBytes { body(.json($0)) }
        case .reference(let id): id.withBytes { body(.reference(type: $0, id: $1)) }
        case .bytes(let bytes): bytes.withUnsafeBytes { body(.bytes($0)) }
        case .location(let location): body(.location(location))
        case .geometry(let geometry): geometry.ewkb.withUnsafeBytes { body(.geometry($0)) }
        case .asset(let asset): asset.name.rawValue.withBytes { body(.asset($0)) }
        case .array(let elements): elements.withBorrowed { body(.array($0)) }
        case .relation(let type): type.rawValue.withBytes { body(.relation(type: $0)) }
        }
    }

    /// Copies a borrowed value; nil for one that a field cannot hold.
    package init?(_ value: BorrowedValue) {
        switch value {
        case .null: self = .null
        case .boolean(let flag): self = .boolean(flag)
        case .integer(let number): self = .integer(number)
        case .number(let number): self = .number(number)
        case .string(let bytes): self = .string(String(decoding: bytes, as: UTF8.self))
        case .datetime(let instant), .plainDatetime(let instant): self = .datetime(instant)
        case .json(let text): self = .json(JSONText(validated: Array(text)))
        case .reference(let type, let id), .recordID(let type, let id):
            guard let target = RecordID(type: type, id: id) else { return nil }
            self = .reference(target)
        case .bytes(let bytes): self = .bytes(Array(bytes))
        case .location(let location): self = .location(location)
        case .geometry(let ewkb):
            guard let geometry = Geometry(ewkb: ewkb) else { return nil }
            self = .geometry(geometry)
        case .asset(let name):
            guard let name = AssetName(String(decoding: name, as: UTF8.self)) else { return nil }
            self = .asset(Asset(name))
        case .array(let elements): self = .array(elements.map { RecordValue($0) ?? .null })
        case .relation(let type):
            guard let type = try? RecordTypeName(String(decoding: type, as: UTF8.self)) else { return nil }
            self = .relation(type)
        case .unknown: return nil
        }
    }
}
