import SkyrowJSON
import SkyrowModel
import SkyrowProtocol
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

/// Hooks of queries and fetches.
@Suite(.timeLimit(.minutes(60))) struct ReadHookTests {
    private static let query = QueryRequest(
        database: .everyone,
        query: RecordQuery(type: try! RecordTypeName("note"), sort: [SortKey(try! FieldPath("title"))])
    )

    private func withNotes(
        _ hooks: [TestHook],
        test: String = #function,
        _ body: (HookedService) async throws -> Void
    ) async throws {
        try await withHooks(hooks, test: test) { hooked in
            let items = ["a", "b", "c"].map {
                SaveRequest.Item.draft(draft("note/\($0)", ["title": .string($0), "stars": 5]))
            }
            _ = try await hooked.plain.service.save(SaveRequest(database: .everyone, items: items), by: hooked.ann)
            try await body(hooked)
        }
    }

    private func titles(_ page: QueryResult) -> [RecordValue?] {
        page.records.map { $0.collected()?.fields[field("title")] }
    }

    // MARK: Before

    @Test func aHookNarrowsAQueryAndNeverWidensIt() async throws {
        let narrowing = TestHook.other("before", .beforeQuery, on: "note") { _, _ in
            let predicate = #"["gte",{"$type":"keypath","$val":"stars"},5]"#
            return .query(QueryVerdict(predicate: jsonText(predicate), limit: 2))
        }
        let widening = TestHook.other("widening", .beforeQuery, on: "note") { _, _ in
            .query(QueryVerdict(limit: 500))
        }
        try await withNotes([narrowing, widening]) { hooked in
            let all = try await hooked.plain.service.query(Self.query, by: hooked.bob)
            #expect(titles(all) == ["a", "b", "c", "x"])
            let narrowed = try await hooked.service.query(Self.query, by: hooked.bob)
            #expect(titles(narrowed) == ["a", "b"])
            var own = Self.query
            own.query.predicate = .comparison(.eq, .keyPath(try FieldPath("title")), .value("c"))
            own.query.limit = 1
            let narrow = try await hooked.service.query(own, by: hooked.bob)
            #expect(titles(narrow) == ["c"])
            #expect(hooked.runner.calls[0].contains(#""record_type":"note""#))
            #expect(hooked.runner.calls[1].contains(#""limit":2"#))
        }
    }

    @Test func aHookRefusesAQuery() async throws {
        let hook = TestHook.other("before", .beforeQuery, on: "note") { _, _ throws(SkyrowError) in throw ownError }
        try await withNotes([hook]) { hooked in
            try await expectError(ownError.code) { try await hooked.service.query(Self.query, by: hooked.bob) }
        }
    }

    @Test func anInvalidConditionIsTheHooksFault() async throws {
        let hook = TestHook.other("before", .beforeQuery, on: "note") { _, _ in
            .query(QueryVerdict(predicate: jsonText("[]")))
        }
        try await withNotes([hook]) { hooked in
            try await expectError(.unexpectedError) { try await hooked.service.query(Self.query, by: hooked.bob) }
        }
    }

    // MARK: After

    private static let formatting = TestHook.records("after", .afterFetch) { record in
        if record["title"] == "b" { return .dropped }
        return sets(["title": .string("seen"), "stars": nil, "added": .integer(1)])
    }

    @Test func aHookFormatsAndDropsRecords() async throws {
        try await withNotes([Self.formatting]) { hooked in
            let page = try await hooked.service.query(Self.query, by: hooked.bob)
            #expect(titles(page) == ["seen", "seen", "seen"])
            #expect(page.records.allSatisfy { $0.collected()?.fields[field("stars")] == nil })
            let ids = RecordIDsRequest(database: .everyone, ids: ["note/a", "note/b", "note/none"].map { id($0) })
            let outcomes = try await hooked.service.fetch(ids, by: hooked.bob)
            #expect(outcomes.map(\.summary) == ["saved", "ResourceNotFound", "ResourceNotFound"])
            #expect(outcomes[0].sent?.fields == [field("title"): "seen", field("added"): 1])
            // Nothing of it is stored.
            #expect(try await hooked.psql("SELECT sum(stars) FROM note") == "16")
        }
    }

    @Test func aHookThatFailsHidesItsReason() async throws {
        let hook = TestHook.records("after", .afterFetch) { _ throws(SkyrowError) in throw ownError }
        try await withNotes([hook]) { hooked in
            let error = try await expectError(.unexpectedError) {
                try await hooked.service.query(Self.query, by: hooked.bob)
            }
            #expect(error?.message.contains(ownError.message) == false)
            try await expectError(.unexpectedError) { try await hooked.service.fetch("note/a", by: hooked.bob) }
        }
    }

    @Test func whatHooksCannotGetIsRefused() async throws {
        try await withNotes([Self.formatting]) { hooked in
            var omitting = Self.query
            omitting.query.omittedFields = ["_id"]
            var table = Self.query
            table.query.includeForm = .table
            table.query.include = [Inclusion(name: "next", keyPath: try FieldPath("next"))]
            for request in [omitting, table] {
                _ = try await hooked.plain.service.query(request, by: hooked.bob)
                try await expectError(.notSupported) { try await hooked.service.query(request, by: hooked.bob) }
            }
        }
    }
}
