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
