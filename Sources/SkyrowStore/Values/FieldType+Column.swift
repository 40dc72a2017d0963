internal import SkyrowJSON
package import SkyrowModel
internal import SkyrowPostgres
internal import SkyrowQuery

// The lists of value types: a new type adds a line to each, and a case of `RowPlan.Kind` if rows have its values in a new form.

extension FieldType {
    /// The store's implementation of the type.
    package var column: any ColumnType {
        switch self {
        case .string: TextColumn()
        case .integer: IntegerColumn()
        case .number: NumberColumn()
        case .boolean: BooleanColumn()
        case .datetime: DatetimeColumn()
        case .json: JSONColumn()
        case .reference(let target): ReferenceColumn(target: target)
        case .sequence: SequenceColumn()
        case .bytes: BytesColumn()
        case .location: LocationColumn()
        case .geometry: GeometryColumn()
        case .asset: AssetColumn()
        case .array(let element): ArrayColumn(element: element)
        case .relation(let target): RelationColumn(target: target)
        case .unknown(let name): UnknownColumn(name: name)
        }
    }

    /// The types in the order in which they are tried for a column of the database.
    private static let columns: [any ColumnType.Type] = [
        ReferenceColumn.self, AssetColumn.self, RelationColumn.self, TextColumn.self, SequenceColumn.self,
        IntegerColumn.self, NumberColumn.self,
        BooleanColumn.self, DatetimeColumn.self, JSONColumn.self, BytesColumn.self, LocationColumn.self,
        GeometryColumn.self, ArrayColumn.self,
    ]

    /// The field type of a column of the database.
    init(_ column: CatalogRow.Column) {
        self = Self.columns.lazy.compactMap { $0.type(of: column) }.first ?? .unknown(column.typeName)
    }

    /// Whether the column has a foreign key, and an index by which the records that refer to a row are found.
    package var hasForeignKey: Bool {
        switch self {
        case .reference, .asset: true
        default: false
        }
    }
}

extension RowPlan {
    /// The type of a column's value, and how it is emitted.
    package enum Kind: Hashable, Sendable {
        /// The stored id of the record itself.
        case id
        /// The access list, which is emitted even when it is NULL.
        case access
        case text
        case plainDatetime
        case integer
        case number
        case boolean
        case datetime
        case json
        /// A reference to a record of the type that is the member's `name`.
        case reference
        case bytes
        /// A location in EWKB.
        case location
        /// A geometry in EWKB.
        case geometry
        /// The name of a file.
        case asset
        /// An array of one of these.
        case array(Element)
        /// A relation to records of the type that is the member's `name`; its column is true.
        case relation
        /// True if the column, whose unsupported type is the member's `name`, is not NULL.
        case unknown
    }

    /// The type of an array's elements.
    package enum Element: Hashable, Sendable {
        case text, integer, number, boolean
        /// Stored ids of records of the type that is the member's `name`.
        case reference
    }
}

extension RowPlan.Kind {
    var oid: PostgresOID {
        switch self {
        case .id, .text, .reference, .asset: .text
        case .access, .json: .jsonb
        case .plainDatetime, .datetime: .timestamptz
        case .integer: .int8
        case .number: .float8
        case .boolean, .relation, .unknown: .bool
        case .bytes, .location, .geometry: .bytea
        case .array(.text), .array(.reference): .textArray
        case .array(.integer): .int8Array
        case .array(.number): .float8Array
        case .array(.boolean): .boolArray
        }
    }

    /// The types of columns, their names in SQL, and how a column is read whose type has changed to it, for example from integers
    /// to doubles.
    private static let types: [(oid: PostgresOID, name: StaticString, kind: RowPlan.Kind)] = [
        (.text, "text", .text), (.int8, "int8", .integer), (.float8, "float8", .number), (.bool, "bool", .boolean),
        (.timestamptz, "timestamptz", .datetime), (.jsonb, "jsonb", .json), (.bytea, "bytea", .bytes),
        (.textArray, "text[]", .array(.text)), (.int8Array, "int8[]", .array(.integer)),
        (.float8Array, "float8[]", .array(.number)), (.boolArray, "bool[]", .array(.boolean)),
    ]

    /// The type of the column, as SQL for a cast.
    var sqlType: SQL { Self.types.first { $0.oid == oid }.map { "\(raw: $0.name)" } ?? "text" }

    /// How to read a column whose type has changed.
    init(changedTo oid: PostgresOID) {
        self = Self.types.first { $0.oid == oid }?.kind ?? .unknown
    }
}

extension RowPlan.Kind {
    /// Decodes the bytes of a column that is not NULL; nil for bytes that do not fit the kind, and for arrays and access lists,
    /// which are passed to closures (``RowPlan/Element/withValue(_:name:id:_:)``, ``withAccess(_:_:)``).
    ///
    /// - Parameter name: the type of an id or a reference, or the SQL type of an unknown column.
    @inline(__always)
    package func value(_ bytes: UnsafeRawBufferPointer, name: UnsafeRawBufferPointer) -> BorrowedValue? {
        switch self {
        case .id: .recordID(type: name, id: bytes)
        case .reference: .reference(type: name, id: bytes)
        case .text: Self.text(bytes)
        case .integer: Self.integer(bytes)
        case .number: Self.number(bytes)
        case .boolean: Self.boolean(bytes)
        case .datetime: Self.instant(bytes).map { .datetime($0) }
        case .plainDatetime: Self.instant(bytes).map { .plainDatetime($0) }
        case .json: Self.json(bytes)
        case .bytes: Self.bytes(bytes)
        case .location: Self.location(bytes)
        case .geometry: .geometry(bytes)
        case .asset: .asset(bytes)
        case .access, .array: nil
        case .relation: .relation(type: name)
        case .unknown: .unknown(name)
        }
    }
}

extension StoredValue {
    /// Decodes the bytes of a column that is not NULL; nil for bytes that do not fit the kind.
    init?(_ bytes: UnsafeRawBufferPointer, of kind: RowPlan.Kind) {
        switch kind {
        case .json, .access:
            self = .json(JSONText(validated: Array(bytes.dropFirst())))
        case .array(let element):
            // One of several dimensions is a value of an unsupported type.
            var value = StoredValue.opaque
            element.withValue(bytes, name: bytes) {
                $0
            } _: { borrowed in
                guard case .array(let elements) = borrowed else { return }
                value = .array(elements.map { ResolvedLiteral($0) })
            }
            self = value
        case .relation:
            self = .array([])
        default:
            guard let value = kind.value(bytes, name: bytes) else { return nil }
            self = ResolvedLiteral(value).map { .scalar($0) } ?? .opaque
        }
    }
}

extension ResolvedLiteral {
    /// Copies a value of a row; nil for one that is compared with no other.
    fileprivate init?(_ value: BorrowedValue) {
        switch value {
        case .string(let bytes), .recordID(_, let bytes), .reference(_, let bytes), .asset(let bytes):
            self = .text(String(decoding: bytes, as: UTF8.self))
        case .integer(let integer): self = .integer(integer)
        case .number(let number): self = .number(number)
        case .boolean(let flag): self = .boolean(flag)
        case .datetime(let instant), .plainDatetime(let instant): self = .datetime(instant)
        case .bytes(let bytes): self = .bytes(Array(bytes))
        case .location(let location): self = .location(location)
        case .geometry(let ewkb):
            guard let geometry = Geometry(ewkb: ewkb) else { return nil }
            self = .geometry(geometry)
        case .null, .json, .array, .relation, .unknown: return nil
        }
    }
}

extension ResolvedLiteral {
    var sql: SQL {
        var sql = SQL()
        bind(to: &sql)
        return sql
    }

    /// Appends a placeholder for the value.
    func bind(to sql: inout SQL) {
        switch self {
        case .text(let text): sql.bind(text)
        case .integer(let integer): sql.bind(integer)
        case .number(let number): sql.bind(number)
        case .decimal(let number):
            sql.bind(number.description)
            sql.append(raw: "::numeric")
        case .boolean(let flag): sql.bind(flag)
        case .datetime(let instant):
            sql.bind(PostgresTimestamp(microsecondsSince2000: instant.microseconds))
        case .bytes(let bytes): sql.bind(bytes)
        case .location(let location): sql.bind(location.ewkb)
        case .geometry(let geometry): sql.bind(geometry.ewkb)
        }
    }
}

extension ResolvedList {
    var sql: SQL {
        switch self {
        case .texts(let texts): "\(texts)"
        case .integers(let integers): "\(integers)"
        case .numbers(let numbers): "\(numbers)"
        case .decimals(let numbers): "\(numbers.map(\.description))::numeric[]"
        case .booleans(let flags): "\(flags)"
        case .datetimes(let instants): "\(instants.map { PostgresTimestamp(microsecondsSince2000: $0.microseconds) })"
        case .bytes(let strings): "\(strings)"
        case .locations(let locations): "\(locations.map(\.ewkb))"
        }
    }
}

extension RowPlan.Kind {
    /// Calls `body` with the access list of a column, in its wire form.
    ///
    /// - Parameter isWhole: whether the reader sees entries that name someone.
    package func withAccess(_ bytes: UnsafeRawBufferPointer, isWhole: Bool = true, _ body: (BorrowedValue) -> Void) {
        guard case .json(let text) = Self.json(bytes) else { return }
        AccessList.withEmitted(storedJSON: text, isWhole: isWhole) { body(.json($0)) }
    }
}

// MARK: All types

extension FieldType {
    /// Returns whether a column of this type takes a value. Integers, whole numbers and sequences are interchangeable; texts
    /// and arrays are checked one by one when they are written.
    package func admission(of value: RecordValue) -> FieldAdmission {
        switch value {
        case .null: .fits
        case .string where TextCast(self) != nil: .fits
        default: column.admission(of: value)
        }
    }

    /// Returns the type that holds the values of both, or nil: records of one request may give a new field an integer and a
    /// fraction.
    func joined(with other: FieldType) -> FieldType? {
        self == other ? self : column.joined(with: other) ?? other.column.joined(with: self)
    }
}

extension Int64 {
    /// Reads eight bytes in network order; nil for another number of bytes.
    @inline(__always)
    init?(networkOrder bytes: UnsafeRawBufferPointer) {
        guard bytes.count == 8 else { return nil }
        self = Int64(bigEndian: bytes.loadUnaligned(as: Int64.self))
    }
}
