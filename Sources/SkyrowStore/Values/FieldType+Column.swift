internal import SkyrowJSON
package import SkyrowModel
internal import SkyrowPostgres

// The lists of the value types: a new one gets a line in each.

extension FieldType {
    /// What the store does with fields of the type.
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

    /// The types in the order in which a column of the database is looked at.
    private static let columns: [any ColumnType.Type] = [
        ReferenceColumn.self, RelationColumn.self, TextColumn.self, SequenceColumn.self, IntegerColumn.self,
        NumberColumn.self,
        BooleanColumn.self, DatetimeColumn.self, JSONColumn.self, BytesColumn.self, LocationColumn.self,
        GeometryColumn.self, ArrayColumn.self,
    ]

    /// The type of the field that a column of the database is.
    init(_ column: CatalogRow.Column) {
        self = Self.columns.lazy.compactMap { $0.type(of: column) }.first ?? .unknown(column.typeName)
    }
}

extension RowPlan.Kind {
    /// What some bytes of a row are, which are not NULL; nil when they are not of the kind, and for an array and an
    /// access list, which are lent (``RowPlan/Element/withValue(_:name:id:_:)``, ``withAccess(_:_:)``).
    ///
    /// - Parameter name: the type that an id or a reference names, or the SQL type of an unknown column.
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
    /// Lends the access list that some bytes of a row are, in the form of messages.
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

// MARK: For all types

extension FieldType {
    /// Whether a column of this type takes a value; integers, whole numbers and sequences mix, and texts and arrays are
    /// judged one by one when they are written.
    package func admission(of value: RecordValue) -> FieldAdmission {
        switch value {
        case .null: .fits
        case .string where TextCast(self) != nil: .fits
        default: column.admission(of: value)
        }
    }

    /// The type that holds what both hold, nil when there is none: two records of one request may name a new field
    /// with an integer and a fraction.
    func joined(with other: FieldType) -> FieldType? {
        self == other ? self : column.joined(with: other) ?? other.column.joined(with: self)
    }
}

extension Int64 {
    /// Eight bytes in network order; nil when there are not as many.
    @inline(__always)
    init?(networkOrder bytes: UnsafeRawBufferPointer) {
        guard bytes.count == 8 else { return nil }
        self = Int64(bigEndian: bytes.loadUnaligned(as: Int64.self))
    }
}
