import SkyrowModel
import SkyrowProtocol
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

/// Scans of large types: which are made, and whose (`query-scans`).
@Suite(.timeLimit(.minutes(60))) struct ScanPolicyTests {
    private static let isRed = RecordPredicate.comparison(
        .eq,
        .keyPath(FieldPath(unchecked: "title")),
        .value(.string("red"))
    )

    private func fill(_ fixture: ServiceFixture, rows: Int) async throws {
        _ = try await fixture.service.store.createTypes(
            [RecordType(name: type("note"), fields: [FieldName("title"): .string])]
        )
        try await fixture.psql(
            "INSERT INTO note (_id, title) SELECT n::text, 'blue' FROM generate_series(1, \(rows)) AS n; ANALYZE note"
        )
        try await fixture.service.store.readSizes()
    }

    /// What becomes of a query, an aggregate and a change by predicate.
    private func errors(_ fixture: ServiceFixture, _ predicate: RecordPredicate, by caller: Caller) async
        -> [SkyrowError?]
    {
        let client = ClientKey(high: 0, low: 1)
        func error(_ body: () async throws(SkyrowError) -> Void) async -> SkyrowError? {
            do throws(SkyrowError) {
                try await body()
                return nil
            } catch {
                return error
            }
        }
        let count = AggregateQuery(type: type("note"), predicate: predicate, aggregates: [Aggregate("n", .count)])
        let change = BulkRequest(
            database: .everyone,
            type: type("note"),
            match: .predicate(predicate),
            change: .delete,
            atMost: 10,
            isDryRun: true
        )
        return [
            await error { () async throws(SkyrowError) in
                let query = RecordQuery(type: type("note"), predicate: predicate)
                _ = try await fixture.service.query(QueryRequest(database: .everyone, query: query), by: caller)
            },
            await error { () async throws(SkyrowError) in
                let request = AggregateRequest(database: .everyone, query: count)
                _ = try await fixture.service.run(Actions.recordAggregate, request, by: caller)
            },
            await error { () async throws(SkyrowError) in
                _ = try await fixture.service.run(Actions.recordDelete, .matches(change), by: caller, from: client)
            },
        ]
    }

    @Test func largeScansAreRefusedToAllButTheMasterKey() async throws {
        try await withService(scans: .largeRefused) { fixture in
            try await fill(fixture, rows: 100_500)
            let user = Caller(kind: .user("ann"))
            for error in await errors(fixture, Self.isRed, by: user) {
                #expect(error?.code == .recordQueryInvalid)
                #expect(error?.info["cost_class"] == .string("scan"))
                #expect(error?.info["index_kind"] == .string("order"))
                #expect(error?.info["index_fields"] == .list([.string("title")]))
            }
            #expect(await errors(fixture, Self.isRed, by: ServiceFixture.masterCaller).allSatisfy { $0 == nil })
            let isOne = RecordPredicate.comparison(.eq, .keyPath(FieldPath(unchecked: "_id")), .value(.string("1")))
            #expect(await errors(fixture, isOne, by: user).allSatisfy { $0 == nil })
            // With the index that was named, they are no scans; groups are.
            try await fixture.psql("CREATE INDEX ON note (title)")
            try await fixture.service.store.cache.reload()
            #expect(await errors(fixture, Self.isRed, by: user).map { $0?.code } == [nil, .recordQueryInvalid, nil])
        }
    }

    @Test func smallerScansAndThoseOfOtherServicesAreMade() async throws {
        for (scans, rows) in [(.largeRefused, 99_000), (.allow, 100_500)] as [(ScanPolicy, Int)] {
            try await withService(scans: scans) { fixture in
                try await fill(fixture, rows: rows)
                #expect(await errors(fixture, Self.isRed, by: Caller(kind: .user("ann"))).allSatisfy { $0 == nil })
            }
        }
    }
}
