package import SkyrowModel
package import SkyrowPostgres

/// The rows of one result, and the plan by which each is emitted.
///
/// A value that is visible to owners only is emitted for a row whose owner is the one for whom the rows are, as the statements of
/// queries have it compared (``QueryText``).
package final class StoredRows: Sendable {
    let result: PostgresResult
    let plan: RowPlan
    private let reader: FieldAccess

    /// - Parameter reader: for whom the rows are.
    package init(_ result: PostgresResult, plan: RowPlan, for reader: FieldAccess) {
        self.result = result
        self.plan = plan.fitting(result)
        self.reader = reader
    }

    /// Whether the owner of the record in a row sees what is for owners alone.
    fileprivate func isOwners(_ row: Int, _ plan: RowPlan) -> Bool {
        switch reader {
        case .unrestricted: return true
        case .anonymous: return false
        case .user(let user):
            return result.withColumn(row, plan.ownerColumn) { $0.map { $0.elementsEqual(user.rawValue.utf8) } ?? false }
        }
    }

    package subscript(row: Int) -> StoredRow {
        StoredRow(rows: self, row: row)
    }

    /// The rows by the id that clients see; the first of those that have the same.
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

/// A record as a row of a result: nothing is copied until a sink asks.
///
/// Two words, so that an `any RecordSource` holds it without an allocation.
package struct StoredRow: RecordSource {
    fileprivate let rows: StoredRows
    fileprivate let row: Int

    package var isWhole: Bool { !rows.result.isShort(row: row) }

    package func emit(into sink: inout some RecordSink) {
        withExtendedLifetime(rows) {
            emit(rows.plan, into: &sink)
        }
    }

    /// The stored id of the row.
    var storedID: String? {
        rows.result.withColumn(row, rows.plan.idColumn) { $0.map { String(decoding: $0, as: UTF8.self) } }
    }

    /// When the record was changed last.
    var updatedAt: PostgresTimestamp? {
        guard let member = rows.plan.members.first(where: { $0.key.name == "_updated_at" }) else { return nil }
        return try? rows.result.decode(row: row, column: member.column)
    }

    private func emit(_ plan: RowPlan, into sink: inout some RecordSink) {
        let result = rows.result
        let hidesOwners = plan.hasOwnersMembers && !rows.isOwners(row, plan)
        sink.beginRecord()
        for member in plan.lentMembers.buffer {
            if hidesOwners, member.isForOwnersEyes { continue }
            if let bytes = result.unsafeBytes(row, member.column) {
                emit(bytes, as: member, of: plan, into: &sink)
            } else if member.kind == .access {
                sink.member(plan.key(of: member), .null)
            }
        }
        if !plan.inclusions.isEmpty {
            sink.beginTransients()
            for inclusion in plan.inclusions {
                sink.transient(inclusion.name)
                if let included = inclusion.plan, !result.isNull(row: row, column: included.idColumn) {
                    emit(included, into: &sink)
                } else {
                    sink.missingTransient()
                }
            }
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
        let key = plan.key(of: member)
        switch member.kind {
        case .id:
            sink.member(key, .recordID(type: plan.name(of: member), id: StoredID.wireID(of: bytes)))
        case .access, .json:
            // jsonb_send: one byte with the version of the format, then the text.
            sink.member(key, .json(UnsafeRawBufferPointer(rebasing: bytes.dropFirst())))
        case .text:
            sink.member(key, .string(bytes))
        case .plainDatetime:
            sink.member(key, .plainDatetime(Timestamp(microseconds: Int64(bytes))))
        case .datetime:
            sink.member(key, .datetime(Timestamp(microseconds: Int64(bytes))))
        case .integer:
            sink.member(key, .integer(Int64(bytes)))
        case .number:
            sink.member(key, .number(Double(bitPattern: UInt64(bitPattern: Int64(bytes)))))
        case .boolean:
            sink.member(key, .boolean(bytes.first == 1))
        case .reference:
            sink.member(key, .reference(type: plan.name(of: member), id: StoredID.wireID(of: bytes)))
        case .bytes:
            sink.member(key, .bytes(bytes))
        case .unknown:
            sink.member(key, .unknown(plan.name(of: member)))
        }
    }
}

extension Int64 {
    /// Eight bytes in network order; 0 when there are fewer, which the select list rules out.
    @inline(__always)
    fileprivate init(_ bytes: UnsafeRawBufferPointer) {
        self = bytes.count == 8 ? Int64(bigEndian: bytes.loadUnaligned(as: Int64.self)) : 0
    }
}
