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
        guard 0...AggregateQuery.maximumLimit ~= query.limit else {
            throw .invalidArgument("The limit must be 0 to \(AggregateQuery.maximumLimit).", "limit").at("limit")
        }
        try access.requireReading(query.type)
        return try await reporting {
            try await self.checkTimeZones(of: query)
            return try await withCatalog { _ in
                let catalog = self.cache.current.visible(to: access.fields)
                guard let table = try await self.table(of: query.type)?.visible(to: access.fields) else {
                    // Without keys the records are one group, even if there are no records.
                    guard query.groupKeys.isEmpty, query.having == nil, query.limit > 0 else {
                        return AggregateResult(groups: [])
                    }
                    return AggregateResult(groups: [EmptyGroup(of: query.aggregates)])
                }
                if let refusal = table.rules.refusalOfAggregates(with: access) { throw refusal }
                let statement = try AggregateStatement(
                    query,
                    table: table,
                    catalog: catalog,
                    access: access,
                    size: self.size(of: query.type)
                )
                try await admit?(statement.cost)
                let result = try await self.client.read(statement.sql, limit: .reading, contention: table.contention)
                return statement.read(result)
            }
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
