package import SkyrowModel
package import SkyrowPostgres

/// A record as a row of a result: nothing is copied until a sink asks.
///
/// Three words, so that an `any RecordSource` holds it without an allocation.
package struct StoredRow: RecordSource {
    package let result: PostgresResult
    package let plan: RowPlan
    package let row: Int

    package init(result: PostgresResult, plan: RowPlan, row: Int) {
        self.result = result
        self.plan = plan
        self.row = row
    }

    package func emit(into sink: inout some RecordSink) {
        emit(plan, into: &sink)
    }

    /// The stored id of the row.
    var storedID: String? {
        result.withColumn(row, plan.idColumn) { $0.map { String(decoding: $0, as: UTF8.self) } }
    }

    /// When the record was changed last.
    var updatedAt: PostgresTimestamp? {
        guard let member = plan.members.first(where: { $0.key.name == "_updated_at" }) else { return nil }
        return try? result.decode(row: row, column: member.column)
    }

    /// The rows of a result by the id that clients see; the first of those that have the same.
    static func byWireID(_ result: PostgresResult, plan: RowPlan) -> [TextKey: StoredRow] {
        var rows = [TextKey: StoredRow](minimumCapacity: result.rowCount)
        for row in 0..<result.rowCount {
            let stored = StoredRow(result: result, plan: plan, row: row)
            guard let id = stored.storedID else { continue }
            let key = TextKey(StoredID.wireID(of: id))
            if rows[key] == nil { rows[key] = stored }
        }
        return rows
    }

    private func emit(_ plan: RowPlan, into sink: inout some RecordSink) {
        sink.beginRecord()
        for member in plan.members {
            result.withColumn(row, member.column) { bytes in
                if let bytes {
                    emit(bytes, as: member, of: plan.type, into: &sink)
                } else if case .access = member.kind {
                    sink.member(member.key, .null)
                }
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
        as member: RowPlan.Member,
        of type: RecordTypeName,
        into sink: inout some RecordSink
    ) {
        let oid = result.columnType(member.column)
        switch oid == member.oid ? member.kind : RowPlan.Kind(changedTo: oid) {
        case .id:
            sink.member(member.key, .recordID(type, StoredID.wireID(of: bytes)))
        case .access, .json:
            // jsonb_send: one byte with the version of the format, then the text.
            sink.member(member.key, .json(UnsafeRawBufferPointer(rebasing: bytes.dropFirst())))
        case .text:
            sink.member(member.key, .string(bytes))
        case .plainDatetime:
            sink.member(member.key, .plainDatetime(Timestamp(microseconds: Int64(bytes))))
        case .datetime:
            sink.member(member.key, .datetime(Timestamp(microseconds: Int64(bytes))))
        case .integer:
            sink.member(member.key, .integer(Int64(bytes)))
        case .number:
            sink.member(member.key, .number(Double(bitPattern: UInt64(bitPattern: Int64(bytes)))))
        case .boolean:
            sink.member(member.key, .boolean(bytes.first == 1))
        case .reference(let target):
            sink.member(member.key, .reference(target, StoredID.wireID(of: bytes)))
        case .bytes:
            sink.member(member.key, .bytes(bytes))
        case .unknown(let name):
            sink.member(member.key, .unknown(name))
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
