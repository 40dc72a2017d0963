import SkyrowModel
import SkyrowProtocol
import SkyrowTestSupport
import Testing

@testable import SkyrowPostgres
@testable import SkyrowStore

/// Operators on arrays of one type.
@Suite(.timeLimit(.minutes(60))) struct ArrayOperatorTests {
    private static let types = [
        RecordType(name: type("tag")),
        RecordType(
            name: type("post"),
            fields: [
                field("texts"): .array(.string), field("integers"): .array(.integer), field("numbers"): .array(.number),
                field("flags"): .array(.boolean), field("tags"): .array(.reference(type("tag"))),
                field("count"): .integer,
            ]
        ),
    ]

    private func withArrays(
        test: String = #function,
        _ body: @escaping @Sendable (RecordsFixture) async throws -> Void
    ) async throws {
        try await withRecords(test: test) { f in
            _ = try await f.store.createTypes(Self.types)
            try await body(f)
        }
    }

    private static func list(_ count: Int, _ element: String) -> String {
        "[" + Array(repeating: element, count: count).joined(separator: ",") + "]"
    }

    // MARK: The table

    struct Row: Sendable {
        let field: String
        let change: FieldOperator
        /// In a new record, and in one without a value; nil for 108.
        let new: String?
        /// What is stored and what becomes of it; nil for 108.
        let stored: [(value: String, result: String?)]

        init(_ field: String, _ change: FieldOperator, new: String?, _ stored: [(String, String?)]) {
            self.field = field
            self.change = change
            self.new = new
            self.stored = stored.map { ($0.0, $0.1) }
        }
    }

    static let rows: [Row] = [
        Row(
            "texts",
            .push(#"["b","b"]"#),
            new: #"["b","b"]"#,
            [("[]", #"["b","b"]"#), (#"["a"]"#, #"["a","b","b"]"#)]
        ),
        Row("texts", .push("[]"), new: "[]", [(#"["a"]"#, #"["a"]"#)]),
        Row("integers", .push("[1,2]", at: .first), new: "[1,2]", [("[]", "[1,2]"), ("[3]", "[1,2,3]")]),
        // A text is an element where the whole of it is a value of the type.
        Row("integers", .push(#"["-7", 2.0]"#), new: "[-7,2]", [("[3]", "[3,-7,2]")]),
        Row(
            "texts",
            .addToSet(#"["b","b","\u00e9","e\u0301"]"#),
            new: #"["b","\u00e9","e\u0301"]"#,
            [
                (#"["a","a","b"]"#, #"["a","a","b","\u00e9","e\u0301"]"#),
                (#"["\u00e9"]"#, #"["\u00e9","b","e\u0301"]"#),
            ]
        ),
        Row("numbers", .addToSet("[0, 1, 1.0]"), new: "[0,1]", [("[-0.0]", "[-0.0,1]"), ("[1]", "[1,0]")]),
        Row("flags", .addToSet("[true]"), new: "[true]", [("[false]", "[false,true]"), ("[true]", "[true]")]),
        Row("integers", .pull("[1, 2]"), new: "[]", [("[1,3,2,1]", "[3]"), ("[3]", "[3]"), ("[]", "[]")]),
        Row("integers", .pull("[]"), new: "[]", [("[1]", "[1]")]),
        Row("numbers", .pull("[0]"), new: "[]", [("[-0.0,0.5,0]", "[0.5]")]),
        Row(
            "integers",
            .pull(where: .compare(.gt, "$", .integer(2))),
            new: "[]",
            [("[1,2,3,4]", "[1,2]"), ("[]", "[]"), ("[3]", "[]")]
        ),
        Row(
            "texts",
            .pull(where: .regex(.keyPath(path("$")), "^a", ignoresCase: true)),
            new: "[]",
            [(#"["a","B","Ab",""]"#, #"["B",""]"#)]
        ),
        Row("texts", .pull(where: .list(.in, "$", ["a", "b"])), new: "[]", [(#"["b","c","a","b"]"#, #"["c"]"#)]),
        Row("numbers", .pull(where: .not(.compare(.eq, "$", .integer(0)))), new: "[]", [("[-0.0,0.5,0]", "[-0.0,0]")]),
        Row(
            "flags",
            .all(.push("[true,false]"), .pull(where: .compare(.eq, "$", .boolean(true))), .push("[true]")),
            new: "[false,true]",
            [("[true]", "[false,true]")]
        ),
        Row(
            "tags",
            .pull(where: .compare(.eq, "$", .reference(id("tag/1")))),
            new: "[]",
            [(#"["1","2","1"]"#, #"["2"]"#)]
        ),
        Row("texts", .popFirst, new: "[]", [(#"["a","b"]"#, #"["b"]"#), (#"["a"]"#, "[]"), ("[]", "[]")]),
        Row("texts", .popLast, new: "[]", [(#"["a","b"]"#, #"["a"]"#), (#"["a"]"#, "[]"), ("[]", "[]")]),
        Row(
            "texts",
            .setElement(1, #""x""#),
            new: nil,
            [(#"["a","b","c"]"#, #"["a","x","c"]"#), (#"["a","b"]"#, #"["a","x"]"#), (#"["a"]"#, nil), ("[]", nil)]
        ),
        Row("integers", .setElement(0, #""5""#), new: nil, [("[1,2]", "[5,2]")]),
        Row("integers", .setElement(.max, "5"), new: nil, [("[1,2]", nil)]),
        Row("flags", .all(.push("[true]"), .setElement(0, "false")), new: "[false]", [("[true]", "[false,true]")]),
        Row("flags", .all(.setElement(0, "false"), .push("[true]")), new: nil, [("[true]", "[false,true]")]),
        Row(
            "texts",
            .all(.pull(#"["a"]"#), .addToSet(#"["b","c"]"#), .popFirst, .push(#"["a"]"#, at: .first)),
            new: #"["a","c"]"#,
            [(#"["a","b","a"]"#, #"["a","c"]"#), (#"["x"]"#, #"["a","b","c"]"#)]
        ),
        Row("integers", .all(.unset, .push("[1]")), new: "[1]", [("[7]", "[1]")]),
        Row("integers", .all(.setOnInsert(jsonValue("[7]")), .push("[1]")), new: nil, [("[5]", "[5,1]")]),
        Row("integers", .all(.popLast, .unset), new: "null", [("[5]", "null")]),
        Row("integers", .unset, new: "null", [("[5]", "null")]),
        Row(
            "tags",
            .addToSet(#"[{"$type":"ref","$id":"tag/1"}, "2", "1"]"#),
            new: #"["1","2"]"#,
            [(#"["2","3","3"]"#, #"["2","3","3","1"]"#)]
        ),
        Row("tags", .pull(#"["1",{"$type":"ref","$id":"tag/2"}]"#), new: "[]", [(#"["2","3","1"]"#, #"["3"]"#)]),
        Row("tags", .setElement(0, #"{"$type":"ref","$id":"tag/9"}"#), new: nil, [(#"["2","3"]"#, #"["9","3"]"#)]),
    ]

    @Test func eachOperatorMakesWhatTheTableSays() async throws {
        try await withArrays { f in
            let table = try #require(f.store.cache.current[type("post")])
            for (number, row) in Self.rows.enumerated() {
                let column = try #require(table[field(row.field)])
                func check(_ id: String, _ expected: String?, _ what: String) async throws {
                    let outcome = try await f.outcomes([draft(id, applying: [row.field: row.change])])[0]
                    let label = "\(row.change.kind) on \(row.field), \(what)"
                    guard let expected else {
                        #expect(outcome.error?.code == .invalidArgument, "\(label)")
                        #expect(outcome.error?.path?.hasPrefix("records[0].\(row.field)") == true, "\(label)")
                        return
                    }
                    let wanted =
                        expected == "null" ? .null : try #require(try column.accepted(jsonValue(expected)), "\(label)")
                    let record = try #require(outcome.error == nil ? try outcome.record : nil, "\(label): \(outcome)")
                    let found = record.fields[field(row.field)] ?? .null
                    #expect(found.isIdentical(to: wanted), "\(label): \(found)")
                    #expect(try await f.fetch(id)?.fields[field(row.field)] ?? .null == found, "\(label)")
                }
                if row.change.steps.first?.name == "set_on_insert" {
                    try await check("post/\(number)-new", "[7,1]", "new")
                } else {
                    try await check("post/\(number)-new", row.new, "new")
                    try await f.save("post/\(number)-missing")
                    try await check("post/\(number)-missing", row.new, "missing")
                }
                for (place, stored) in row.stored.enumerated() {
                    let id = "post/\(number)-\(place)"
                    try await f.save(id, [row.field: jsonValue(stored.value)])
                    try await check(id, stored.result, stored.value)
                }
            }
        }
    }

    @Test func whatDoesNotFitIsNamed() async throws {
        let rows: [(String, FieldOperator, String)] = [
            ("texts", .push(#"["a", 1]"#), "texts.$val[1]"), ("texts", .push("[null]"), "texts.$val[0]"),
            ("texts", .addToSet(#"[["a"]]"#), "texts.$val[0]"), ("integers", .pull("[1, 1.5]"), "integers.$val[1]"),
            ("integers", .push(#"["12 "]"#), "integers.$val[0]"), ("flags", .push("[0]"), "flags.$val[0]"),
            ("tags", .push(#"["1",{"$type":"ref","$id":"post/1"}]"#), "tags.$val[1]"),
            ("integers", .setElement(0, "true"), "integers.$val"), ("texts", .setElement(0, "null"), "texts.$val"),
            ("integers", .all(.popLast, .push("[1,true]")), "integers.$val[1].$val[1]"),
            ("integers", .setOnInsert(jsonValue("[1,true]")), "integers.$val[1]"), ("texts", .min("a"), "texts"),
            ("integers", .increment(by: 1), "integers"), ("texts", .setMember("a", "1"), "texts"),
            ("texts", .unsetMember("a"), "texts"), ("texts", .setOnInsert("a"), "texts"),
            ("integers", .pull(where: .compare(.eq, "$", .string("x"))), "integers.$where[2]"),
            (
                "texts", .all(.popLast, .pull(where: .not(.compare(.eq, "$", .integer(1))))),
                "texts.$val[1].$where[1][2]"
            ),
            ("texts", .pull(where: .compare(.eq, "$.a", .string("x"))), "texts.$where[1]"),
            ("tags", .pull(where: .compare(.eq, "$.name", .string("x"))), "tags.$where[1]"),
            ("texts", .pull(where: .match(.keyPath(path("$")), "x")), "texts.$where[0]"),
            (
                "tags",
                .pull(where: .or([.found(.keyPath(path("$")), by: Subquery(type: type("tag")), isNegated: false)])),
                "tags.$where[1][0]"
            ),
            ("count", .pull(where: .compare(.eq, "$", .integer(1))), "count"),
            ("texts", .pull(where: .elements(path("$"), .any, .compare(.eq, "$", .string("x")))), "texts.$where[0]"),
            (
                "tags", .pull(where: .none([.elements(path("$"), .all, .compare(.eq, "$", .null))])),
                "tags.$where[1][0]"
            ),
            ("texts", .push(Self.list(10_001, #""""#)), "texts"), ("count", .push("[1]"), "count"),
        ]
        try await withArrays { f in
            for (name, change, path) in rows {
                let outcomes = try await f.outcomes([draft("post/1", applying: [name: change]), draft("post/2")])
                #expect(outcomes[0].error?.code == .invalidArgument, "\(change.kind)")
                #expect(outcomes[0].error?.path == "records[0].\(path)", "\(change.kind)")
                #expect(outcomes[0].error?.info["arguments"] == .list([.string(name)]))
                #expect(outcomes[1].error == nil)
            }
            #expect(try await f.fetch("post/1") == nil)
        }
    }

    // MARK: The statement

    private func statements(_ f: RecordsFixture, _ drafts: [RecordDraft]) -> [SQL] {
        let catalog = f.store.cache.current
        let plan = BatchPlan(drafts.map { .draft($0) }, catalog: catalog, database: .everyone) { "new" }
        let statement = SaveStatement(
            plan: plan,
            catalog: catalog,
            access: RecordAccess(.ann, in: .everyone),
            instant: nil,
            progress: SaveProgress()
        )
        return plan.units.flatMap { $0 }.map { statement.sql(for: $0) }
    }

    @Test func operandsOfTheRowAreOneStatementForManyRecords() async throws {
        try await withArrays { f in
            let drafts = (1...50).map {
                draft(
                    "post/\($0)",
                    applying: ["texts": .push(#"["\#($0)"]"#), "tags": .addToSet(#"["1"]"#), "flags": .popLast]
                )
            }
            let many = statements(f, drafts)
            #expect(many.count == 1)
            #expect(many[0].text.contains(#""texts" = coalesce("r"."texts", '{}') || "excluded"."texts""#))
            #expect(many[0].bindings.failure == nil)
            for _ in 1...2 {
                for outcome in try await f.outcomes(drafts) { _ = try outcome.record }
            }
            #expect(
                try await f.psql("SELECT DISTINCT texts = ARRAY[_id, _id], tags, flags FROM post") == "t|{1}|{}"
            )
            let changes = [FieldOperator.pull(#"["1"]"#), .setElement(0, #""x""#), .all(.popLast, .push(#"["y"]"#))]
            for change in changes {
                #expect(statements(f, drafts.map { draft($0.id.description, applying: ["texts": change]) }).count == 50)
            }
        }
    }

    @Test func preconditionsHoldAndRecordsThatAreRefusedLeaveOthersAlone() async throws {
        try await withArrays { f in
            let first = try await f.outcomes([
                draft("post/1", applying: ["texts": .addToSet(#"["a","a"]"#)], precondition: .isNew)
            ])[0].record
            #expect(first.fields[field("texts")] == .array(["a"]))
            let revision = try #require(first.revision)
            let second = try await f.outcomes([
                draft("post/1", applying: ["texts": .push(#"["b"]"#)], precondition: .revision(revision))
            ])[0].record
            #expect(second.fields[field("texts")] == .array(["a", "b"]))
            let stale = try await f.outcomes([
                draft("post/1", applying: ["texts": .push(#"["c"]"#)], precondition: .revision(revision))
            ])[0].error
            #expect(stale?.code == .conflict)
            try await f.psql("INSERT INTO post (_owner, _id, texts) VALUES ('ann', 'matrix', '{{a},{b}}')")
            for change in [
                FieldOperator.push(#"["c"]"#), .addToSet(#"["c"]"#), .pull(#"["c"]"#), .popLast,
                .setElement(0, #""c""#),
                .all(.popFirst, .push(#"["c"]"#)),
            ] {
                let outcomes = try await f.outcomes([
                    draft("post/matrix", applying: ["texts": change]), draft("post/1", applying: ["texts": change]),
                ])
                #expect(outcomes[0].error?.code == .invalidArgument && outcomes[0].error?.path == "records[0].texts")
                #expect(outcomes[1].error == nil)
            }
            #expect(try await f.psql("SELECT texts FROM post WHERE _id = 'matrix'") == "{{a},{b}}")
        }
    }

    @Test func onlyWhoMayWriteFindsOutWhatDoesNotFit() async throws {
        try await withArrays { f in
            try await f.save("post/1", ["texts": jsonValue("[]")], access: AccessList([]))
            let change = draft("post/1", applying: ["texts": .setElement(0, #""a""#)])
            let other = try await f.outcomes([change], .bob)[0].error
            #expect(other?.code == .permissionDenied && other?.path == nil)
            #expect(try await f.outcomes([change])[0].error?.path == "records[0].texts")
        }
    }

    // MARK: What psql writes

    @Test func placesFromAnyNumberAndElementsThatAreNull() async throws {
        try await withArrays { f in
            try await f.psql(
                """
                ALTER TABLE post ADD small smallint[], ADD single real[], ADD named text[] COLLATE "und-x-icu";
                INSERT INTO post (_owner, _id, integers, small, single, named)
                VALUES ('ann', '1', '[-3:1]={1,NULL,3,NULL,5}', '{1}', '{0.5}', '{b,A}')
                """
            )
            try await f.store.cache.reload()
            func integers(_ change: FieldOperator) async throws -> String {
                _ = try await f.apply(change, to: "integers", of: "post/1")
                return try await f.psql("SELECT array_to_string(integers, ',', '-') FROM post WHERE _id = '1'")
            }
            #expect(try await integers(.setElement(1, "2")) == "1,2,3,-,5")
            #expect(try await integers(.all(.popFirst, .setElement(0, "9"))) == "9,3,-,5")
            try await f.psql("UPDATE post SET integers = '[7:10]={1,NULL,3,4}'")
            #expect(try await integers(.addToSet("[3,6]")) == "1,-,3,4,6")
            #expect(try await integers(.push("[0]", at: .first)) == "0,1,-,3,4,6")
            #expect(try await integers(.pull("[3]")) == "0,1,-,4,6")
            try await f.psql("UPDATE post SET integers = '[7:10]={1,NULL,3,4}'")
            #expect(try await integers(.popFirst) == "-,3,4")
            #expect(try await integers(.popLast) == "-,3")

            // A column holds less than the type of its field.
            #expect(try await f.apply(.push("[2]"), to: "small", of: "post/1") == .array([1, 2]))
            #expect(
                try await f.apply(.all(.pull("[1]"), .addToSet("[2,3]")), to: "small", of: "post/1") == .array([2, 3])
            )
            for change in [FieldOperator.push("[40000]"), .all(.popLast, .push("[40000]")), .setElement(0, "40000")] {
                let error = try await f.outcomes([draft("post/1", applying: ["small": change])])[0].error
                #expect(error?.code == .invalidArgument && error?.info["arguments"] == .list([.string("small")]))
            }
            #expect(try await f.apply(.addToSet("[0.5, 1.5]"), to: "single", of: "post/1") == .array([0.5, 1.5]))
            #expect(try await f.apply(.addToSet(#"["a","A"]"#), to: "named", of: "post/1") == .array(["b", "A", "a"]))
            #expect(try await f.apply(.all(.pull(#"["a"]"#)), to: "named", of: "post/1") == .array(["b", "A"]))
        }
    }

    // MARK: References

    @Test func inAPrivateDatabaseAnElementMeansTheUsersOwnRecordOrThePublicOne() async throws {
        try await withArrays { f in
            let own = DatabaseScope.user("ann")
            try await f.save([draft("tag/1"), draft("tag/2")])
            try await f.save([draft("tag/1")], in: own)
            func stored() async throws -> String { try await f.psql("SELECT tags FROM post WHERE _id = '~ann/1'") }
            func save(_ change: FieldOperator, _ precondition: SavePrecondition? = nil) async throws -> RecordValue? {
                let one = draft("post/1", applying: ["tags": change], precondition: precondition)
                return try await f.outcomes([one, draft("tag/new")], in: own)[0].record.fields[field("tags")]
            }
            func references(_ ids: String...) -> RecordValue { .array(ids.map { .reference(id("tag/\($0)")) }) }
            // On a new record, and on the one that is there.
            #expect(try await save(.push(#"["1","2","new"]"#)) == references("1", "2", "new"))
            #expect(try await stored() == "{~ann/1,2,~ann/new}")
            #expect(try await save(.push(#"["1"]"#)) == references("1", "2", "new", "1"))
            #expect(try await stored() == "{~ann/1,2,~ann/new,~ann/1}")
            // Two that look alike are one to their reader.
            try await f.psql("UPDATE post SET tags = '{1,~ann/2,~ann/new}' WHERE _id = '~ann/1'")
            #expect(try await save(.addToSet(#"["1","2","3"]"#)) == references("1", "2", "new", "3"))
            #expect(try await stored() == "{1,~ann/2,~ann/new,3}")
            #expect(try await save(.pull(#"["1","2"]"#)) == references("new", "3"))
            #expect(try await save(.setElement(1, #""1""#)) == references("new", "1"))
            #expect(try await save(.all(.popFirst, .push(#"["2","new"]"#))) == references("1", "2", "new"))
            #expect(try await stored() == "{~ann/1,2,~ann/new}")
            try await f.psql("UPDATE post SET tags = '{1,~ann/1,~ann/2,4}' WHERE _id = '~ann/1'")
            #expect(try await save(.pull(where: .compare(.eq, "$", .reference(id("tag/1"))))) == references("2", "4"))
            #expect(
                try await save(.all(.pull(#"["4"]"#), .push(#"["1","2","new"]"#), .popFirst))
                    == references("1", "2", "new")
            )
            // A change of a record that there is, under its revision.
            let revision = try await f.store.fetch([id("post/1")], in: own, caller: .ann)[0].record.revision
            #expect(
                try await save(.addToSet(#"["1","9"]"#), .revision(try #require(revision)))
                    == references("1", "2", "new", "9")
            )
            let next = try await f.store.fetch([id("post/1")], in: own, caller: .ann)[0].record.revision
            #expect(
                try await save(.push(#"["1"]"#, at: .first), .revision(try #require(next)))
                    == references("1", "1", "2", "new", "9")
            )
            #expect(try await stored() == "{~ann/1,~ann/1,2,~ann/new,9}")
        }
    }

    @Test func temporaryIDsInOperandsAreResolved() async throws {
        try await withArrays { f in
            let changes: [FieldOperator] = [
                .push(#"["$new", "1"]"#), .all(.addToSet(#"["$new"]"#), .push(#"["1"]"#)),
                .setOnInsert(jsonValue(#"["$new","1"]"#)),
            ]
            for (number, change) in changes.enumerated() {
                let outcomes = try await f.outcomes([
                    draft("post/\(number)", applying: ["tags": change]), draft("tag/$new"),
                    draft("post/x\(number)", applying: ["tags": .push(#"["$missing"]"#)]),
                ])
                let new = try outcomes[1].record.id
                #expect(
                    try outcomes[0].record.fields[field("tags")] == .array([.reference(new), .reference(id("tag/1"))])
                )
                #expect(outcomes[2].error?.code == .invalidArgument)
                #expect(outcomes[2].error?.path?.hasPrefix("records[2].tags") == true)
            }
        }
    }

    // MARK: Bounds

    @Test func anArrayThatBecomesTooLongIsRefused() async throws {
        try await withArrays { f in
            func refusal(_ name: String, _ change: FieldOperator, _ id: String = "post/1") async throws -> SkyrowError?
            {
                try await f.outcomes([draft(id, applying: [name: change])])[0].error
            }
            try await f.save("post/1", ["integers": jsonValue(Self.list(9_999, "1"))])
            #expect(try await refusal("integers", .push("[1,1]"))?.code == .payloadTooLarge)
            _ = try await f.apply(.push("[1]"), to: "integers", of: "post/1")
            for change in [FieldOperator.push("[2]"), .addToSet("[2]"), .all(.push("[2]"))] {
                let error = try await refusal("integers", change)
                #expect(error?.code == .payloadTooLarge && error?.path == "records[0].integers", "\(change.kind)")
            }
            // What is there already needs no room, and what is removed makes some.
            _ = try await f.apply(.addToSet("[1]"), to: "integers", of: "post/1")
            _ = try await f.apply(.all(.popFirst, .push("[2]")), to: "integers", of: "post/1")
            _ = try await f.apply(.setElement(9_999, "3"), to: "integers", of: "post/1")

            // 1 MB of texts, to the byte.
            let text = String(repeating: "\u{E9}", count: FieldOperator.Limits.bytes / 2 - 2)
            try await f.save("post/2", ["texts": jsonValue(#"["\#(text)"]"#)])
            for change in [
                FieldOperator.push(#"["xxx","yy"]"#), .addToSet(#"["xxxxx"]"#), .setElement(0, #""\#(text)xxxxx""#),
                .all(.push(#"["xxx"]"#), .push(#"["yy"]"#)),
            ] {
                let error = try await refusal("texts", change, "post/2")
                #expect(error?.code == .payloadTooLarge && error?.path == "records[0].texts", "\(change.name)")
            }
            _ = try await f.apply(.push(#"["xxx","y"]"#), to: "texts", of: "post/2")
            _ = try await f.apply(.addToSet(#"["y"]"#), to: "texts", of: "post/2")
        }
    }

    /// Predicates of one form are one statement for many records, and of another are others.
    @Test func predicatesBindTheirValues() async throws {
        try await withArrays { f in
            let stored = (1...20).map {
                draft("post/\($0)", ["integers": jsonValue("[1,2,3]"), "texts": jsonValue(#"["a'","b"]"#)])
            }
            try await f.save(stored)
            let change: [String: FieldOperator] = [
                "integers": .all(
                    .push("[9]"),
                    .pull(where: .list(.in, "$", [1, 9])),
                    .pull(where: .compare(.gt, "$", 2))
                ),
                "texts": .pull(where: .or([.compare(.eq, "$", "a'"), .compare(.startsWith, "$", "z")])),
            ]
            let statements = statements(f, stored.map { draft($0.id.description, applying: change) })
            #expect(statements.allSatisfy { $0.bindings.failure == nil && !$0.text.contains("a'") })
            for outcome in try await f.outcomes(stored.map { draft($0.id.description, applying: change) }) {
                let fields = try outcome.record.fields
                #expect(fields[field("integers")] == .array([2]) && fields[field("texts")] == .array(["b"]))
            }
        }
    }

    /// The most that a predicate may ask, and one more of each.
    @Test(arguments: [0, 1])
    func predicatesAreBounded(_ more: Int) async throws {
        let element = Operand.keyPath(path("$"))
        func list(_ count: Int) -> Operand { .list((0..<count).map { .string("\($0)") }) }
        let equal = RecordPredicate.compare(.eq, "$", .string("x"))
        let part = RecordPredicate.compare(.contains, "$", .string("x"))
        let predicates: [RecordPredicate] = [
            .and(Array(repeating: equal, count: 6 + more)),
            .none([.comparison(.in, element, list(16 + more))]),
            .or([.comparison(.nin, element, list(8)), .comparison(.in, element, list(8 + more))]),
            .or(Array(repeating: part, count: 2 + more)),
            .compare(.endsWith, "$", .string(String(repeating: "x", count: 64 + more))),
            .regex(element, String(repeating: "x", count: 33 + more), ignoresCase: false),
        ]
        try await withArrays { f in
            for (place, predicate) in predicates.enumerated() {
                let change = FieldOperator.pull(where: predicate)
                let error = try await f.outcomes([draft("post/\(place)", applying: ["texts": change])])[0].error
                #expect(error?.code == (more == 0 ? nil : .invalidArgument), "\(predicate)")
                #expect(error?.path == (more == 0 ? nil : "records[0].texts.$where"), "\(predicate)")
            }
        }
    }

    /// The most that a request can ask of the longest array that there may be.
    @Test func theLongestOperandsAreApplied() async throws {
        try await withArrays { f in
            let ids = "[" + (0..<10_000).map { "\"\($0)\"" }.joined(separator: ",") + "]"
            let own = DatabaseScope.user("ann")
            _ = try await f.outcomes([draft("post/1", ["tags": jsonValue(ids), "texts": jsonValue(ids)])], in: own)
            let changes = Array(repeating: FieldOperator.addToSet(ids), count: 31) + [.pull(ids)]
            for name in ["texts", "tags"] {
                for change in [FieldOperator.addToSet(ids), .all(.addToSet(ids), .pull(ids), .push(ids))] {
                    let one = draft("post/1", applying: [name: change])
                    _ = try await f.outcomes([one], in: own)[0].record
                }
            }
            let most = draft("post/1", applying: ["texts": FieldOperator(.all(changes))])
            #expect(try await f.outcomes([most], in: own)[0].record.fields[field("texts")] == .array([]))
        }
    }
}
