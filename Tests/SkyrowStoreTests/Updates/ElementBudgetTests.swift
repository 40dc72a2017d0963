import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowStore

/// What the predicates of `$where` may ask in memory, where records are refused, is bounded for the whole request.
@Suite(.timeLimit(.minutes(60))) struct ElementBudgetTests {
    /// As much as a predicate may ask: patterns, lists and comparisons of elements that have none of it.
    private static let most = RecordPredicate.or([
        .compare(.like, "$", .string(String(repeating: "%xq", count: 16))),
        .regex(.keyPath(path("$")), "[a-x]{1,5}qz", ignoresCase: false),
        .list(.in, "$", (0..<16).map { .string("none \($0)") }),
        .compare(.eq, "$", .string("no")), .compare(.gt, "$", .string("~~~")), .compare(.lt, "$", .string("!")),
    ])

    /// Nothing is left out for any element, and then there is no element of that number.
    private static func refused(_ predicate: RecordPredicate) -> FieldOperator {
        .all(.pull(where: predicate), .setElement(20_000, "1"))
    }

    private func save(_ f: RecordsFixture, _ ids: [String], _ predicate: RecordPredicate) async throws -> [String] {
        try await f.outcomes(ids.map { draft("note/\($0)", applying: ["tags": Self.refused(predicate)]) }).map {
            guard let error = $0.error else { return "saved" }
            // Behind `records[3].`, where several are saved.
            let path = error.path.map { $0.hasPrefix("records[") ? String($0.drop { $0 != "." }.dropFirst()) : $0 }
            return "\(error.code.rawValue) \(path ?? "")"
        }
    }

    @Test func theWorstRequestSpendsItOnce() async throws {
        try await withRecords { f in
            try await f.psql(
                """
                INSERT INTO note (_id, _owner, tags) SELECT 'n' || n, 'ann',
                    (SELECT jsonb_agg(repeat('xpom', 24)) FROM generate_series(1, 10000)) FROM generate_series(1, 4) AS n;
                INSERT INTO note (_id, _owner, tags) SELECT 's' || n, 'ann', '["a", "b"]' FROM generate_series(1, 100) AS n
                """
            )
            let element = "108 tags.$val[1]"
            let budget = "108 tags.$val[0].$where"
            let long = (1...4).map { "n\($0)" }
            let worst = try await save(f, long, Self.most)
            let judged = worst.count { $0 == element }
            #expect((1...3).contains(judged), "\(worst)")
            #expect(worst.count { $0 == budget } == long.count - judged, "\(worst)")
            // Each request has its own, and what asks little is told of each record.
            #expect(try await save(f, ["n4"], Self.most) == [element])
            let small = RecordPredicate.compare(.eq, "$", .string("no"))
            #expect(try await save(f, long, small) == Array(repeating: element, count: 4))
            let short = (1...100).map { "s\($0)" }
            #expect(try await save(f, short, Self.most) == Array(repeating: element, count: 100))
            // What is not refused by its statement is not computed in memory.
            let pull = try await f.outcomes(
                ["n1", "n2", "n3"].map { draft("note/\($0)", applying: ["tags": .pull(where: Self.most)]) }
            )
            #expect(pull.count { $0.error == nil } == 3)
        }
    }
}
