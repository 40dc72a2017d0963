import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowPostgres
@testable import SkyrowQuery
@testable import SkyrowStore

/// Words in queries.
@Suite(.timeLimit(.minutes(60))) struct MatchTests {
    private static func match(_ name: String, _ words: String) -> RecordPredicate {
        .match(.keyPath(path(name)), words)
    }

    // MARK: PostgreSQL and memory

    /// The words that the database has of a text.
    private func storedWords(_ f: RecordsFixture, _ text: String) async throws -> Set<TextKey> {
        let found = try await f.client.read("SELECT unnest(tsvector_to_array(app._words(\(text))))")
        return Set(try found.decodeColumn(0, as: String.self).map { TextKey($0) })
    }

    @Test func everyCodePointPartsWordsHereAndThere() async throws {
        try await withRecords { f in
            // What Unicode has got since may be in another case there.
            let scalars = (1...0x10FFFF).filter { TextFolding.isKnown($0) }.compactMap { Unicode.Scalar($0) }
            var separators = 0
            for first in stride(from: 0, to: scalars.count, by: 9000) {
                let block = scalars[first..<min(first + 9000, scalars.count)]
                let text = block.map { "x\($0)y" }.joined(separator: " ")
                let found = try await storedWords(f, text)
                let expected = Set(Words.words(of: text).map { TextKey($0) })
                #expect(found == expected, "from \(block[first])")
                // U+2065 is no character.
                separators += block.count { Words.isSeparator($0) }
            }
            #expect(separators == 127 - 62 + 64 + 0x70 - 1 + 0x40)
        }
    }

    @Test func aTextOfAnyLengthHasItsWords() async throws {
        try await withRecords { f in
            let words = { (count: Int, word: (Int) -> String) in (0..<count).map(word).joined(separator: " ") }
            let texts = [
                words(200_000) { _ in "x" } + " end", words(20_000) { "Ⱥ\($0)" },
                words(9) { String(repeating: "𐐀", count: 60_000 + $0) },
                words(30_005) { "w\($0)" }, String(repeating: "a", count: 250_010) + " b", "", "\u{1}",
            ]
            for text in texts {
                let found = try await storedWords(f, text)
                let expected = Set(Words.words(of: text).map { TextKey($0) })
                #expect(found == expected)
            }
        }
    }

    @Test func aTextOfMegabytesIsIndexed() async throws {
        try await withRecords { f in
            try await f.psql("CREATE INDEX ON note USING gin (_words(title))")
            for text in [
                (0..<25_000).map { "\($0)\(String(repeating: "Ⱥ", count: 8))" }.joined(separator: " "),
                String(repeating: "𐐀", count: 250_000), (0..<120_000).map { "w\($0)" }.joined(separator: "-"),
            ] {
                try await f.save("note/1", ["title": .string(text)])
            }
        }
    }

    // MARK: Queries

    @Test func wordsAreFound() async throws {
        try await withRecords { f in
            try await f.save([
                draft("category/home", ["name": "The House"]), draft("note/1", ["title": "Star Wars: A New Hope"]),
                draft("note/2", ["title": "STAR TREK", "category": .reference(id("category/home"))]),
                draft("note/3", ["title": "Élan, ça va?"]), draft("note/4"),
            ])
            let rows: [(RecordPredicate, [String])] = [
                (Self.match("title", "star"), ["1", "2"]), (Self.match("title", "star -trek war*"), ["1"]),
                (Self.match("title", "hope or trek"), ["1", "2"]), (Self.match("title", "ÉLAN"), ["3"]),
                (Self.match("title", "-star"), ["3"]), (.not(Self.match("title", "star")), ["3"]),
                (.none([Self.match("title", "star")]), ["3", "4"]), (Self.match("title", " ! "), []),
                (.not(Self.match("title", "!")), ["1", "2", "3"]), (Self.match("category.name", "house"), ["2"]),
                (.match(.function(.fold, path("title")), "Star New"), ["1"]),
            ]
            for (predicate, ids) in rows {
                #expect(try await f.query(predicate).sorted() == ids, "\(predicate)")
            }
        }
    }

    static let refusals: [(RecordPredicate, String)] = [
        (match("stars", "1"), "predicate[0]"), (match("tags", "1"), "predicate[0]"),
        (match("tags.a", "1"), "predicate[0]"),
        (match("_id", "1"), "predicate[0]"), (match("category", "1"), "predicate[0]"),
        (match("title", "\"a b\""), "predicate[2]"), (match("title", "a\0"), "predicate[2]"),
        (.and([match("title", "a"), match("title", String(repeating: "a ", count: 33))]), "predicate[2][2]"),
        (.and((0..<9).map { _ in match("title", "a") }), "predicate[9]"),
    ]

    @Test(arguments: refusals) func whatMakesNoSenseIsRefused(_ predicate: RecordPredicate, _ path: String) throws {
        let error = #expect(throws: SkyrowError.self) { try PrintedPredicate(predicate) }
        #expect(error?.code == .invalidArgument && error?.path == path)
    }

    // MARK: Indexes

    @Test func anIndexOfWordsIsUsedInEveryPlan() async throws {
        try await withRecords { f in
            try await f.psql(
                """
                INSERT INTO note (_owner, _id, title) SELECT 'ann', i, 'Star ' || i || ' Élan' FROM generate_series(1, 20000) i;
                CREATE INDEX title_text ON note USING gin (_words(title));
                ANALYZE note
                """
            )
            try await f.store.cache.reload()
            let table = try #require(f.store.cache.current[type("note")])
            let key = table.index(named: "title_text")?.keys.first
            #expect(key?.column == "title" && key?.form == .words && key?.operators == "tsvector_ops")
            let statement = try QueryStatement(
                RecordQuery(type: type("note"), predicate: Self.match("title", "star 777 él* -wars")),
                table: table,
                catalog: f.store.cache.current,
                access: RecordAccess(.ann, for: .reading)
            )
            try await f.client.withTransaction { transaction in
                for mode in ["force_generic_plan", "force_custom_plan"] {
                    _ = try await transaction.query("SELECT set_config('plan_cache_mode', \(mode), true)")
                    let plan = try await transaction.query("EXPLAIN (COSTS OFF) \(statement.sql)")
                        .decodeColumn(0, as: String.self).joined(separator: "\n")
                    #expect(plan.contains("title_text") && plan.contains("Index Cond"), "\(mode): \(plan)")
                }
            }
            #expect(try await f.query(Self.match("title", "star 777 él* -wars")) == ["777"])
        }
    }

    @Test func noWorkersComputeWordsBesideEachOther() async throws {
        try await withRecords { f in
            try await f.psql(
                """
                INSERT INTO note (_owner, _id, title) SELECT 'ann', i, 'Star ' || i FROM generate_series(1, 20000) i;
                ANALYZE note
                """
            )
            // Where workers cost nothing, any condition that they may judge is divided among them.
            let settings = [
                "parallel_setup_cost", "parallel_tuple_cost", "min_parallel_table_scan_size",
                "min_parallel_index_scan_size",
            ]
            for (predicate, isDivided) in [
                (RecordPredicate.compare(.contains, "title", .string("77")), true),
                (Self.match("title", "star 777"), false),
            ] {
                let statement = try QueryStatement(
                    RecordQuery(type: type("note"), predicate: predicate),
                    table: try #require(f.store.cache.current[type("note")]),
                    catalog: f.store.cache.current,
                    access: RecordAccess(.ann, for: .reading)
                )
                let plan = try await f.client.withTransaction { transaction in
                    for setting in settings {
                        _ = try await transaction.query("SELECT set_config(\(setting), '0', true)")
                    }
                    return try await transaction.query("EXPLAIN (COSTS OFF) \(statement.sql)")
                        .decodeColumn(0, as: String.self).joined(separator: "\n")
                }
                #expect(plan.contains("Gather") == isDivided, "\(plan)")
            }
        }
    }
}
