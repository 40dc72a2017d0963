/// Assembles transactions from the messages between begin and commit.
struct TransactionAssembler {
    fileprivate struct Open {
        let transactionID: UInt32
        let commitPosition: PostgresLSN
        var rows: [RowChange] = []
        var truncations: [ChangeTransaction.Truncation] = []
        var counts: [PostgresOID: Int] = [:]
        var relations: [PostgresOID: ReplicationRelation] = [:]
        var byteCount = 0
        var isComplete = true
    }

    private let limits: ChangeTransactionLimits
    /// By table OID; bounded by the tables that were in the publication since the connection was opened.
    private var relations: [PostgresOID: ReplicationRelation] = [:]
    private var open: Open?

    init(limits: ChangeTransactionLimits) {
        self.limits = limits
    }

    /// Whether a transaction has begun and not ended.
    var isInTransaction: Bool { open != nil }

    /// Processes a message; returns the transaction that it completes.
    mutating func take(_ message: ReplicationMessage) throws(PgOutputError) -> ChangeTransaction? {
        switch message {
        case .begin(let position, _, let id):
            guard open == nil else { throw .nestedTransaction }
            open = Open(transactionID: id, commitPosition: position)
        case .commit(let position, let end, let time):
            guard let ended = open else { throw .commitWithoutBegin }
            guard ended.commitPosition == position else { throw .otherCommit }
            open = nil
            return ChangeTransaction(
                transactionID: ended.transactionID,
                commitPosition: position,
                endPosition: end,
                committedAt: time,
                rows: ended.rows,
                truncations: ended.truncations,
                counts: ended.counts,
                relations: ended.relations,
                isComplete: ended.isComplete,
                byteCount: ended.byteCount
            )
        case .relation(let relation): relations[relation.oid] = relation
        case .origin, .type, .message: break
        case .insert(let oid, let new): try add(.insert, of: oid, old: nil, new: new)
        case .update(let oid, let old, let new): try add(.update, of: oid, old: old, new: new)
        case .delete(let oid, let old): try add(.delete, of: oid, old: old, new: nil)
        case .truncate(let oids, _, _):
            guard open != nil else { throw .rowOutsideTransaction }
            for oid in oids {
                let relation = try relation(oid)
                open?.relations[oid] = relation
                open?.counts[oid, default: 0] += 0
                if let index = open?.rows.count {
                    open?.truncations.append(ChangeTransaction.Truncation(relation: relation, index: index))
                }
            }
        }
        return nil
    }

    private func relation(_ oid: PostgresOID) throws(PgOutputError) -> ReplicationRelation {
        guard let relation = relations[oid] else { throw .unknownRelation(oid) }
        return relation
    }

    private mutating func add(
        _ kind: RowChange.Kind,
        of oid: PostgresOID,
        old: ReplicationOldTuple?,
        new: ReplicationTuple?
    ) throws(PgOutputError) {
        guard open != nil else { throw .rowOutsideTransaction }
        let relation = try relation(oid)
        for tuple in [old?.tuple, new] {
            guard let tuple, tuple.count != relation.columns.count else { continue }
            throw .columnCount(tuple.count, expected: relation.columns.count)
        }
        open?.add(RowChange(kind: kind, relation: relation, old: old, new: new), limits: limits)
    }
}

extension TransactionAssembler.Open {
    fileprivate mutating func add(_ row: RowChange, limits: ChangeTransactionLimits) {
        counts[row.relation.oid, default: 0] += 1
        relations[row.relation.oid] = row.relation
        guard isComplete else { return }
        // Both rows of a change are slices of one message.
        byteCount += (row.new ?? row.old?.tuple)?.byteCount ?? 0
        guard rows.count < limits.rows, byteCount <= limits.bytes else {
            isComplete = false
            rows = []
            truncations = truncations.map { ChangeTransaction.Truncation(relation: $0.relation, index: 0) }
            byteCount = 0
            return
        }
        byteCount += MemoryLayout<RowChange>.stride
        rows.append(row)
    }
}
