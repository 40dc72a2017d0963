internal import SkyrowJSON
internal import SkyrowModel
package import SkyrowPostgres
package import SkyrowQuery

extension StoredRecord {
    /// Reads the record from a row with all columns of a table (``RecordTable/wholeRow``), for the in-memory interpreter.
    ///
    /// nil for a row without an id.
    package init?(_ result: PostgresResult, row: Int, of table: RecordTable) {
        let plan = table.wholeRow.plan
        guard let id = result.text(row, plan.idColumn) else { return nil }
        self.init(type: table.name, storedID: id, database: DatabaseScope(ofStoredID: id))
        for member in plan.members.prefix(table.wholeRow.reservedWidth) {
            let column = member.column
            switch member.reserved {
            case .owner: owner = result.text(row, column).map { UserID($0) }
            case .createdBy: createdBy = result.text(row, column).map { UserID($0) }
            case .updatedBy: updatedBy = result.text(row, column).map { UserID($0) }
            case .createdAt: createdAt = result.instant(row, column)
            case .updatedAt: updatedAt = result.instant(row, column)
            case .revision: revision = result.withColumn(row, column) { $0.flatMap { Int64(networkOrder: $0) } }
            case .access:
                access = result.withColumn(row, column) { bytes in
                    bytes.map { AccessList(storedJSON: UnsafeRawBufferPointer(rebasing: $0.dropFirst())) }
                }
            case .id, .database, nil: break
            }
        }
        fields.reserveCapacity(table.columns.count)
        for (column, member) in zip(table.columns, plan.members.dropFirst(table.wholeRow.reservedWidth)) {
            let value = result.withColumn(row, member.column) { bytes in
                bytes.flatMap { StoredValue($0, of: member.kind) }
            }
            if let value { fields[column.field] = value }
        }
    }
}

extension DatabaseScope {
    /// The database of a stored id.
    init(ofStoredID id: String) {
        let utf8 = id.utf8
        guard utf8.first == UInt8(ascii: "~"), let slash = utf8.firstIndex(of: UInt8(ascii: "/")) else {
            self = .everyone
            return
        }
        self = .user(UserID(String(id[utf8.index(after: utf8.startIndex)..<slash])))
    }
}

extension PostgresResult {
    fileprivate func text(_ row: Int, _ column: Int) -> String? {
        withColumn(row, column) { $0.map { String(decoding: $0, as: UTF8.self) } }
    }

    fileprivate func instant(_ row: Int, _ column: Int) -> Timestamp? {
        withColumn(row, column) { $0.flatMap { RowPlan.Kind.instant($0) } }
    }
}

extension StoredValue {
    /// Decodes the bytes of a column that is not NULL; nil for bytes that do not fit the kind.
    fileprivate init?(_ bytes: UnsafeRawBufferPointer, of kind: RowPlan.Kind) {
        switch kind {
        case .id, .text, .reference:
            self = .scalar(.text(String(decoding: bytes, as: UTF8.self)))
        case .plainDatetime, .datetime:
            guard let instant = RowPlan.Kind.instant(bytes) else { return nil }
            self = .scalar(.datetime(instant))
        case .integer:
            guard let integer = Int64(networkOrder: bytes) else { return nil }
            self = .scalar(.integer(integer))
        case .number:
            guard let bits = Int64(networkOrder: bytes) else { return nil }
            self = .scalar(.number(Double(bitPattern: UInt64(bitPattern: bits))))
        case .boolean:
            self = .scalar(.boolean(bytes.first == 1))
        case .json, .access:
            self = .json(JSONText(validated: Array(bytes.dropFirst())))
        case .bytes:
            self = .scalar(.bytes(Array(bytes)))
        case .location:
            self = Location(ewkb: bytes).map { .scalar(.location($0)) } ?? .opaque
        case .geometry:
            self = Geometry(ewkb: bytes).map { .scalar(.geometry($0)) } ?? .opaque
        case .array(let element):
            self.init(arrayOf: element, bytes)
        case .relation:
            self = .array([])
        case .unknown:
            self = .opaque
        }
    }

    /// Decodes an array; one of several dimensions is a value of an unsupported type.
    private init(arrayOf element: RowPlan.Element, _ bytes: UnsafeRawBufferPointer) {
        var value = StoredValue.opaque
        element.withValue(bytes, name: bytes) {
            $0
        } _: { borrowed in
            guard case .array(let elements) = borrowed else { return }
            value = .array(elements.map { ResolvedLiteral(element: $0) })
        }
        self = value
    }
}

extension ResolvedLiteral {
    fileprivate init?(element: BorrowedValue) {
        switch element {
        case .string(let bytes), .reference(_, let bytes): self = .text(String(decoding: bytes, as: UTF8.self))
        case .integer(let integer): self = .integer(integer)
        case .number(let number): self = .number(number)
        case .boolean(let flag): self = .boolean(flag)
        default: return nil
        }
    }
}
