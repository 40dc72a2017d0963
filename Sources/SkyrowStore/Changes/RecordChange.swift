package import SkyrowModel
package import SkyrowPostgres
package import SkyrowQuery

/// The record changes of one committed transaction of an application.
package struct CommittedTransaction: Sendable {
    /// Identifies a transaction.
    package enum ID: Hashable, Sendable {
        /// The revision that the transaction stamped.
        case revision(Int64)
        /// The low 32 bits of its transaction id, as in PostgreSQL's log.
        case truncated(UInt32)
    }

    package let id: ID
    /// The LSN at which its commit ends; nil if unknown.
    package let end: UInt64?
    /// The changes in their order.
    package let changes: [RecordChange]
    /// The types with more changes than are delivered, possibly a whole table.
    package let bulk: Set<RecordTypeName>
    /// The commit time; nil if unknown.
    package let committedAt: Timestamp?
    /// The snapshot in which its records had their state after it; nil if unknown.
    package let readAt: ChangeMoment?

    package init(
        id: ID,
        end: UInt64? = nil,
        changes: [RecordChange],
        bulk: Set<RecordTypeName> = [],
        committedAt: Timestamp? = nil,
        readAt: ChangeMoment? = nil
    ) {
        self.id = id
        self.end = end
        self.changes = changes
        self.bulk = bulk
        self.committedAt = committedAt
        self.readAt = readAt
    }
}

extension ChangeMoment {
    /// Whether the writes of a transaction were visible.
    package func hasSeen(_ transaction: CommittedTransaction.ID) -> Bool {
        switch transaction {
        case .revision(let revision): transactions.contains(revision)
        case .truncated(let id): snapshot.isVisible(truncated: id)
        }
    }
}

/// One record before and after a change.
///
/// A class, since everything that waits for the change shares it.
package final class RecordChange: Sendable {
    /// What is known of the record before the change.
    package enum Before: Sendable {
        /// The record did not exist.
        case missing
        case row(StoredRecord)
        /// The old row is unknown; a record that was reported as new may have existed.
        case unknown(mayBeNew: Bool)
    }

    package let table: RecordTable
    package let storedID: String
    package let database: DatabaseScope
    package let before: Before
    /// nil for a deleted record.
    package let after: StoredRecord?
    /// A row with all columns of the table.
    private struct Place: Sendable {
        let rows: PostgresResult
        let row: Int
    }

    /// The new row, if any.
    private let newRow: Place?
    /// The old row, if known.
    private let oldRow: Place?

    /// - Parameters:
    ///   - rows: contain the new row, if any, followed by the old row, if known.
    ///   - row: the index of the first of them.
    package init(
        of table: RecordTable,
        storedID: String,
        before: Before,
        after: StoredRecord?,
        rows: PostgresResult?,
        row: Int = 0
    ) {
        self.table = table
        self.storedID = storedID
        self.before = before
        self.after = after
        newRow = after == nil ? nil : rows.map { Place(rows: $0, row: row) }
        oldRow =
            if case .row = before { rows.map { Place(rows: $0, row: after == nil ? row : row + 1) } } else { nil }
        database = after?.database ?? DatabaseScope(ofStoredID: storedID)
    }

    /// Combines two successive changes of one record.
    init(_ first: RecordChange, then last: RecordChange) {
        table = last.table
        storedID = last.storedID
        database = last.database
        before = first.before
        after = last.after
        newRow = last.newRow
        oldRow = first.oldRow
    }

    /// The deletion of a record of which nothing else is known.
    package convenience init(deleting storedID: String, of table: RecordTable) {
        self.init(of: table, storedID: storedID, before: .unknown(mayBeNew: false), after: nil, rows: nil)
    }

    /// A change from rows with all columns: the new row, if any, followed by the old row, if known; nil for rows without an id.
    package convenience init?(
        of table: RecordTable,
        rows: PostgresResult,
        hasAfter: Bool,
        hasBefore: Bool,
        isInsert: Bool
    ) {
        let after = hasAfter ? StoredRecord(rows, row: 0, of: table) : nil
        let old = hasBefore ? StoredRecord(rows, row: hasAfter ? 1 : 0, of: table) : nil
        guard let storedID = after?.storedID ?? old?.storedID else { return nil }
        self.init(
            of: table,
            storedID: storedID,
            before: old.map { .row($0) } ?? (isInsert ? .missing : .unknown(mayBeNew: false)),
            after: after,
            rows: rows
        )
    }

    /// The record before the change, if known.
    package var old: StoredRecord? {
        if case .row(let record) = before { record } else { nil }
    }

    /// Whether the record before the change is unknown.
    package var lacksBefore: Bool {
        if case .unknown = before { true } else { false }
    }

    /// The record id on the wire, `note/1`.
    package var wireID: String { "\(table.name)/\(StoredID.wireID(of: storedID))" }

    /// Returns the new record for the JSON writer; nil for a deleted one.
    package func source(_ plan: RowPlan, for reader: FieldAccess) -> (any RecordSource)? {
        newRow.map { StoredRows($0.rows, plan: plan, for: reader)[$0.row] }
    }

    /// Returns the old record for the JSON writer; nil if it is unknown.
    package func oldSource(_ plan: RowPlan, for reader: FieldAccess) -> (any RecordSource)? {
        oldRow.map { StoredRows($0.rows, plan: plan, for: reader)[$0.row] }
    }

    /// The fields whose values changed; all fields if the old record is unknown.
    package var changedFields: Set<FieldName> {
        guard let newRow, let oldRow else { return Set(table.columns.map(\.field)) }
        let reserved = table.wholeRow.reservedWidth
        var changed: Set<FieldName> = []
        for (place, column) in table.columns.enumerated() {
            let isSame = newRow.rows.withColumn(newRow.row, reserved + place) { new in
                oldRow.rows.withColumn(oldRow.row, reserved + place) { old in
                    switch (new, old) {
                    case (nil, nil): true
                    case (let new?, let old?): new.elementsEqual(old)
                    default: false
                    }
                }
            }
            if !isSame { changed.insert(column.field) }
        }
        return changed
    }
}

extension RecordTable {
    /// Returns the plan for sending rows with all columns of this table.
    ///
    /// - Parameters:
    ///   - view: the fields that are hidden, or visible in some records only.
    ///   - asked: the fields to send; nil for all.
    ///   - hasReserved: whether to send id, owner and the other reserved members.
    package func plan(_ view: FieldView, asked: Set<FieldName>?, hasReserved: Bool = true) -> RowPlan {
        let whole = wholeRow.plan
        let reserved = hasReserved ? Array(whole.members.prefix(wholeRow.reservedWidth)) : []
        let fields = zip(columns, whole.members.dropFirst(wholeRow.reservedWidth)).compactMap {
            column,
            member -> RowPlan.Member? in
            guard !view.hidden.contains(column.field), asked?.contains(column.field) ?? true else { return nil }
            var member = member
            member.reach = view.partial[column.field]
            return member
        }
        return RowPlan(
            members: reserved + fields,
            idColumn: whole.idColumn,
            ownerColumn: whole.ownerColumn,
            namedColumns: whole.namedColumns,
            list: view.list
        )
    }

    /// The columns of ``wholeRow``, for rows that are not the result of a statement.
    package var rowLayout: PostgresRowLayout { PostgresRowLayout(wholeRow.plan.columnTypes(width: wholeRow.width)) }
}

extension RowPlan {
    /// Returns the name and type of each column; `text` for a column that is not a member.
    fileprivate func columnTypes(width: Int) -> [(name: String, type: PostgresOID)] {
        var columns = [(name: String, type: PostgresOID)](repeating: ("", .text), count: width)
        for member in members { columns[member.column] = (member.key.name, member.kind.oid) }
        return columns
    }
}
