import SkyrowModel
import SkyrowPostgres
import SkyrowTestSupport
import Testing

@testable import SkyrowStore

@Suite struct ExplainStoreTests {
    private func explain(
        _ f: RecordsFixture,
        _ query: RecordQuery,
        _ mode: ExplainMode = .plan
    ) async throws -> QueryExplanation {
        try await f.store.explain(query, mode, with: RecordAccess(.master, for: .reading))
    }

    /// The index that is advised is the one by which PostgreSQL then finds the records.
    @Test func anAdvisedIndexIsUsedOnceItIsThere() async throws {
        try await withRecords { f in
            try await f.psql(
                """
                ALTER TABLE note ADD text text;
                INSERT INTO note (_id, title, score, due, text, tags)
                SELECT 'n' || n, md5(n::text) || ' film', n % 20000, now() - n * interval '1 minute', md5(n::text) || CASE n WHEN 7 THEN ' 50% of it_' ELSE ' 500 of its' END,
                    jsonb_build_array('t' || n % 5000)
                FROM generate_series(1, 40000) AS n;
                ANALYZE note
                """
            )
            try await f.store.cache.reload()
            func path(_ name: String) -> Operand { .keyPath(FieldPath(unchecked: name)) }
            let rows: [(predicate: RecordPredicate?, sort: [SortKey])] = [
                (.comparison(.eq, path("score"), .value(.number(77))), []),
                (nil, [SortKey(FieldPath(unchecked: "due"), .descending)]),
                (.comparison(.like, path("title"), .value(.string("%c4ca4238a0b9%"))), []),
                (.comparison(.ilike, path("title"), .value(.string("%C4CA4238A0B9%"))), []),
                (.comparison(.endsWith, path("text"), .value(.string("50% of it_"))), []),
                (.comparison(.in, .value(.string("t77")), path("tags")), []),
            ]
            for row in rows {
                let query = RecordQuery(type: type("note"), predicate: row.predicate, sort: row.sort)
                let before = try await explain(f, query)
                #expect(before.costClass == .scan)
                let index = try #require(before.advice.compactMap(\.index).first, "\(query)")
                let made = try await f.store.createIndex(IndexCreateRequest(index))
                let isDone = try await IndexBuilder(client: f.client, logger: .quiet) { ["app"] }.pass()
                #expect(isDone)
                try await f.store.cache.reload()
                try await f.psql("ANALYZE note")
                let after = try await explain(f, query)
                let plan = String(decoding: try #require(after.statements.first).plan.utf8, as: UTF8.self)
                #expect(plan.contains(made.name), "\(index)")
                #expect(after.advice.compactMap(\.index).isEmpty && after.costClass == .indexed, "\(index)")
            }
            // One index serves several operators.
            let part = RecordPredicate.comparison(.contains, path("title"), .value(.string("a0b923820dcc509a")))
            let served = try await explain(f, RecordQuery(type: type("note"), predicate: part))
            #expect(served.costClass == .indexed && served.advice.isEmpty)
            // By the index, a part of a text is looked for as a pattern, in which it is no pattern itself.
            let found = try await f.query(.comparison(.endsWith, path("text"), .value(.string("50% of it_"))))
            #expect(found == ["n7"])
        }
    }

    @Test func anExplanationHasTheStatementWithoutItsValues() async throws {
        try await withRecords { f in
            try await f.save("note/1", ["title": .string("a secret")])
            let predicate = RecordPredicate.comparison(
                .eq,
                .keyPath(FieldPath(unchecked: "title")),
                .value(.string("a secret"))
            )
            let query = RecordQuery(type: type("note"), predicate: predicate)
            let explained = try await explain(f, query)
            let statement = try #require(explained.statements.first)
            #expect(statement.sql.hasPrefix("SELECT ") && !statement.sql.contains("secret"))
            #expect(statement.values.contains { $0.hasSuffix(": text, 8 bytes") })
            #expect(!String(decoding: statement.plan.utf8, as: UTF8.self).contains("Actual Rows"))
            let analyzed = try await explain(f, query, .analyze)
            #expect(
                String(decoding: try #require(analyzed.statements.first).plan.utf8, as: UTF8.self).contains(
                    "Actual Rows"
                )
            )
            let none = try await explain(f, RecordQuery(type: type("nothing")))
            #expect(none == QueryExplanation(statements: [], advice: [], costClass: .point))
        }
    }
}
