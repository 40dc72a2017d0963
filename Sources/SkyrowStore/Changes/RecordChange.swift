package import SkyrowModel
package import SkyrowPostgres
package import SkyrowQuery

/// What one committed transaction changed in the records of an application.
package struct CommittedTransaction: Sendable {
    /// What distinguishes it from others.
    package enum ID: Hashable, Sendable {
        /// The revision that it stamped.
        case revision(Int64)
        /// The last 32 bits of its id, as PostgreSQL's log has them.
        case truncated(UInt32)
    }

    package let id: ID
    /// Where its commit ends in PostgreSQL's log; nil where that is not known.
    package let end: UInt64?
    /// In their order.
    package let changes: [RecordChange]
    /// The types of which it changed more than is handed on, all of a table perhaps.
    package let bulk: Set<RecordTypeName>
    /// When it was committed; nil where that is not known.
    package let committedAt: Timestamp?
    /// The moment at which its records were as they are after it; nil where that is not known.
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
    /// Whether what a transaction wrote was visible.
    package func hasSeen(_ transaction: CommittedTransaction.ID) -> Bool {
        switch transaction {
        case .revision(let revision): transactions.contains(revision)
        case .truncated(let id): snapshot.isVisible(truncated: id)
        }
    }
}

/// One record before and after a change.
///
/// An object, since everything that waits for it refers to it.
package final class RecordChange: Sendable {
    /// What is known of the record before.
    package enum Before: Sendable {
        /// There was none.
        case missing
        case row(StoredRecord)
        /// It is not known; a record that was sent as new may have been there too.
        case unknown(mayBeNew: Bool)
    }

    package let table: RecordTable
    package let storedID: String
    package let database: DatabaseScope
    package let before: Before
    /// nil for a record that is gone.
    package let after: StoredRecord?
    /// A row with all columns of the table.
    private struct Place: Sendable {
        let rows: PostgresResult
        let row: Int
    }

    /// The row after, if there is one.
    private let newRow: Place?
    /// The row before, if that is known.
    private let oldRow: Place?

    /// - Parameters:
    ///   - rows: have the row after, if there is one, and behind it the row before, if that is known.
    ///   - row: the first of them.
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

    /// What two changes of one record come to.
    init(_ first: RecordChange, then last: RecordChange) {
        table = last.table
        storedID = last.storedID
        database = last.database
        before = first.before
        after = last.after
        newRow = last.newRow
        oldRow = first.oldRow
    }

    /// The end of a record of which nothing else is known.
    package convenience init(deleting storedID: String, of table: RecordTable) {
        self.init(of: table, storedID: storedID, before: .unknown(mayBeNew: false), after: nil, rows: nil)
    }

    /// A change whose rows have all columns of the table: the row after, if there is one, and then the row before, if that is
    /// known; nil for rows without an id.
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

    /// The record that was there before, where that is known.
    package var old: StoredRecord? {
        if case .row(let record) = before { record } else { nil }
    }

    /// Whether the record before is not known.
    package var lacksBefore: Bool {
        if case .unknown = before { true } else { false }
    }

    /// The id that clients see, `note/1`.
    package var wireID: String { "\(table.name)/\(StoredID.wireID(of: storedID))" }

    /// The record after, as the JSON writer takes it; nil for one that is gone.
    package func source(_ plan: RowPlan, for reader: FieldAccess) -> (any RecordSource)? {
        newRow.map { StoredRows($0.rows, plan: plan, for: reader)[$0.row] }
    }

    /// The record before, likewise; nil where it is not known.
    package func oldSource(_ plan: RowPlan, for reader: FieldAccess) -> (any RecordSource)? {
        oldRow.map { StoredRows($0.rows, plan: plan, for: reader)[$0.row] }
    }

    /// The fields that have another value after the change; all where the record before is not known.
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
    /// How rows with all columns of this table are sent where some fields are seen and some are asked for.
    ///
    /// - Parameters:
    ///   - view: the fields that are hidden, or seen in some records only.
    ///   - asked: the fields to send; nil for all.
    ///   - hasReserved: whether id, owner and the like are sent too.
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

    /// The columns of ``wholeRow``, for rows that come otherwise than as the result of a statement.
    package var rowLayout: PostgresRowLayout {
        PostgresRowLayout(wholeRow.plan.columnTypes(width: wholeRow.width))
    }
}

extension RowPlan {
    /// The name and the type of each column; of one that is no member, `text`.
    fileprivate func columnTypes(width: Int) -> [(name: String, type: PostgresOID)] {
        var columns = [(name: String, type: PostgresOID)](repeating: ("", .text), count: width)
        for member in members { columns[member.column] = (member.key.name, member.kind.oid) }
        return columns
    }
}
