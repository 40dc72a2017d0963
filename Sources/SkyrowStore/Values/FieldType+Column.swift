internal import SkyrowJSON
package import SkyrowModel
internal import SkyrowPostgres

// The lists of value types: a new type adds a line to each.

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
        case .array(let element): ArrayColumn(element: element)
        case .relation(let target): RelationColumn(target: target)
        case .unknown(let name): UnknownColumn(name: name)
        }
    }

    /// The types in the order in which they are tried for a column of the database.
    private static let columns: [any ColumnType.Type] = [
        ReferenceColumn.self, RelationColumn.self, TextColumn.self, SequenceColumn.self, IntegerColumn.self,
        NumberColumn.self,
        BooleanColumn.self, DatetimeColumn.self, JSONColumn.self, BytesColumn.self, LocationColumn.self,
        GeometryColumn.self, ArrayColumn.self,
    ]

    /// The field type of a column of the database.
    init(_ column: CatalogRow.Column) {
        self = Self.columns.lazy.compactMap { $0.type(of: column) }.first ?? .unknown(column.typeName)
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
        case .access, .array: nil
        case .relation: .relation(type: name)
        case .unknown: .unknown(name)
        }
    }
}

extension RowPlan.Kind {
    /// Calls `body` with the access list of a column, in its wire form.
    ///
    /// - Parameter isWhole: whether the reader sees entries that name someone.
    package func withAccess(
        _ bytes: UnsafeRawBufferPointer,
        isWhole: Bool = true,
        _ body: (BorrowedValue) -> Void
    ) {
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
