import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowPostgres
@testable import SkyrowQuery
@testable import SkyrowStore

/// Regular expressions in queries.
@Suite(.timeLimit(.minutes(60))) struct RegexTests {
    private static func regex(_ name: String, _ pattern: String, ignoringCase: Bool = false) -> RecordPredicate {
        .regex(.keyPath(path(name)), pattern, ignoresCase: ignoringCase)
    }

    // MARK: PostgreSQL and memory

    /// All patterns over all texts, in one statement.
    private func answers(_ f: RecordsFixture, _ patterns: [RegexPattern], _ texts: [String]) async throws -> [[Bool]] {
        let rows = try await f.client.read(
            """
            SELECT array_agg("t"."t" ~ ("p"."p" COLLATE "POSIX") ORDER BY "t"."n")::text
            FROM unnest(\(patterns.map(\.postgresText))) WITH ORDINALITY AS "p" ("p", "n"),
                unnest(\(texts)) WITH ORDINALITY AS "t" ("t", "n")
            GROUP BY "p"."n" ORDER BY "p"."n"
            """
        ).decodeColumn(0, as: String.self)
        return rows.map { row in row.dropFirst().dropLast().split(separator: ",").map { $0 == "t" } }
    }

    @Test func postgreSQLAndMemoryFindTheSame() async throws {
        try await withRecords { f in
            var generator = RegexGenerator(random: .forTest())
            let texts =
                AgreementCorpus.texts.filter { $0.utf8.count < 100 } + [
                    "aab", "\n", "a\nb", "abab1", "éÉσ", "i\u{307}",
                ]
            var matches = 0
            for round in 0..<seededCases(6) {
                let folds = round.isMultiple(of: 2)
                let patterns = try (0..<250).map { _ in try RegexPattern(generator.pattern(), folds: folds) }
                let found = try await answers(f, patterns, texts)
                for (pattern, row) in zip(patterns, found) {
                    var budget = StepBudget(.max)
                    for (text, isFound) in zip(texts, row)
                    where pattern.matches(text, within: &budget) != isFound {
                        Issue.record("\(pattern.postgresText) in \(text.debugDescription): PostgreSQL says \(isFound)")
                    }
                    matches += row.count { $0 }
                }
            }
            #expect((seededCases(6000)...seededCases(69_000)).contains(matches))
        }
    }

    /// The largest expressions that are taken, over long texts.
    @Test func theWorstExpressionsAreAnswered() async throws {
        let worst = [
            "(?:a?){98}c", "(?:[a-z]?[b-y]?[c-x]?[d-w]?[e-v]?[f-u]?[g-t]?){14}c", "a{255}b{255}c{255}d{230}",
            "(?:a|b)*a(?:a|b){240}c", "(?:.{0,15}[^b]{0,15}){1,3}c", "^(?:(?:(?:a*)*)*)*c$", "(?:(?:a|b|c)*){30}d",
            "[a-m].{240}[n-z]{200}9", "(?:a|b|c|d|e|f|g){0,80}h", "(?:(?:(?:a?){0,4}){0,4}){0,4}c",
        ]
        try await withRecords { f in
            let patterns = try worst.map { try RegexPattern($0) }
            let texts = [String(repeating: "ab", count: 5000), String(repeating: "a", count: 10_000)]
            // None of them finds its last character.
            #expect(try await answers(f, patterns, texts) == patterns.map { _ in [false, false] })
        }
    }

    // MARK: Queries

    @Test func whatAQueryAsksIsFound() async throws {
        try await withRecords { f in
            try await f.save([
                draft("category/home", ["name": "House"]),
                draft("note/star.1", ["title": "Star Wars", "tags": jsonValue(#"{"kind":"Film","n":1}"#)]),
                draft("note/star.2", ["title": "STAR TREK", "category": .reference(id("category/home"))]),
                draft("note/3", ["title": "ΣΤΑΡ\nÉlan", "tags": jsonValue(#"{"kind":"Book"}"#)]), draft("note/4"),
            ])
            let rows: [(RecordPredicate, [String])] = [
                (Self.regex("title", "^Star (Wars|Trek)"), ["star.1"]),
                (Self.regex("title", "^Star (Wars|Trek)", ignoringCase: true), ["star.1", "star.2"]),
                (.regex(.function(.fold, path("title")), "STAR", ignoresCase: false), ["star.1", "star.2"]),
                (Self.regex("title", "^στας.é", ignoringCase: true), []),
                (Self.regex("title", "^σταρ.é", ignoringCase: true), ["3"]),
                // What is missing is neither found nor not found.
                (.not(Self.regex("title", "a")), ["star.2"]), (.none([Self.regex("title", "a")]), ["4", "star.2"]),
                (Self.regex("_id", "^star\\.[12]$"), ["star.1", "star.2"]),
                (Self.regex("category.name", "^H"), ["star.2"]),
                (Self.regex("tags.kind", "^[FB]"), ["3", "star.1"]), (Self.regex("tags.n", "1"), []),
                (Self.regex("_owner_id", "^ann$"), ["3", "4", "star.1", "star.2"]),
            ]
            for (predicate, ids) in rows {
                #expect(try await f.query(predicate).sorted() == ids, "\(predicate)")
            }
        }
    }

    static let refusals: [(RecordPredicate, String)] = [
        (regex("stars", "1"), "predicate[0]"), (regex("tags", "1"), "predicate[0]"),
        (regex("category", "1"), "predicate[0]"),
        (regex("title", "a**"), "predicate[2]"),
        (.or([regex("title", "a"), regex("title", String(repeating: "x", count: 257))]), "predicate[2][2]"),
        (.and((0..<4).map { _ in regex("title", "(?:a?){80}") }), "predicate[4][2]"),
        (.and((0..<31).map { _ in regex("title", "a") }), "predicate[31]"),
    ]

    @Test(arguments: refusals) func whatMakesNoSenseIsRefused(_ predicate: RecordPredicate, _ path: String) throws {
        let error = #expect(throws: SkyrowError.self) { try PrintedPredicate(predicate) }
        #expect(error?.code == .invalidArgument && error?.path == path)
    }

    @Test func aMisfitSaysWhereItIs() throws {
        let error = #expect(throws: SkyrowError.self) { try PrintedPredicate(Self.regex("title", "ab(?=c)")) }
        #expect(error?.message.hasPrefix("Character 4 of the expression: ") == true)
    }

    // MARK: Indexes

    /// PostgreSQL's own look-up of an expression misses `CAFÉS` here.
    @Test(arguments: [false, true]) func anIndexOfTrigramsFindsWhatATableHas(_ folds: Bool) async throws {
        try await withRecords { f in
            try await f.psql(
                """
                INSERT INTO note (_owner, _id, title) SELECT 'ann', i, 'Star ' || i || ' Élan CAFÉ Ünder' FROM generate_series(1, 3000) i;
                INSERT INTO note (_owner, _id, title) VALUES ('ann', 'x', 'CAFÉS ÀÉÎ'), ('ann', 'y', 'cafés àéî');
                CREATE SCHEMA trigrams; CREATE EXTENSION pg_trgm SCHEMA trigrams;
                CREATE INDEX title_trigrams ON note USING gin (\(folds ? "_fold(title)" : "title") trigrams.gin_trgm_ops);
                CREATE INDEX title_order ON note (title);
                ANALYZE note
                """
            )
            try await f.store.cache.reload()
            let rows: [(String, [String], [String])] = [
                ("CAFÉS", ["x"], ["x", "y"]), ("^CAFÉS", ["x"], ["x", "y"]), ("S ÀÉÎ$", ["x"], ["x", "y"]),
                ("Star (2999|1717) É", ["1717", "2999"], ["1717", "2999"]),
                ("(CAFÉS|cafés) ", ["x", "y"], ["x", "y"]),
            ]
            for (pattern, ids, folded) in rows {
                let predicate = Self.regex("title", pattern, ignoringCase: folds)
                #expect(try await f.query(predicate).sorted() == (folds ? folded : ids), "\(pattern)")
                let plans = try await Self.plans(f, predicate)
                for plan in plans { #expect(plan.contains("Index Cond"), "\(pattern): \(plan)") }
            }
            // Nothing in these is long enough to be looked up.
            for pattern in ["CA.É", "É+S", "[^a]ÀÉ"] {
                let plan = try await Self.plans(f, Self.regex("title", pattern, ignoringCase: folds)).joined()
                #expect(!plan.contains("title_trigrams"), "\(pattern): \(plan)")
            }
            #expect(try await f.query(Self.regex("title", "É+S", ignoringCase: folds)).contains("x"))
        }
    }

    private static func plans(_ f: RecordsFixture, _ predicate: RecordPredicate) async throws -> [String] {
        let table = try #require(f.store.cache.current[type("note")])
        let statement = try QueryStatement(
            RecordQuery(type: type("note"), predicate: predicate),
            table: table,
            catalog: f.store.cache.current,
            access: RecordAccess(.ann, for: .reading)
        )
        return try await f.client.withTransaction { transaction in
            try await transaction.executeScript("SET LOCAL enable_seqscan = off; SET LOCAL enable_indexscan = on")
            var plans: [String] = []
            for mode in ["force_generic_plan", "force_custom_plan"] {
                _ = try await transaction.query("SELECT set_config('plan_cache_mode', \(mode), true)")
                plans.append(
                    try await transaction.query("EXPLAIN (COSTS OFF) \(statement.sql)")
                        .decodeColumn(0, as: String.self).joined(separator: "\n")
                )
            }
            return plans
        }
    }
}
