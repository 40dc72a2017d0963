import SkyrowModel
import SkyrowProtocol
import SkyrowTestSupport
import Testing

@testable import SkyrowPostgres
@testable import SkyrowQuery
@testable import SkyrowStore

/// A text whose words a column keeps is found and ranked as one whose words are computed, and the column is nowhere to be seen.
@Suite(.timeLimit(.minutes(60))) struct StoredWordsTests {
    private static let titles: [String?] = [
        "The running stars: a war of stars", "Star trek, and no wars at all", "A new hope", "Hope for the new year",
        "mail foo@bar.com or see http://a.b/c?d", nil, "", "runs",
    ]

    private static func film(_ language: TextLanguage = .english, stored: Bool = true) -> RecordType {
        RecordType(
            name: type("film"),
            fields: [
                field("title"): .string, field("copy"): .string, field("year"): .integer,
                field("sequel"): .reference(type("film")),
            ],
            textLanguages: [field("title"): language, field("copy"): .english],
            storedTexts: stored ? [field("title")] : []
        )
    }

    private func withFilms(_ body: @escaping @Sendable (RecordsFixture) async throws -> Void) async throws {
        try await withRecords { f in
            _ = try await f.store.createTypes([Self.film()])
            for (number, title) in Self.titles.enumerated() {
                var fields: [String: RecordValue] = [:]
                if number > 0 { fields["sequel"] = .reference(id("film/\(number - 1)")) }
                (fields["title"], fields["copy"]) = (title.map { .string($0) }, title.map { .string($0) })
                try await f.save("film/\(number)", fields)
            }
            try await body(f)
        }
    }

    private static func match(_ name: String, _ words: String) -> RecordPredicate {
        .match(.keyPath(path(name)), words)
    }

    private static func rank(_ name: String) -> SortKey {
        var key = SortKey(path(name), .descending)
        key.function = .rank
        return key
    }

    private func statement(_ f: RecordsFixture, _ query: RecordQuery) throws -> String {
        try QueryStatement(
            query,
            table: try #require(f.store.cache.current[type("film")]),
            catalog: f.store.cache.current,
            access: RecordAccess(.ann, for: .reading)
        ).sql.text
    }

    // MARK: Queries

    @Test func storedAndComputedWordsAnswerAlike() async throws {
        try await withFilms { f in
            let words = [
                "star", "STARS run", "wars -trek", "hope or trek", "\"new hope\"", "hope -\"new hope\"", "tre*",
                "foo@bar.com", "the", "!?", "runs",
            ]
            let shapes: [(RecordPredicate) -> RecordPredicate] = [
                { $0 }, { .not($0) }, { .none([$0]) }, { .or([$0, .compare(.eq, "year", .null)]) }, { .and([$0]) },
            ]
            for text in words {
                for prefix in ["", "sequel.", "sequel.sequel."] {
                    for shape in shapes {
                        let stored = try await f.query(shape(Self.match("\(prefix)title", text)), type: "film")
                        let computed = try await f.query(shape(Self.match("\(prefix)copy", text)), type: "film")
                        #expect(stored == computed, "\(prefix) \(text)")
                    }
                }
                var ranks: [[Double?]] = []
                for name in ["title", "copy"] {
                    var number = Inclusion(name: "rank", keyPath: path(name))
                    number.function = .rank
                    var query = RecordQuery(type: type("film"), predicate: Self.match(name, text), include: [number])
                    query.sort = [Self.rank(name)]
                    let records = try await f.store.query(query, in: .everyone, caller: .ann).records
                    ranks.append(records.map { $0.collected()?.computed["rank"] })
                }
                #expect(ranks[0] == ranks[1], "\(text)")
            }
            // The column is read, and not the text.
            let query = RecordQuery(
                type: type("film"),
                predicate: Self.match("title", "star"),
                sort: [Self.rank("title")],
                desiredFields: []
            )
            #expect(try statement(f, query).contains(#""r"."_words_title" @@ to_tsquery"#))
            #expect(try statement(f, query).contains(#"ts_rank_cd("r"."_words_title", "#))
            #expect(try !statement(f, query).contains(#""title""#))
            // What compares the text in lower case computes it.
            let folded = RecordPredicate.match(.function(.fold, path("title")), "Runs")
            #expect(try await f.query(folded, type: "film") == ["0", "7"])
        }
    }

    @Test func anIndexIsOfTheColumn() async throws {
        try await withFilms { f in
            try await f.psql(
                "INSERT INTO film (_owner, _id, title) SELECT 'ann', 'x' || i, 'Runs ' || i FROM generate_series(1, 20000) i"
            )
            let access = RecordAccess(.ann, for: .reading)
            let query = RecordQuery(type: type("film"), predicate: Self.match("title", "run 777 -hope"))
            let wanted = IndexDefinition(of: type("film"), [IndexField("title")], kind: .text)
            // One of computed words serves nothing here.
            try await f.psql("CREATE INDEX plain ON film USING gin (_words('pg_catalog.english', title)); ANALYZE film")
            try await f.store.cache.reload()
            try await f.store.readSizes()
            let before = try await f.store.explain(query, .plan, with: access)
            #expect(before.advice.map(\.index) == [wanted] && before.costClass == .scan)
            let made = try await f.store.createIndex(wanted)
            #expect(try await IndexBuilder(client: f.client, logger: .quiet) { ["app"] }.pass())
            try await f.psql("ANALYZE film")
            try await f.store.cache.reload()
            let table = try #require(f.store.cache.current[type("film")])
            let key = table.index(named: made.name)?.keys.first
            #expect(key?.column == "title" && key?.form == .words && key?.language == .english && key?.isStored == true)
            #expect(table.index(named: "plain")?.keys.first?.isStored == false)
            #expect(try await f.store.indexes(of: type("film")).map(\.name).contains(made.name))
            let after = try await f.store.explain(query, .plan, with: access)
            #expect(after.advice.isEmpty && after.costClass == .indexed)
            #expect(try await f.query(query.predicate, type: "film") == ["x777"])
            let definition = try await f.psql("SELECT pg_get_indexdef('\(made.name)'::regclass)")
            #expect(definition.hasSuffix("USING gin (_words_title)"))
        }
    }

    // MARK: The schema

    @Test func theColumnIsNoField() async throws {
        try await withFilms { f in
            let known = try #require(try await f.store.recordSchema().types[type("film")])
            #expect(known == Self.film())
            let record = try #require(try await f.fetch("film/1"))
            #expect(Set(record.fields.keys) == [field("title"), field("copy"), field("sequel")])
            let queried = try await f.store.query(RecordQuery(type: type("film")), in: .everyone, caller: .ann)
            #expect(queried.records.allSatisfy { $0.unreadableFields.isEmpty })
            // A path does not lead to it, and no field has such a name.
            let error = await #expect(throws: SkyrowError.self) {
                try await f.query(.compare(.eq, "_words_title", .string("x")), type: "film")
            }
            #expect(error?.code == .recordQueryInvalid)
            #expect(throws: SkyrowError.self) { try FieldName("_words_title") }
            // Psql cannot write it, and it follows what psql writes.
            await #expect(throws: (any Error).self) { try await f.psql("UPDATE film SET _words_title = ''") }
            try await f.psql("UPDATE film SET title = 'klingons' WHERE _id = '2'")
            #expect(try await f.query(Self.match("title", "klingon"), type: "film") == ["2"])
        }
    }

    @Test func whatIsStoredIsChosenWithTheField() async throws {
        try await withFilms { f in
            _ = try await f.store.createTypes([Self.film()])
            let refusals: [(RecordType, ErrorCode)] = [
                (Self.film(stored: false), .incompatibleSchema), (Self.film(.german), .incompatibleSchema),
                (
                    RecordType(
                        name: type("film"),
                        fields: [field("copy"): .string],
                        textLanguages: [field("copy"): .english],
                        storedTexts: [field("copy")]
                    ), .incompatibleSchema
                ),
                (
                    RecordType(name: type("play"), fields: [field("a"): .string], storedTexts: [field("a")]),
                    .invalidArgument
                ),
            ]
            for (wanted, code) in refusals {
                let error = await #expect(throws: SkyrowError.self) {
                    try await f.store.createTypes([wanted])
                }
                #expect(error?.code == code, "\(wanted)")
            }
        }
    }

    /// Names of the longest kind, names that are taken, and fields that are renamed and deleted.
    @Test func theColumnGoesWithItsField() async throws {
        try await withFilms { f in
            func schema() async throws -> RecordType? { try await f.store.recordSchema().types[type("film")] }
            func columns() async throws -> String {
                try await f.psql(
                    "SELECT count(*) FROM pg_attribute WHERE attrelid = 'film'::regclass AND atttypid = 'tsvector'::regtype"
                )
            }
            let long = String(repeating: "x", count: 62)
            func text(_ name: String) -> RecordType {
                RecordType(
                    name: type("film"),
                    fields: [field(name): .string],
                    textLanguages: [field(name): .german],
                    storedTexts: [field(name)]
                )
            }
            for name in [long + "a", long + "b"] {
                _ = try await f.store.createTypes([text(name)])
                try await f.save("film/0", [name: .string("Häuser \(name.suffix(1))")])
                #expect(try await f.query(Self.match(name, "Haus"), type: "film") == ["0"])
            }
            _ = try await f.store.renameField(
                FieldRename(type: type("film"), field: field("title"), newName: field("name"))
            )
            #expect(try await schema()?.storedTexts.contains(field("name")) == true)
            #expect(try await f.query(Self.match("name", "trek"), type: "film") == ["1"])
            // The name of the column is taken now.
            _ = try await f.store.createTypes([text("title")])
            try await f.save("film/3", ["title": "Sterne"])
            #expect(try await f.query(Self.match("title", "Stern"), type: "film") == ["3"])
            #expect(try await f.query(Self.match("name", "trek"), type: "film") == ["1"])
            #expect(try await columns() == "4")
            for (number, name) in ["name", long + "a", "title", long + "b"].enumerated() {
                _ = try await f.store.deleteField(FieldDeletion(type: type("film"), field: field(name)))
                #expect(try await columns() == "\(3 - number)")
            }
            #expect(try await schema()?.storedTexts == [])
        }
    }

    /// The more columns a table has, the longer is what is read of each, which a statement on the catalogue has to be done with in
    /// its time limit.
    @Test func aTableOfManyColumnsIsReadInTime() async throws {
        try await withRecords { f in
            try await f.psql(
                """
                SELECT _create_type('wide');
                DO $$ BEGIN EXECUTE 'ALTER TABLE wide ' || (
                    SELECT string_agg(format(
                        'ADD f%1$s text CHECK (f%1$s IS NULL OR ''english''::regconfig IS NOT NULL), '
                        'ADD _words_%1$s tsvector GENERATED ALWAYS AS (_words(''pg_catalog.english'', f%1$s)) STORED', number
                    ), ', ') FROM generate_series(1, 300) AS number
                ); END $$
                """
            )
            let wide = try #require(try await f.store.recordSchema().types[type("wide")])
            #expect(wide.storedTexts.count == 300 && wide.storedTexts == Set(wide.fields.keys))
            try await f.save("wide/1", ["f300": .string("It runs")])
            #expect(try await f.query(Self.match("f300", "run"), type: "wide") == ["1"])
        }
    }

    /// What psql changes makes answers slower and never wrong.
    @Test func aColumnOfAnotherLanguageIsNotRead() async throws {
        try await withFilms { f in
            let wanted = IndexDefinition(of: type("film"), [IndexField("title")], kind: .text)
            let name = try await f.store.createIndex(wanted).name
            let builder = IndexBuilder(client: f.client, logger: .quiet) { ["app"] }
            func key() async throws -> TableIndex.Key? {
                #expect(try await builder.pass())
                try await f.store.cache.reload()
                return f.store.cache.current[type("film")]?.index(named: name)?.keys.first
            }
            #expect(try await key()?.isStored == true)
            let check = try await f.psql(
                """
                SELECT conname FROM pg_constraint WHERE conrelid = 'film'::regclass AND conbin::text ~ ':consttype 3734'
                    AND conkey = ARRAY[(SELECT attnum FROM pg_attribute WHERE attrelid = 'film'::regclass AND attname = 'title')]
                """
            )
            try await f.psql(
                "ALTER TABLE film DROP CONSTRAINT \(check), ADD CHECK (title IS NULL OR 'simple'::regconfig IS NOT NULL)"
            )
            // The index that was asked for is built anew, of computed words.
            let simple = try await key()
            #expect(simple?.isStored == false && simple?.language == .simple)
            #expect(try await f.query(Self.match("title", "star"), type: "film") == ["1"])
            let query = RecordQuery(type: type("film"), predicate: Self.match("title", "star"))
            #expect(try !statement(f, query).contains("_words_title"))
            // A column that psql makes as the schema would is one; another is not.
            try await f.psql(
                """
                ALTER TABLE film DROP COLUMN _words_title,
                    ADD _words_other tsvector GENERATED ALWAYS AS (_words('pg_catalog.simple', title) || ''::tsvector) STORED,
                    ADD words tsvector GENERATED ALWAYS AS (_words('pg_catalog.simple', title)) STORED
                """
            )
            #expect(try await key()?.isStored == false)
            try await f.psql(
                "ALTER TABLE film ADD _words_own tsvector GENERATED ALWAYS AS (_words('pg_catalog.simple', title)) STORED"
            )
            #expect(try await key()?.isStored == true)
            #expect(try statement(f, query).contains(#""r"."_words_own" @@"#))
        }
    }

    /// A text that owners alone see is missing for others, in the column as in itself.
    @Test func whatOwnersAloneSeeStaysWithThem() async throws {
        try await withRecords { f in
            try await f.psql(
                """
                UPDATE "user" SET email = _id || ' runs';
                ALTER TABLE "user" ADD CHECK (email IS NULL OR 'english'::regconfig IS NOT NULL),
                    ADD _words_email tsvector GENERATED ALWAYS AS (_words('pg_catalog.english', email)) STORED
                """
            )
            try await f.store.cache.reload()
            #expect(f.store.cache.current[.user]?[field("email")]?.storedWords != nil)
            for (caller, ids) in [(Caller.ann, ["ann"]), (.bob, ["bob"]), (.master, ["ann", "bob"])] {
                #expect(try await f.query(Self.match("email", "run"), type: "user", caller) == ids)
            }
            let error = await #expect(throws: SkyrowError.self) {
                try await f.query(Self.match("email", "run"), type: "user", .anonymous)
            }
            #expect(error?.code == .recordQueryDenied)
        }
    }
}
