import SkyrowModel
import SkyrowPostgres
import SkyrowTestSupport
import Testing

@testable import SkyrowStore

@Suite struct IndexPlanTests {
    private func table(_ indexes: [TableIndex] = []) throws -> RecordTable {
        let columns: [(String, FieldType, PostgresOID)] = [
            ("title", .string, .text), ("year", .integer, .int8), ("tags", .json, .jsonb), ("data", .bytes, .bytea),
            ("maker", .reference(type("person")), .text), ("price", .unknown("money"), PostgresOID(rawValue: 790)),
            ("place", .location, PostgresOID(rawValue: 20000)),
        ]
        return RecordTable(
            name: type("film"),
            schema: "app",
            identifier: "film",
            columns: try columns.map {
                RecordColumn(field: field($0.0), identifier: try SQLIdentifier($0.0), type: $0.1, oid: $0.2)
            },
            indexes: indexes
        )
    }

    private func definition(
        _ fields: [IndexField],
        _ kind: IndexKind = .order,
        unique: Bool = false,
        nulls: Bool = false
    ) -> IndexDefinition {
        IndexDefinition(of: type("film"), fields, kind: kind, isUnique: unique, treatsNullsAsEqual: nulls)
    }

    private func plan(
        _ wanted: IndexDefinition,
        _ indexes: [TableIndex] = [],
        rows: [IndexPlan.Row] = [],
        taken: Set<String> = [],
        version: Int = 150_000
    ) throws -> IndexPlan {
        try IndexPlan(wanted, on: table(indexes), rows: rows, taken: taken, serverVersion: version)
    }

    // MARK: What goes together

    @Test(arguments: [
        (IndexKind.order, "title", true), (.order, "year", true), (.order, "data", true), (.order, "maker", true),
        (.order, "_created_at", true), (.order, "_ownerID", true), (.order, "tags", false), (.order, "place", false),
        (.order, "price", false), (.order, "_revision", false), (.order, "_access", false), (.order, "_id", false),
        (.order, "nothing", false), (.order, "no name", false), (.contains, "tags", true), (.contains, "title", false),
        (.contains, "_created_at", false), (.trigram, "title", true), (.trigram, "year", false),
        (.text, "title", true), (.text, "tags", false), (.text, "_id", false),
        (.near, "place", true), (.near, "title", false), (.box, "place", true), (.box, "year", false),
    ])
    func aKindTakesFieldsOfSomeTypes(_ kind: IndexKind, _ name: String, _ isTaken: Bool) throws {
        do {
            _ = try plan(definition([IndexField(name)], kind))
            #expect(isTaken)
        } catch let error as SkyrowError {
            #expect(!isTaken)
            #expect(error.code == .invalidArgument && error.path == "fields[0]")
        }
    }

    @Test(arguments: [
        // Each with what is wrong with it, by path or argument.
        (IndexDefinition(of: type("film"), []), "fields"),
        (IndexDefinition(of: type("film"), (0..<17).map { IndexField("f\($0)") }), "fields"),
        (IndexDefinition(of: type("film"), [IndexField("year"), IndexField("year", .descending)]), "fields[1]"),
        (IndexDefinition(of: type("film"), [IndexField("title"), IndexField("year", isFolded: true)]), "fields[1]"),
        (IndexDefinition(of: type("film"), [IndexField("title"), IndexField("title")], kind: .trigram), "fields[1]"),
        (IndexDefinition(of: type("film"), [IndexField("title", .descending)], kind: .trigram), "fields[0]"),
        (IndexDefinition(of: type("film"), [IndexField("title", isFolded: true)], kind: .text), "fields[0]"),
        (IndexDefinition(of: type("film"), [IndexField("tags")], kind: .contains, isUnique: true), "unique"),
        (IndexDefinition(of: type("film"), [IndexField("year")], treatsNullsAsEqual: true), "nulls"),
    ])
    func whatMakesNoSenseIsRefused(_ wanted: IndexDefinition, _ place: String) throws {
        let error = #expect(throws: SkyrowError.self) { try plan(wanted) }
        #expect(error?.code == .invalidArgument)
        #expect(error?.path == place || error?.info["arguments"] == .list([.string(place)]))
    }

    @Test func equalNullsNeedAVersionOfPostgres() throws {
        let wanted = definition([IndexField("year")], unique: true, nulls: true)
        #expect(try plan(wanted, version: 150_000).definition == wanted)
        #expect(throws: SkyrowError.self) { try plan(wanted, version: 140_011) }
    }

    @Test func aTypeHasABoundedNumberOfIndexes() throws {
        let many = (0..<IndexPlan.maximumIndexes).map { TableIndex("i\($0)", [TableIndex.Key("year")]) }
        _ = try plan(definition([IndexField("title")]), Array(many.dropLast()))
        let error = #expect(throws: SkyrowError.self) { try plan(definition([IndexField("title")]), many) }
        #expect(error?.code == .invalidArgument)
    }

    // MARK: The same index again

    @Test(arguments: [
        (IndexRecord(.building), false, IndexPlan.Outcome.existing(name: "old")),
        (IndexRecord(.ready, hasBegun: true), true, .existing(name: "old")),
        // Dropped in psql.
        (IndexRecord(.ready, hasBegun: true), false, .new(name: "film_year_idx", replacing: "old")),
        (
            IndexRecord(.failed, hasBegun: true, failure: IndexFailure(.tooLong)), false,
            .new(name: "film_year_idx", replacing: "old")
        ),
        (IndexRecord(.failed, hasBegun: true, failure: IndexFailure(.tooLong)), true, .again(name: "old")),
        (
            IndexRecord(.failed, failure: IndexFailure(.nameTaken)), true,
            .new(name: "film_year_idx", replacing: "old")
        ),
        (IndexRecord(.deleting, hasBegun: true), true, .new(name: "film_year_idx", replacing: nil)),
    ])
    func theSameDefinitionIsTheSameIndex(_ record: IndexRecord, _ isThere: Bool, _ outcome: IndexPlan.Outcome) throws {
        let wanted = definition([IndexField("year")])
        let found = try plan(
            wanted,
            isThere ? [TableIndex("old", [TableIndex.Key("year"), TableIndex.Key("_id")])] : [],
            rows: [IndexPlan.Row(name: "old", definition: wanted, record: record)],
            taken: ["old"]
        )
        #expect(found.outcome == outcome)
    }

    @Test func otherDefinitionsAreOtherIndexes() throws {
        let wanted = definition([IndexField("year")])
        for other in [
            definition([IndexField("year", .descending)]), definition([IndexField("year")], unique: true),
            definition([IndexField("title")]), definition([IndexField("title", isFolded: true)]),
        ] {
            let rows = [IndexPlan.Row(name: "old", definition: wanted, record: IndexRecord())]
            guard case .new = try plan(other, rows: rows, taken: ["old"]).outcome else {
                Issue.record("\(other)")
                continue
            }
        }
    }

    // MARK: Names

    @Test(arguments: [
        (
            IndexDefinition(of: type("film"), [IndexField("year", .descending), IndexField("rating")]),
            "film_year_rating_idx"
        ),
        (IndexDefinition(of: type("film"), [IndexField("title")], isUnique: true), "film_title_key"),
        (IndexDefinition(of: type("film"), [IndexField("title", isFolded: true)]), "film_title_fold_idx"),
        (IndexDefinition(of: type("film"), [IndexField("tags.size.w", as: .number)]), "film_tags_size_w_idx"),
        (IndexDefinition(of: type("film"), [IndexField("tags")], kind: .contains), "film_tags_contains"),
        (IndexDefinition(of: type("film"), [IndexField("title")], kind: .trigram), "film_title_trigram"),
        (IndexDefinition(of: type("film"), [IndexField("title")], kind: .text), "film_title_text"),
    ])
    func aNameSaysWhatTheIndexIsOver(_ wanted: IndexDefinition, _ name: String) {
        #expect(IndexPlan.name(of: wanted, besides: []) == name)
        #expect(IndexPlan.name(of: wanted, besides: [name]) == name + "1")
        #expect(IndexPlan.name(of: wanted, besides: [name, name + "1"]) == name + "2")
    }

    @Test func aNameHasAtMost63BytesAndIsUnlikeAllOthers() throws {
        let longest = type(String(repeating: "t", count: 63))
        let wanted = IndexDefinition(
            of: longest,
            (0..<16).map { IndexField(String(repeating: "f", count: 60) + "\($0)") }
        )
        var taken: Set<String> = [longest.rawValue]
        for _ in 0..<120 {
            let name = IndexPlan.name(of: wanted, besides: taken)
            #expect(name.utf8.count <= 63)
            let isNew = taken.insert(name).inserted
            #expect(isNew)
        }
    }

    @Test func anIndexHasValuesInsideJSONThatQueriesArePrintedFor() throws {
        let number = IndexField("tags.a", as: .number)
        let sixteen = Array(repeating: "a", count: 16).joined(separator: ".")
        let taken: [[IndexField]] = [
            [number], [IndexField("tags.0.a_B9", as: .string, .descending)],
            [IndexField("tags.\(sixteen)", as: .datetime)],
            [number, IndexField("tags.a", as: .boolean), IndexField("title")],
        ]
        for fields in taken { #expect(try plan(definition(fields)).definition == definition(fields)) }
        let refused: [(fields: [IndexField], kind: IndexKind, place: Int)] = [
            ([number], .trigram, 0), ([number], .contains, 0), ([number], .text, 0), ([number], .near, 0),
            ([IndexField("year.a", as: .number)], .order, 0), ([IndexField("_created_at.a", as: .number)], .order, 0),
            ([IndexField("tags", as: .number)], .order, 0), ([IndexField("tags.a b", as: .number)], .order, 0),
            ([IndexField("tags.a'", as: .number)], .order, 0), ([IndexField("tags.{}", as: .number)], .order, 0),
            ([IndexField("tags.null", as: .number)], .order, 0), ([IndexField("tags.é", as: .number)], .order, 0),
            ([IndexField("tags.1000000", as: .number)], .order, 0),
            ([IndexField("tags.\(sixteen).a", as: .number)], .order, 0),
            ([number, IndexField("tags.a", as: .number, .descending)], .order, 1),
        ]
        for row in refused {
            let error = #expect(throws: SkyrowError.self) { try plan(definition(row.fields, row.kind)) }
            #expect(error?.code == .invalidArgument && error?.path == "fields[\(row.place)]", "\(row)")
        }
        var folded = number
        folded.isFolded = true
        #expect(throws: SkyrowError.self) { try plan(definition([folded])) }
    }

    // MARK: Statements

    @Test(arguments: [
        (
            IndexDefinition(of: type("film"), [IndexField("year", .descending), IndexField("title")]),
            #"INDEX CONCURRENTLY "i" ON "app"."film" USING btree ("year" DESC, "title" COLLATE "C", _id COLLATE "C")"#
        ),
        (
            IndexDefinition(of: type("film"), [IndexField("title", .descending, isFolded: true)]),
            #"INDEX CONCURRENTLY "i" ON "app"."film" USING btree ("app"._fold("title") COLLATE "C" DESC, _id COLLATE "C" DESC)"#
        ),
        (
            IndexDefinition(
                of: type("film"),
                [IndexField("tags.size.w", as: .number, .descending), IndexField("tags.name", as: .string)]
            ),
            #"INDEX CONCURRENTLY "i" ON "app"."film" USING btree ("app"."_json_number"(("tags" #> '{size,w}')) DESC, "#
                + #""app"."_json_text"(("tags" #> '{name}')) COLLATE "C", _id COLLATE "C")"#
        ),
        (
            IndexDefinition(of: type("film"), [IndexField("tags.0", as: .datetime)], isUnique: true),
            #"UNIQUE INDEX CONCURRENTLY "i" ON "app"."film" USING btree "#
                + #"(_database COLLATE "C", "app"."_json_instant"(("tags" #> '{0}')))"#
        ),
        (
            IndexDefinition(of: type("film"), [IndexField("title")], isUnique: true, treatsNullsAsEqual: true),
            #"UNIQUE INDEX CONCURRENTLY "i" ON "app"."film" USING btree "#
                + #"(_database COLLATE "C", "title" COLLATE "C") NULLS NOT DISTINCT"#
        ),
        (
            IndexDefinition(of: type("film"), [IndexField("tags")], kind: .contains),
            #"INDEX CONCURRENTLY "i" ON "app"."film" USING gin ("tags")"#
        ),
        (
            IndexDefinition(of: type("film"), [IndexField("title", isFolded: true)], kind: .trigram),
            #"INDEX CONCURRENTLY "i" ON "app"."film" USING gin ("app"._fold("title") "Else".gin_trgm_ops)"#
        ),
        (
            IndexDefinition(of: type("film"), [IndexField("title")], kind: .text),
            #"INDEX CONCURRENTLY "i" ON "app"."film" USING gin ("app"._words("title"))"#
        ),
        (
            IndexDefinition(of: type("film"), [IndexField("place")], kind: .near),
            #"INDEX CONCURRENTLY "i" ON "app"."film" USING gist ("place")"#
        ),
        (
            IndexDefinition(of: type("film"), [IndexField("place")], kind: .box),
            #"INDEX CONCURRENTLY "i" ON "app"."film" USING gist (("place"::"Else".geometry))"#
        ),
    ])
    func aDefinitionIsAStatement(_ wanted: IndexDefinition, _ statement: String) throws {
        let surroundings = IndexSurroundings(texts: ["title"], home: "Else")
        #expect(try wanted.creation(named: "i", in: "app", surroundings).text == "CREATE " + statement)
    }

    @Test(arguments: [
        "year", "year desc", "title fold", "title fold desc", "fold", "desc", "desc desc", "desc fold", "as",
        "tags.size.w as number", "tags.0 as datetime desc", "as.as as string", "tags.a as boolean desc",
    ])
    func aFieldIsReadAsItIsKept(_ text: String) {
        #expect(IndexField(text: text)?.text == text)
    }

    @Test(arguments: [
        "", " ", "a b", "year  desc", "year asc", "year desc fold", "tags as number", "tags. as number",
        "tags.a as money",
        "tags.a as", "tags.a as number fold", "tags.a as desc",
    ])
    func whatIsNotKeptSoIsNoField(_ text: String) {
        #expect(IndexField(text: text) == nil)
    }
}
