internal import SkyrowConcurrency
package import SkyrowModel
package import SkyrowPostgres

/// The rows of one result, and the plan for emitting them.
///
/// Values that are visible in some records only are emitted if the reader may see them in that record, by the same rules that
/// queries apply in SQL (``QueryText``).
package final class StoredRows: Sendable {
    let result: PostgresResult
    let plan: RowPlan
    private let reader: FieldAccess
    fileprivate let lists: [IncludedList]
    /// The included records that are sent once, separately from the rows; nil if they are nested in the rows.
    fileprivate let table: IncludedTable?
    /// The plan with every field, where the rows have all columns of a table.
    private let whole: RowPlan?

    /// - Parameters:
    ///   - reader: the reader of the rows.
    ///   - lists: included records from other results.
    package init(_ result: PostgresResult, plan: RowPlan, for reader: FieldAccess, lists: [IncludedList] = []) {
        self.result = result
        self.plan = plan.fitting(result)
        self.reader = reader
        self.lists = lists
        table = nil
        whole = nil
    }

    /// Rows with all columns of a table, as statements return them that write or judge.
    init(_ result: PostgresResult, of table: RecordTable, for reader: FieldAccess) {
        self.result = result
        plan = table.plan(for: reader).fitting(result)
        whole = table.wholeRow.plan
        self.reader = reader
        lists = []
        self.table = nil
    }

    /// The same rows for a reader who sees every field.
    fileprivate var unrestricted: StoredRows {
        reader.isUnrestricted ? self : StoredRows(result, plan: whole ?? plan, for: .unrestricted)
    }

    /// The same rows, with ids in place of the included records.
    init(_ rows: StoredRows, naming table: IncludedTable) {
        result = rows.result
        plan = rows.plan
        reader = rows.reader
        lists = rows.lists
        self.table = table
        whole = nil
    }

    /// Calls `body` with each record that a row includes, with repetitions.
    func forEachIncluded(in row: Int, _ body: (IncludedRow) -> Void) {
        for inclusion in plan.inclusions {
            guard let included = inclusion.plan, !result.isNull(row: row, column: included.idColumn) else { continue }
            body(IncludedRow(rows: self, row: row, plan: included))
        }
        for list in lists {
            guard let rows = list.rows else { continue }
            for place in list.places[row] { body(IncludedRow(rows: rows, row: place, plan: rows.plan)) }
        }
    }

    /// Returns the conditions of a plan that do not hold for the reader in a row, one bit each; most plans have no conditions.
    @inline(__always)
    fileprivate func unmet(_ row: Int, _ plan: RowPlan) -> UInt64 {
        plan.reaches.isEmpty ? 0 : unmetReaches(row, plan)
    }

    private func unmetReaches(_ row: Int, _ plan: RowPlan) -> UInt64 {
        let user: UserID
        switch reader {
        case .unrestricted: return 0
        case .audience(let audience):
            guard let known = audience.user else { return .max }
            user = known
        }
        let isOwner = owns(user, row, plan)
        var unmet = isOwner ? 0 : plan.ownersReaches
        for (bit, reach) in plan.otherReaches
        where !reach.holds(isOwner: isOwner, isMember: { isMember(user, $0, row, plan) }) {
            unmet |= bit
        }
        return unmet
    }

    /// Whether the reader sees the whole access list of the record in a row.
    fileprivate func seesList(_ row: Int, _ plan: RowPlan) -> Bool {
        holds(plan.list, row, plan)
    }

    /// Whether a condition holds for the reader in a row.
    fileprivate func holds(_ condition: AccessCondition, _ row: Int, _ plan: RowPlan) -> Bool {
        if reader.isUnrestricted || condition.isAlways { return true }
        if condition.isNever { return isPrivate(row, plan) }
        guard case .audience(let audience) = reader, let user = audience.user else { return false }
        return isPrivate(row, plan)
            || condition.holds(
                isOwner: owns(user, row, plan),
                isMember: { isMember(user, $0, row, plan) },
                isListed: { isListed(audience, $0, row, plan) }
            )
    }

    /// Whether the record in a row is private; access lists have no effect there, and only its user reads it.
    private func isPrivate(_ row: Int, _ plan: RowPlan) -> Bool {
        result.unsafeBytes(row, plan.idColumn).map { StoredID.isPrivate($0) } ?? false
    }

    @inline(__always)
    private func owns(_ user: UserID, _ row: Int, _ plan: RowPlan) -> Bool {
        holds(user, result.unsafeBytes(row, plan.ownerColumn))
    }

    /// Whether the list of the record in a row has an entry for an audience that allows an action.
    private func isListed(_ audience: Audience, _ action: AccessAction, _ row: Int, _ plan: RowPlan) -> Bool {
        guard let member = plan.lentMembers.buffer.first(where: { $0.kind == .access }),
            let bytes = result.unsafeBytes(row, member.column),
            case .json(let text)? = RowPlan.Kind.json.value(bytes, name: bytes)
        else { return false }
        return AccessList(storedJSON: text).admits(audience, action)
    }

    /// Whether a column has the id of a user.
    @inline(__always)
    private func holds(_ user: UserID, _ bytes: UnsafeRawBufferPointer?) -> Bool {
        bytes.map { user.rawValue.isSameText(as: $0) } ?? false
    }

    /// Whether a field of the record in a row has the id of a user.
    fileprivate func isMember(_ user: UserID, _ field: MemberField, _ row: Int, _ plan: RowPlan) -> Bool {
        guard let column = plan.namedColumns[field.name] else { return false }
        guard field.isArray else { return holds(user, result.unsafeBytes(row, column)) }
        guard let ids = try? result.decode(row: row, column: column, as: [String?]?.self) else { return false }
        return ids.contains { $0?.isSameText(as: user.rawValue) ?? false }
    }

    package subscript(row: Int) -> StoredRow {
        StoredRow(rows: self, row: row)
    }

    /// Returns the row of each of some wire ids, nil for a missing one.
    ///
    /// - Parameter id: returns one of the ids. Rows in the order of the ids, the usual case, take one comparison each.
    func rows(of count: Int, _ id: (Int) -> String) -> [StoredRow?] {
        var found: [StoredRow?] = []
        found.reserveCapacity(count)
        var next = 0
        var rest: [TextKey: StoredRow]?
        for place in 0..<count {
            let id = id(place)
            if next < result.rowCount, has(id, in: next) {
                found.append(self[next])
                next += 1
            } else {
                let others = rest ?? byWireID()
                rest = others
                found.append(others[TextKey(id)])
            }
        }
        return found
    }

    private func has(_ id: String, in row: Int) -> Bool {
        result.withColumn(row, plan.idColumn) { stored in
            stored.map { id.isSameText(as: StoredID.wireID(of: $0)) } ?? false
        }
    }

    /// Returns the rows by wire id; of several with the same one, the first.
    func byWireID() -> [TextKey: StoredRow] {
        var rows = [TextKey: StoredRow](minimumCapacity: result.rowCount)
        for row in 0..<result.rowCount {
            let stored = self[row]
            guard let id = stored.storedID else { continue }
            let key = TextKey(StoredID.wireID(of: id))
            if rows[key] == nil { rows[key] = stored }
        }
        return rows
    }
}

/// Records of one result that are included in those of another, under a name.
package struct IncludedList: Sendable {
    let name: String
    /// nil if there are no records.
    let rows: StoredRows?
    /// The included rows of each record, by the record's row.
    let places: [[Int]]
    /// The number of included records for each record, if requested.
    let counts: [Int]?

    fileprivate func emit(_ row: Int, _ table: IncludedTable?, into sink: inout some RecordSink) {
        sink.transient(name)
        sink.beginList(count: counts?[row])
        if let rows {
            withExtendedLifetime(rows) {
                for place in places[row] {
                    if let table {
                        IncludedRow(rows: rows, row: place, plan: rows.plan).emit(namedIn: table, into: &sink)
                    } else {
                        rows[place].emit(into: &sink)
                    }
                }
            }
        }
        sink.endList()
    }
}

/// An included record: some columns of a row.
///
/// Three words long, so that an `any RecordSource` holds it without an allocation.
struct IncludedRow: RecordSource {
    fileprivate let rows: StoredRows
    fileprivate let row: Int
    fileprivate let plan: RowPlan

    func emit(into sink: inout some RecordSink) {
        withExtendedLifetime(rows) { StoredRow(rows: rows, row: row).emit(plan, [], into: &sink) }
    }

    /// Emits only the id if the record is in the table.
    fileprivate func emit(namedIn table: IncludedTable, into sink: inout some RecordSink) {
        if table.hasRecord(self), withID({ sink.transientID(type: $0, id: $1) }) { return }
        StoredRow(rows: rows, row: row).emit(plan, [], into: &sink)
    }

    /// The stored id of the record.
    var storedID: String? {
        rows.result.withColumn(row, plan.idColumn) { $0.map { String(decoding: $0, as: UTF8.self) } }
    }

    /// Returns the id on the wire, `"person/9"`.
    func id(of stored: String) -> String {
        let type = plan.idMember.map { String(decoding: plan.name(of: $0), as: UTF8.self) } ?? ""
        return "\(type)/\(StoredID.wireID(of: stored))"
    }

    /// Calls `body` with the type and the wire id; returns false without an id.
    private func withID(_ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Void) -> Bool {
        guard let member = plan.idMember, let stored = rows.result.unsafeBytes(row, member.column) else { return false }
        body(plan.name(of: member), StoredID.wireID(of: stored))
        return true
    }
}

/// A record in a row of a result, which copies nothing until a sink needs it.
///
/// Two words long, so that an `any RecordSource` holds it without an allocation.
package struct StoredRow: RecordSource {
    fileprivate let rows: StoredRows
    fileprivate let row: Int

    package var isWhole: Bool { !rows.result.isShort(row: row) }

    /// The record with the fields and the entries of the access list that are hidden from its reader; nil if it is too large.
    package var wholeRecord: Record? {
        isWhole ? StoredRow(rows: rows.unrestricted, row: row).collected() : nil
    }

    package func emit(into sink: inout some RecordSink) {
        withExtendedLifetime(rows) {
            emit(rows.plan, rows.lists, naming: rows.table, into: &sink)
        }
    }

    /// Whether a field that rules refer to has the id of a user.
    func names(_ user: UserID, in field: MemberField) -> Bool {
        rows.isMember(user, field, row, rows.plan)
    }

    /// Whether a condition holds for the reader in this record; in a private record, every condition does.
    func holds(_ condition: AccessCondition) -> Bool {
        rows.holds(condition, row, rows.plan)
    }

    /// The stored id of the row.
    var storedID: String? {
        rows.result.withColumn(row, rows.plan.idColumn) { $0.map { String(decoding: $0, as: UTF8.self) } }
    }

    /// The time of the last change.
    var updatedAt: PostgresTimestamp? {
        guard let member = rows.plan.members.first(where: { $0.reserved == .updatedAt }) else { return nil }
        return try? rows.result.decode(row: row, column: member.column)
    }

    fileprivate func emit(
        _ plan: RowPlan,
        _ lists: [IncludedList],
        naming table: IncludedTable? = nil,
        into sink: inout some RecordSink
    ) {
        let result = rows.result
        let unmet = rows.unmet(row, plan)
        sink.beginRecord()
        for member in plan.lentMembers.buffer {
            if unmet != 0, member.reach >= 0, unmet & RowPlan.bit(of: member.reach) != 0 { continue }
            if let bytes = result.unsafeBytes(row, member.column) {
                if member.kind == .access {
                    let isWhole = rows.seesList(row, plan)
                    member.kind.withAccess(bytes, isWhole: isWhole) { sink.member(plan.key(of: member), $0) }
                } else {
                    emit(bytes, as: member, of: plan, into: &sink)
                }
            } else if member.kind == .access {
                sink.member(plan.key(of: member), .null)
            }
        }
        if !plan.inclusions.isEmpty || !lists.isEmpty {
            sink.beginTransients()
            for inclusion in plan.inclusions {
                sink.transient(inclusion.name)
                if let column = inclusion.number {
                    if let number = try? result.decode(row: row, column: column, as: Double?.self) {
                        sink.transientNumber(number)
                    } else {
                        sink.missingTransient()
                    }
                } else if let included = inclusion.plan, !result.isNull(row: row, column: included.idColumn) {
                    if let table {
                        IncludedRow(rows: rows, row: row, plan: included).emit(namedIn: table, into: &sink)
                    } else {
                        emit(included, [], into: &sink)
                    }
                } else {
                    sink.missingTransient()
                }
            }
            for list in lists { list.emit(row, table, into: &sink) }
            sink.endTransients()
        }
        sink.endRecord()
    }

    @inline(__always)
    private func emit(
        _ bytes: UnsafeRawBufferPointer,
        as member: RowPlan.LentMember,
        of plan: RowPlan,
        into sink: inout some RecordSink
    ) {
        if case .array(let element) = member.kind {
            element.withValue(bytes, name: plan.name(of: member), id: StoredID.wireID(of:)) {
                sink.member(plan.key(of: member), $0)
            }
            return
        }
        let isID = member.kind == .id || member.kind == .reference
        let bytes = isID ? StoredID.wireID(of: bytes) : bytes
        // The select list guarantees the type of the bytes.
        guard let value = member.kind.value(bytes, name: plan.name(of: member)) else { return }
        sink.member(plan.key(of: member), value)
    }
}
