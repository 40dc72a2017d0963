package import SkyrowModel
internal import SkyrowPostgres

extension RecordStore {
    /// Runs an aggregate query in one statement.
    ///
    /// Groups contain only readable records. Throws `108 InvalidArgument`, `111 NotSupported` or `120 RecordQueryInvalid` for
    /// an invalid query, `124 RecordQueryDenied` for one that names a hidden field, and database errors.
    ///
    /// - Parameter admit: called before records are read.
    package func aggregate(
        _ query: AggregateQuery,
        with access: RecordAccess,
        admitting admit: QueryCost.Admission? = nil
    ) async throws(SkyrowError) -> AggregateResult {
        try await preparing(query, for: access) { prepared in
            guard let prepared else {
                // Without keys the records are one group, even if there are no records.
                guard query.groupKeys.isEmpty, query.having == nil, query.limit > 0 else {
                    return AggregateResult(groups: [])
                }
                return AggregateResult(groups: [EmptyGroup(of: query.aggregates)])
            }
            let (statement, table) = (prepared.statement, prepared.table)
            try await admit?(statement.cost)
            let result = try await self.client.read(statement.sql, limit: .reading, contention: table.contention)
            return statement.read(result)
        }
    }

    /// Throws `108 InvalidArgument` for a bucket in a time zone that the database does not have.
    func checkTimeZones(of query: AggregateQuery) async throws {
        for key in query.groupKeys {
            guard let zone = key.bucket?.timeZone, zone != "UTC" else { continue }
            guard try await names(of: .timeZones).contains(zone) else {
                throw SkyrowError.invalidArgument("The time zone does not exist.", "time_zone")
                    .at(".time_zone").at("group_by.\(String(key.name.prefix(64)))")
            }
        }
    }
}

/// The group of no records: its counts are zero, and its other aggregates have no value.
private struct EmptyGroup: RecordSource {
    private let counts: [MemberKey]

    init(of aggregates: [Aggregate]) {
        counts = aggregates.filter { $0.function == .count || $0.function == .countDistinct }.map { MemberKey($0.name) }
    }

    func emit(into sink: inout some RecordSink) {
        sink.beginRecord()
        for key in counts {
            key.encoded.withUnsafeBytes { sink.member(BorrowedKey(encoded: $0), .integer(0)) }
        }
        sink.endRecord()
    }
}
