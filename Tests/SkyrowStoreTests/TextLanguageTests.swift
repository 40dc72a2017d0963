import SkyrowModel
import SkyrowProtocol
import SkyrowTestSupport
import Testing

@testable import SkyrowPostgres
@testable import SkyrowQuery
@testable import SkyrowStore

/// Words of texts in a language, and how well they are found.
@Suite(.timeLimit(.minutes(60))) struct TextLanguageTests {
    private static let films: [(id: String, title: String?)] = [
        ("1", "The running stars: a war of stars"), ("2", "Star trek, and no wars at all"), ("3", "A new hope"),
        ("4", "Hope for the new year"), ("5", "mail foo@bar.com or see http://a.b/c?d"), ("6", nil),
    ]

    private static func film(_ language: TextLanguage?) -> RecordType {
        RecordType(
            name: type("film"),
            fields: [field("title"): .string, field("note"): .string, field("year"): .integer],
            textLanguages: language.map { [field("title"): $0] } ?? [:]
        )
    }

    private func withFilms(
        _ language: TextLanguage? = .english,
        _ body: @escaping @Sendable (RecordsFixture) async throws -> Void
    ) async throws {
        try await withRecords { f in
            _ = try await f.store.createTypes([Self.film(language)])
            try await f.save(
                Self.films.map { film in
                    let title = film.title.map { RecordValue.string($0) } ?? .null
                    return draft("film/\(film.id)", ["title": title, "note": title])
                }
            )
            try await body(f)
        }
    }

    private static func match(_ name: String, _ words: String) -> RecordPredicate {
        .match(.keyPath(path(name)), words)
    }

    private static func rank(_ name: String, _ direction: SortKey.Direction = .descending) -> SortKey {
        var key = SortKey(path(name), direction)
        key.function = .rank
        return key
    }

    // MARK: Queries

    @Test(arguments: ["", "CREATE INDEX ON film USING gin (_words('pg_catalog.english', title))"])
    func wordsPhrasesAndStemsAreFound(index: String) async throws {
        try await withFilms { f in
            if !index.isEmpty { try await f.psql(index) }
            let rows: [(RecordPredicate, [String])] = [
                (Self.match("title", "star"), ["1", "2"]), (Self.match("title", "STARS run"), ["1"]),
                (Self.match("title", "wars -trek"), ["1"]), (Self.match("title", "hope or trek"), ["2", "3", "4"]),
                (Self.match("title", "\"new hope\""), ["3"]), (Self.match("title", "new hope"), ["3", "4"]),
                (Self.match("title", "hope -\"new hope\""), ["4"]), (Self.match("title", "\"hope for the new"), ["4"]),
                (Self.match("title", "\"hope new\""), []),
                (Self.match("title", "\"new year\" or \"a star trek\""), ["2", "4"]),
                (Self.match("title", "tre*"), ["2"]), (Self.match("title", "starship*"), []),
                (Self.match("title", "foo@bar.com"), ["5"]), (Self.match("title", "a.b/c?d"), ["5"]),
                (.not(Self.match("title", "star")), ["3", "4", "5"]),
                (.none([Self.match("title", "star")]), ["3", "4", "5", "6"]),
                // A language passes words over, and nothing else is asked for.
                (Self.match("title", "the"), []), (Self.match("title", "the star"), ["1", "2"]),
                (Self.match("title", "!?"), []), (Self.match("title", "\"\""), []),
                // The words of another field are as they are written.
                (Self.match("note", "star"), ["2"]), (Self.match("note", "the"), ["1", "4"]),
                (.and([Self.match("title", "run"), Self.match("note", "running")]), ["1"]),
                (.match(.function(.fold, path("title")), "Runs"), ["1"]),
            ]
            for (predicate, ids) in rows {
                #expect(try await f.query(predicate, type: "film").sorted() == ids, "\(predicate)")
            }
        }
    }

    /// The first records that have some words are those that the index finds, and not found in the order of all.
    @Test(arguments: [TextLanguage?.none, .english]) func theIndexIsTakenForAFewOfManyRecords(language: TextLanguage?)
        async throws
    {
        try await withFilms(language) { f in
            try await f.psql(
                """
                INSERT INTO film (_id, title) SELECT 'x' || n, 'word' || n % 100 || ' of many others' FROM generate_series(1, 20000) AS n;
                CREATE INDEX film_words ON film USING gin (\(language == nil ? "_words(title)" : "_words('pg_catalog.english', title)"));
                ANALYZE film
                """
            )
            for limit in [10, 50] {
                var query = RecordQuery(type: type("film"), predicate: Self.match("title", "word17"))
                query.limit = limit
                let access = RecordAccess(.master, in: .everyone, for: .reading)
                let explanation = try await f.store.explain(query, .plan, with: access)
                let plan = String(decoding: try #require(explanation.statements.first).plan.utf8, as: UTF8.self)
                #expect(plan.contains("film_words"), "\(plan)")
            }
        }
    }

    /// Whatever is asked, PostgreSQL takes it.
    @Test func noQuestionIsASyntaxError() async throws {
        try await withFilms { f in
            let signs = [
                "'", "\"", "\\", "*", "-", "!", "&", "|", "(", ")", ":", "<->", "<", "a", "é", "or", " ", ":*", "\t",
                "𐐀", "<b>", "%", "//",
            ]
            var random = SeededGenerator(seed: 77)
            for _ in 0..<seededCases(500) {
                let count = Int.random(in: 1...12, using: &random)
                let text = (0..<count).map { _ in signs[Int.random(in: 0..<signs.count, using: &random)] }.joined()
                guard (try? WordQuery(text, in: .english)) != nil else { continue }
                await #expect(throws: Never.self, "\(text)") {
                    try await f.query(Self.match("title", text), type: "film") { $0.sort = [Self.rank("title")] }
                }
            }
        }
    }

    @Test func everyLanguageIsOneOfPostgreSQL() async throws {
        try await withRecords { f in
            let types = TextLanguage.allCases.map { language in
                RecordType(
                    name: type("film_\(language.rawValue)"),
                    fields: [field("title"): .string],
                    textLanguages: [field("title"): language]
                )
            }
            _ = try await f.store.createTypes(types)
            for language in TextLanguage.allCases {
                let name = "film_\(language.rawValue)"
                #expect(f.store.cache.current[type(name)]?[field("title")]?.textLanguage == language)
                try await f.save("\(name)/1", ["title": "Straße 42"])
                #expect(try await f.query(Self.match("title", "42"), type: name) == ["1"])
            }
        }
    }

    /// Texts of which a character makes the most that a word list holds.
    @Test func aTextOfAnyLengthIsSavedWithAnIndex() async throws {
        try await withFilms { f in
            try await f.psql("CREATE INDEX ON film USING gin (_words('pg_catalog.english', title))")
            func scalar(_ number: Int) -> Character {
                Character(Unicode.Scalar(UInt32(0x4E00 + number % 20_000)) ?? "x")
            }
            let texts = [
                (0..<60_000).map { "\(scalar($0))-\(scalar($0 * 7))" }.joined(separator: " "),
                (0..<60_000).map { "a\($0).com/\($0)" }.joined(separator: " "),
                (0..<60_000).map { "w\($0)" }.joined(separator: "-"), String(repeating: "x", count: 900_000),
                (0..<90_000).map { "\(scalar($0))" }.joined(separator: " "),
                (0..<60_000).map { "\($0)@b.c" }.joined(separator: " "),
            ]
            for text in texts { try await f.save("film/1", ["title": .string(text)]) }
            try await f.save("film/1", ["title": .string(String(repeating: "a ", count: 49_998) + "ends end")])
            #expect(try await f.query(Self.match("title", "ends"), type: "film") == ["1"])
            try await f.save("film/1", ["title": .string(String(repeating: "a ", count: 50_000) + "ends end")])
            #expect(try await f.query(Self.match("title", "ends"), type: "film") == [])
        }
    }

    // MARK: Ranks

    @Test func aRankOrdersAndIsSentAlong() async throws {
        try await withFilms { f in
            var query = RecordQuery(type: type("film"), predicate: Self.match("title", "star or new or war"))
            query.sort = [Self.rank("title")]
            var number = Inclusion(name: "rank", keyPath: path("title"))
            number.function = .rank
            query.include = [number]
            let page = try await f.store.query(query, in: .everyone, caller: .ann)
            let ranks = page.records.map { $0.collected()?.computed["rank"] ?? -1 }
            #expect(ranks.count == 4 && ranks == ranks.sorted(by: >) && ranks.allSatisfy { $0 > 0 })
            #expect(page.records.first.flatMap { $0.collected()?.id.id } == "1")
            // Pages are parts of the order, from either end.
            let all = page.records.compactMap { $0.collected()?.id.id }
            let reader = PageReader(store: f.store)
            for size in [1, 3] {
                for isBackwards in [false, true] {
                    #expect(try await reader.ids(query, by: size, isBackwards: isBackwards) == all)
                }
            }
            // Without a language all are alike that match, and others are 0.
            query.predicate = .or([Self.match("note", "star"), .compare(.eq, "_id", .string("3"))])
            query.sort = [Self.rank("note")]
            query.include[0].keyPath = path("note")
            let plain = try await f.store.query(query, in: .everyone, caller: .ann)
            #expect(plain.records.map { $0.collected()?.computed["rank"] } == [1, 0])
            query.predicate = Self.match("title", "!")
            query.sort = [Self.rank("title")]
            query.include = []
            #expect(try await f.store.query(query, in: .everyone, caller: .ann).records.isEmpty)
        }
    }

    @Test func memoryRanksWordsAndLeavesLanguagesToTheDatabase() async throws {
        try await withFilms { f in
            let table = try #require(f.store.cache.current[type("film")])
            func resolved(_ name: String) throws -> ResolvedQuery {
                var resolver = Resolver(
                    schema: f.store.cache.current,
                    root: table,
                    access: RecordAccess(.ann, for: .reading)
                )
                var query = RecordQuery(type: type("film"), predicate: .not(Self.match(name, "star")))
                query.sort = [Self.rank(name, .ascending)]
                return try resolver.resolve(query)
            }
            var record = StoredRecord(type: type("film"), storedID: "1")
            record.fields = [field("title"): .scalar(.text("x")), field("note"): .scalar(.text("x"))]
            for (name, needsDatabase) in [("title", true), ("note", false)] {
                let query = try resolved(name)
                #expect(query.predicate?.needsDatabase == needsDatabase)
                #expect(MemoryInterpreter(query).matches(record) == !needsDatabase)
                let rank = try #require(query.sort.first?.column.reading)
                for (text, number) in [("a star", 1.0), ("x", 0)] {
                    var budget = StepBudget(.max)
                    let value = StoredValue.scalar(.text(text)).read(as: rank, within: &budget)
                    #expect(value == (needsDatabase ? nil : .scalar(.number(number))))
                }
            }
        }
    }

    @Test func aRankWithoutItsMatchIsRefused() async throws {
        try await withFilms { f in
            let table = try #require(f.store.cache.current[type("film")])
            let one = Self.match("title", "star")
            let rows: [(RecordPredicate?, String, isAdmitted: Bool)] = [
                (one, "title", true), (.and([.or([one])]), "title", true), (nil, "title", false), (one, "note", false),
                (.and([one, one]), "title", false), (.and([one, Self.match("note", "x")]), "title", false),
                (
                    .found(
                        .keyPath(path("_id")),
                        by: Subquery(type: type("film"), predicate: one),
                        isNegated: false
                    ), "title", false
                ),
            ]
            for row in rows {
                for isInclusion in [true, false] {
                    var query = RecordQuery(type: type("film"), predicate: row.0)
                    if isInclusion {
                        var number = Inclusion(name: "rank", keyPath: path(row.1))
                        number.function = .rank
                        query.include = [number]
                    } else {
                        query.sort = [Self.rank(row.1)]
                    }
                    var resolver = Resolver(
                        schema: f.store.cache.current,
                        root: table,
                        access: RecordAccess(.ann, for: .reading)
                    )
                    do throws(SkyrowError) {
                        _ = try resolver.resolve(query)
                        #expect(row.isAdmitted, "\(row)")
                    } catch {
                        #expect(!row.isAdmitted && error.code == .recordQueryInvalid, "\(row)")
                        #expect(error.path == (isInclusion ? "include.rank[2]" : "sort[0][0][2]"))
                    }
                }
            }
            let compared = RecordPredicate.and([
                one, .comparison(.gt, .function(.rank, path("title")), .value(.number(0.1))),
            ])
            let error = await #expect(throws: SkyrowError.self) { try await f.query(compared, type: "film") }
            #expect(error?.code == .invalidArgument && error?.path == "predicate[2][1][2]")
        }
    }

    // MARK: The schema

    @Test func aLanguageIsChosenWithTheField() async throws {
        try await withFilms { f in
            let known = try await f.store.createTypes([Self.film(.english), Self.film(nil)])
            #expect(known.types[type("film")]?.textLanguages == [field("title"): .english])
            let refusals: [(RecordType, ErrorCode)] = [
                (Self.film(.french), .incompatibleSchema), (Self.film(.words), .incompatibleSchema),
                (
                    RecordType(
                        name: type("film"),
                        fields: [field("note"): .string],
                        textLanguages: [field("note"): .english]
                    ), .incompatibleSchema
                ),
                (
                    RecordType(
                        name: type("film"),
                        fields: [field("year"): .integer],
                        textLanguages: [field("year"): .english]
                    ), .invalidArgument
                ),
            ]
            for (wanted, code) in refusals {
                let error = await #expect(throws: SkyrowError.self) {
                    try await f.store.createTypes([wanted])
                }
                #expect(error?.code == code, "\(wanted)")
            }
            // It goes with the column, and with what psql says in the same way.
            try await f.psql(
                """
                ALTER TABLE film RENAME COLUMN title TO name;
                ALTER TABLE film ADD CHECK (note IS NULL OR 'german'::regconfig IS NOT NULL), ADD other text,
                    ADD CHECK (other <> 'x')
                """
            )
            try await f.store.cache.reload()
            let table = try #require(f.store.cache.current[type("film")])
            #expect(table.recordType.textLanguages == [field("name"): .english, field("note"): .german])
            #expect(try await f.query(Self.match("name", "runs"), type: "film") == ["1"])
        }
    }

    /// An index that was asked for follows the language that psql gives its field.
    @Test func anIndexIsBuiltAnewInTheLanguageThatPsqlGives() async throws {
        try await withFilms { f in
            let wanted = IndexDefinition(of: type("film"), [IndexField("title")], kind: .text)
            let plain = IndexDefinition(of: type("film"), [IndexField("note")], kind: .text)
            let name = try await f.store.createIndex(wanted).name
            let other = try await f.store.createIndex(plain).name
            try await f.psql("CREATE INDEX foreign_words ON film USING gin (_words('pg_catalog.english', title))")
            let builder = IndexBuilder(client: f.client, logger: .quiet) { ["app"] }
            func languages() async throws -> [TextLanguage?] {
                #expect(try await builder.pass())
                try await f.store.cache.reload()
                let table = try #require(f.store.cache.current[type("film")])
                return [name, other, "foreign_words"].map { index in
                    table.index(named: index)?.keys.first.flatMap { $0.form == .words ? $0.language : nil }
                }
            }
            func number() async throws -> String { try await f.psql("SELECT '\(name)'::regclass::oid") }
            #expect(try await languages() == [.english, .words, .english])
            let first = try await number()
            // What is as it should be stays.
            #expect(try await languages() == [.english, .words, .english])
            #expect(try await number() == first)
            let check = try await f.psql(
                "SELECT conname FROM pg_constraint WHERE conrelid = 'film'::regclass AND contype = 'c' AND conbin::text ~ '3734'"
            )
            for (language, expected) in [("german", TextLanguage.german), ("", .words), ("simple", .simple)] {
                let addition =
                    language.isEmpty
                    ? "" : ", ADD CONSTRAINT \(check) CHECK (title IS NULL OR '\(language)'::regconfig IS NOT NULL)"
                try await f.psql("ALTER TABLE film DROP CONSTRAINT IF EXISTS \(check)\(addition)")
                #expect(try await languages() == [expected, .words, .english], "\(language)")
                #expect(try await f.psql("SELECT state FROM _index WHERE name = '\(name)'") == "ready")
                #expect(try await f.query(Self.match("title", "hope"), type: "film").sorted() == ["3", "4"])
            }
            _ = try await f.store.deleteIndex(IndexDeletion(name: name))
            #expect(try await languages() == [nil, .words, .english])
        }
    }

    @Test func anIndexOfAFieldIsOfItsLanguage() async throws {
        try await withFilms { f in
            try await f.psql(
                "INSERT INTO film (_owner, _id, title) SELECT 'ann', 'x' || i, 'Runs ' || i FROM generate_series(1, 20000) i"
            )
            let access = RecordAccess(.ann, for: .reading)
            let query = RecordQuery(type: type("film"), predicate: Self.match("title", "run 777 -hope"))
            let wanted = IndexDefinition(of: type("film"), [IndexField("title")], kind: .text)
            // One of the words as they are written serves no question in a language.
            try await f.psql("CREATE INDEX plain ON film USING gin (_words(title)); ANALYZE film")
            try await f.store.cache.reload()
            #expect(try await f.store.explain(query, .plan, with: access).advice.map(\.index) == [wanted])
            let made = try await f.store.createIndex(wanted)
            #expect(try await IndexBuilder(client: f.client, logger: .quiet) { ["app"] }.pass())
            try await f.psql("ANALYZE film")
            try await f.store.cache.reload()
            let table = try #require(f.store.cache.current[type("film")])
            let key = table.index(named: made.name)?.keys.first
            #expect(key?.column == "title" && key?.form == .words && key?.language == .english)
            #expect(table.index(named: "plain")?.keys.first?.language == .words)
            #expect(try await f.store.explain(query, .plan, with: access).advice.isEmpty)
            let statement = try QueryStatement(query, table: table, catalog: f.store.cache.current, access: access)
            try await f.client.withTransaction { transaction in
                for mode in ["force_generic_plan", "force_custom_plan"] {
                    _ = try await transaction.query("SELECT set_config('plan_cache_mode', \(mode), true)")
                    let plan = try await transaction.query("EXPLAIN (COSTS OFF) \(statement.sql)")
                        .decodeColumn(0, as: String.self).joined(separator: "\n")
                    #expect(plan.contains(made.name) && plan.contains("Index Cond"), "\(mode): \(plan)")
                }
            }
            #expect(try await f.query(query.predicate, type: "film") == ["x777"])
        }
    }
}
