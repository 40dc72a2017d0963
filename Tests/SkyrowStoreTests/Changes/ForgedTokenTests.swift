import SkyrowModel
import SkyrowPostgres
import SkyrowProtocol
import SkyrowTestSupport
import Testing

@testable import SkyrowStore

/// Tokens and cursors are not secret, and anybody can make some: each is answered or refused, and none shows more than a query.
@Suite(.timeLimit(.minutes(60))) struct ForgedTokenTests {
    private static let extremes: [Int64] = [.min, .min + 1, -1, 0, 1, 1 << 32, 1 << 39, .max - 1, .max]

    private static func number(_ present: Int64, _ random: inout SeededGenerator) -> Int64 {
        switch Int.random(in: 0..<4, using: &random) {
        case 0: extremes.randomElement(using: &random) ?? 0
        case 1: Int64.random(in: .min ... .max, using: &random)
        default: present &+ Int64.random(in: -40...40, using: &random)
        }
    }

    private static func set(_ present: TransactionSet, _ random: inout SeededGenerator) -> TransactionSet {
        let end = number(present.end, &random)
        var missing: Set<Int64> = []
        let count = Int.random(in: 0..<50, using: &random) == 0 ? TransactionSet.maximumMissing : 6
        for _ in 0..<Int.random(in: 0...count, using: &random) {
            let (revision, overflows) = end.subtractingReportingOverflow(
                Bool.random(using: &random)
                    ? Int64.random(in: 1...60, using: &random) : Int64.random(in: 1...(1 << 60), using: &random)
            )
            if !overflows { missing.insert(revision) }
        }
        return TransactionSet(end: end, missing: missing.sorted())
    }

    private static func pass(_ present: ChangeToken, _ random: inout SeededGenerator) -> ChangeToken.Pass {
        let steps: [ChangeToken.Pass.Step] = [.initial, .tombstones, .rows]
        let ids = ["", "1", "7", "h1", "\u{1}", "'", "\u{10FFFF}", "é", String(repeating: "z", count: 1024), "%s\\"]
        var pass = ChangeToken.Pass(step: steps.randomElement(using: &random) ?? .rows)
        if Bool.random(using: &random) {
            pass.place = ChangeToken.Pass.Place(
                revision: number(present.transactions.end, &random),
                id: ids.randomElement(using: &random) ?? ""
            )
        }
        if Bool.random(using: &random) {
            pass.base = ChangeToken.Pass.Base(
                transactions: set(present.transactions, &random),
                takenAt: number(present.takenAt, &random)
            )
        }
        return pass
    }

    @Test func whatIsForgedIsAnsweredOrRefusedAndShowsNothing() async throws {
        try await withRecords { f in
            try await f.psql(
                """
                INSERT INTO note (_id, title) SELECT i, 'a' FROM generate_series(1, 9) AS i;
                INSERT INTO note (_id, title, _access) SELECT 'h' || i, 'a', '{}' FROM generate_series(1, 9) AS i;
                DELETE FROM note WHERE _id IN ('9', 'h9')
                """
            )
            var random = SeededGenerator.forTest()
            var reader = FeedReader(f.store, .bob)
            try await reader.catchUp()
            let present = try #require(reader.token.flatMap { ChangeToken(text: $0) })
            var outcomes: [String: Int] = [:]
            for round in 0..<seededCases(400) {
                var forged = present
                if Bool.random(using: &random) { forged.transactions = Self.set(present.transactions, &random) }
                if Int.random(in: 0..<4, using: &random) == 0 { forged.takenAt = Self.number(present.takenAt, &random) }
                if Int.random(in: 0..<9, using: &random) == 0 {
                    forged.place.branch = UInt64.random(in: 0 ... .max, using: &random)
                }
                if Int.random(in: 0..<9, using: &random) == 0 { forged.audience &+= 1 }
                if Int.random(in: 0..<9, using: &random) == 0 { forged.form.columns &+= 1 }
                if Int.random(in: 0..<9, using: &random) == 0 { forged.form.table &+= 1 }
                if Int.random(in: 0..<9, using: &random) == 0 { forged.query &+= 1 }
                let isCursor = Bool.random(using: &random)
                if isCursor { forged.pass = Self.pass(present, &random) }
                var text = forged.text
                if Int.random(in: 0..<9, using: &random) == 0 { text.removeLast() }
                reader.go(to: isCursor ? .cursor(text) : .since(text))
                reader.limit = Int.random(in: 1...5, using: &random)
                do {
                    try await reader.readPage()
                    outcomes[reader.last.reset.map { "\($0)" } ?? "answered", default: 0] += 1
                    let named = reader.last.removed + reader.last.changed.compactMap { $0.collected()?.id.description }
                    let hidden = named.filter { $0.hasPrefix("note/h") }
                    #expect(hidden == [], "seed \(random.seed), round \(round): \(forged)")
                } catch let error as SkyrowError {
                    outcomes["\(error.code.rawValue)", default: 0] += 1
                    #expect(error.code == .invalidToken, "seed \(random.seed), round \(round): \(error), \(forged)")
                }
                // A comparison takes the same cursors.
                do {
                    let compared = try await f.store.compare(
                        ChangesRequest(database: .everyone, query: reader.query, position: .cursor(text), limit: 3),
                        with: reader.access,
                        retention: reader.retention
                    )
                    #expect(!compared.pairs.contains { $0.id.hasPrefix("h") })
                } catch let error as SkyrowError {
                    #expect(error.code == .invalidToken, "seed \(random.seed), round \(round): \(error), \(forged)")
                }
            }
            for outcome in ["answered", "134", "expired", "access", "branch", "schema"] {
                #expect(outcomes[outcome] ?? 0 > 0, "\(outcomes)")
            }
        }
    }
}
