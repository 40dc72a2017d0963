import Foundation
import SkyrowModel
import SkyrowProtocol
import SkyrowTestSupport
import Testing

@testable import SkyrowPostgres
@testable import SkyrowStore

/// Operators as part of saves: beside values, in batches, under preconditions and rules, and within bounds.
@Suite(.timeLimit(.minutes(60))) struct OperatorSaveTests {
    private static let stars = field("stars")
    private static let tags = field("tags")

    // MARK: The statement

    private func statements(_ drafts: [RecordDraft], _ caller: Caller = .ann) -> [SQL] {
        let plan = BatchPlan(drafts.map { .draft($0) }, catalog: .notes, database: .everyone) { "new" }
        let statement = SaveStatement(
            plan: plan,
            catalog: .notes,
            access: RecordAccess(caller, in: .everyone),
            instant: nil,
            progress: SaveProgress()
        )
        return plan.units.flatMap { $0 }.map { statement.sql(for: $0) }
    }

    @Test func operandsOfTheRowAreOneStatementForManyRecords() throws {
        let changes: [String: FieldOperator] = [
            "stars": .increment(by: 1), "tags": .push("[1]"), "title": .max("a"), "done": .setOnInsert(true),
        ]
        let statements = statements((1...100).map { draft("note/\($0)", applying: changes, ["score": 1.5]) })
        #expect(statements.count == 1)
        let text = statements[0].text
        #expect(text.contains(#", "stars" = coalesce("r"."stars" + "excluded"."stars", "excluded"."stars"), "#))
        #expect(text.contains(#""tags" = coalesce("r"."tags", '[]') || "excluded"."tags""#))
        #expect(text.contains(#""title" = greatest("r"."title" COLLATE "C", "excluded"."title") WHERE CASE WHEN "#))
        #expect(text.contains(#""score" = EXCLUDED."score""#))
        // What is set on insert only is not merged.
        #expect(!text.contains(#""done" = "#))
        #expect(statements[0].bindings.failure == nil)
    }

    @Test func boundOperandsAreAStatementForEachRecordOfOneShape() throws {
        let drafts = [
            draft("note/1", applying: ["stars": .multiply(by: 2), "tags": .pull("[1]")]),
            draft("note/2", applying: ["stars": .multiply(by: 3), "tags": .pull("[1,2,3]")]),
            draft("note/3", applying: ["stars": .all(.multiply(by: 3), .increment(by: 1))]),
            draft("note/4", applying: ["stars": .all(.multiply(by: 9), .increment(by: 8))]),
        ]
        let statements = statements(drafts)
        #expect(statements.count == 4)
        #expect(statements[0].text == statements[1].text && statements[2].text == statements[3].text)
        #expect(statements[0].text != statements[2].text)
        for statement in statements { #expect(statement.bindings.failure == nil) }
    }

    @Test func theTextHasTheBoundsThatMemoryHas() throws {
        let text = try #require(
            statements([draft("note/1", applying: ["tags": .all(.addToSet("[1]"), .setMember("a", .increment, "1"))])])
                .first?.text
        )
        #expect(text.contains(" <= \(FieldOperator.Limits.elements) "))
        #expect(text.contains(" <= \(FieldOperator.Limits.bytes) "))
        #expect(text.contains(" <= \(FieldOperator.Limits.digits) "))
    }

    @Test func aSaveWithoutOperatorsHasNoTraceOfThem() throws {
        let plan = BatchPlan([.draft(draft("note/1", ["title": "x"]))], catalog: .notes, database: .everyone) { "new" }
        #expect(plan.writes[0].shape.operators.isEmpty)
        #expect(!statements([draft("note/1", ["title": "x"])])[0].text.contains("WHERE CASE"))
    }

    // MARK: Beside other saves

    @Test func valuesAndOperatorsGoTogetherInARecordAndInABatch() async throws {
        try await withRecords { f in
            try await f.save("note/1", ["title": "old", "stars": 1, "tags": jsonValue("[1]")])
            let outcomes = try await f.outcomes([
                draft("note/1", applying: ["stars": .increment(by: 2), "tags": .pull("[1]")], ["title": "new"]),
                draft("note/2", ["title": "plain"]),
                draft("note/3", applying: ["stars": .increment(by: 2)]),
                draft("note/4", ["stars": 9]),
                draft("note/5", applying: ["stars": .max(5), "tags": .setElement(0, "1")]),
                draft("note/1", applying: ["stars": .multiply(by: 10)]),
                draft("note/1", ["stars": 4]),
                draft("note/1", applying: ["stars": .increment(by: 1), "score": .increment(by: 0.5)]),
            ])
            let fields = try outcomes.map { $0.error == nil ? try $0.record.fields : nil }
            #expect(
                fields[0]?[field("title")] == "new" && fields[0]?[Self.stars] == 3
                    && fields[0]?[Self.tags] == jsonValue("[]")
            )
            #expect(fields[2]?[Self.stars] == 2)
            #expect(fields[4] == nil && outcomes[4].error?.path == "records[4].tags")
            // One record several times: in the order of the request.
            #expect(fields[5]?[Self.stars] == 30 && fields[6]?[Self.stars] == 4 && fields[7]?[Self.stars] == 5)
            #expect(try await f.fetch("note/1")?.fields == fields[7])
            #expect(try await f.fetch("note/5") == nil)
        }
    }

    @Test func oneRecordThatIsRefusedLeavesTheOthersOfItsBatchAlone() async throws {
        try await withRecords { f in
            let stored = (0..<60).map { number in
                draft(
                    "note/\(number)",
                    [
                        "stars": number == 7 ? .integer(.max) : 1, "tags": jsonValue(number == 9 ? "{}" : "[]"),
                    ]
                )
            }
            try await f.save(stored)
            let changes = (0..<60).map {
                draft("note/\($0)", applying: ["stars": .increment(by: 1), "tags": .push("[1]")])
            }
            let outcomes = try await f.outcomes(changes)
            for (number, outcome) in outcomes.enumerated() {
                switch number {
                case 7:
                    #expect(outcome.error?.code == .invalidArgument && outcome.error?.path == "records[7].stars")
                    #expect(outcome.error?.message.contains("range") == true)
                case 9:
                    #expect(outcome.error?.code == .invalidArgument && outcome.error?.path == "records[9].tags")
                default:
                    #expect(try outcome.record.fields[Self.stars] == 2)
                }
            }
            // All or nothing
            do {
                _ = try await f.outcomes(changes, atomic: true)
                Issue.record("An atomic save with a refused operator was done.")
            } catch let error as SkyrowError {
                #expect(error.code == .atomicOperationFailure)
                guard case .error(let failure)? = error.info["note/9"] else { throw UnexpectedOutcome() }
                #expect(failure.path == "records[9].tags")
            }
            #expect(try await f.fetch("note/0")?.fields[Self.stars] == 2)
        }
    }

    @Test func preconditionsHoldForOperators() async throws {
        try await withRecords { f in
            func save(_ change: FieldOperator, _ precondition: SavePrecondition?) async throws -> RecordOutcome {
                try await f.outcomes([draft("note/1", applying: ["tags": change], precondition: precondition)])[0]
            }
            #expect(try await save(.push("[1]"), .revision(1)).error?.code == .conflict)
            #expect(try await save(.setElement(0, "1"), .isNew).error?.path == "records[0].tags")
            #expect(try await f.fetch("note/1") == nil)
            let first = try await save(.addToSet("[1,1]"), .isNew).record
            #expect(first.fields[Self.tags] == jsonValue("[1]"))
            #expect(try await save(.push("[2]"), .isNew).error?.code == .conflict)
            let second = try await save(.push("[2]"), .revision(try #require(first.revision))).record
            #expect(second.fields[Self.tags] == jsonValue("[1, 2]"))
            let stale = try await save(.pull("[2]"), .revision(try #require(first.revision))).error
            #expect(stale?.code == .conflict && stale?.info["record"] == .record(second))
            // The revision is that of the record, and the operator does not fit.
            let revision = try #require(second.revision)
            #expect(try await save(.setElement(2, "1"), .revision(revision)).error?.path == "records[0].tags")
            #expect(
                try await save(.all(.popFirst, .setElement(0, "3")), .revision(revision)).record.fields[Self.tags]
                    == jsonValue("[3]")
            )
        }
    }

    @Test func operatorsWorkInPrivateDatabasesAndOnReferences() async throws {
        try await withRecords { f in
            let home = draft("category/home")
            let note = draft(
                "note/1",
                applying: [
                    "category": .setOnInsert(.reference(id("category/home"))), "stars": .increment(by: 1),
                    "next": .all(.setOnInsert(.reference(id("note/1")))),
                ]
            )
            for scope in [DatabaseScope.everyone, .user("ann")] {
                for round in 1...2 {
                    let outcomes = try await f.outcomes([note, home], in: scope)
                    let record = try outcomes[0].record
                    #expect(record.fields[Self.stars] == .integer(Int64(round)))
                    #expect(record.fields[field("category")] == .reference(id("category/home")))
                    #expect(record.fields[field("next")] == .reference(id("note/1")))
                }
            }
            // What a record is not created with is not looked for.
            let missing = FieldOperator.setOnInsert(.reference(id("category/404")))
            #expect(try await f.apply(missing, to: "category", of: "note/1") == .reference(id("category/home")))
            let refused = try await f.outcomes([draft("note/2", applying: ["category": missing])])[0].error
            #expect(refused?.code == .invalidArgument && refused?.info["arguments"] == .list([.string("category")]))
        }
    }

    @Test func temporaryIDsInOperandsAreResolved() async throws {
        try await withRecords { f in
            let text = #"[{"$type":"ref","$id":"note/$1"}]"#
            let start = try #require(text.range(of: "note/$1"))
            let offset = text.utf8.distance(from: text.startIndex, to: start.lowerBound)
            let elements = JSONText(
                validated: Array(text.utf8),
                temporaryReferences: [.init(range: offset..<offset + 7, target: id("note/$1"), hasType: true)]
            )
            let drafts = [
                draft("note/$1", applying: ["next": .setOnInsert(.reference(id("note/$1")))]),
                draft("note/2", applying: ["tags": FieldOperator(.addToSet(.json(elements)))]),
            ]
            let outcomes = try await f.outcomes(drafts)
            let first = try outcomes[0].record
            #expect(first.fields[field("next")] == .reference(first.id))
            let tags = try #require(try outcomes[1].record.fields[Self.tags])
            #expect(tags.isIdentical(to: jsonValue(#"[{"$type":"ref","$id":"\#(first.id)"}]"#)))
            let error = try await f.outcomes([drafts[1]])[0].error
            #expect(error?.path == "records[0].tags")
        }
    }

    // MARK: Who may

    @Test func onlyWhoMayWriteFindsOutWhatDoesNotFit() async throws {
        try await withRecords { f in
            let hidden = AccessList([])
            try await f.save("note/1", ["stars": .integer(.max), "tags": jsonValue("{}")], access: hidden)
            try await f.save("note/2", ["stars": .integer(.max), "tags": jsonValue("{}")])
            for change in [
                ["stars": FieldOperator.increment(by: 1)], ["tags": .push("[1]")], ["tags": .setElement(0, "1")],
                ["stars": .all(.increment(by: 1), .multiply(by: 2))], ["tags": .all(.push("[1]"), .popLast)],
            ] {
                for number in 1...2 {
                    let error = try await f.outcomes([draft("note/\(number)", applying: change)], .bob)[0].error
                    #expect(error?.code == .permissionDenied && error?.path == nil)
                    // With a revision, as if there were no record.
                    let revised = draft("note/1", applying: change, precondition: .revision(1))
                    #expect(try await f.outcomes([revised], .bob)[0].error == .conflict)
                    let own = try await f.outcomes([draft("note/\(number)", applying: change)])[0].error
                    #expect(own?.code == .invalidArgument && own?.path?.hasPrefix("records[0].") == true)
                }
            }
        }
    }

    @Test func anOperatorOnAFieldOfOwnersIsAChange() async throws {
        try await withRecords { f in
            try await f.psql(
                #"""
                UPDATE "user" SET _access = '{"public": "write"}', email = 'ann@example.com' WHERE _id = 'ann';
                ALTER TABLE "user" ADD visits bigint
                """#
            )
            try await f.store.cache.reload()
            func save(_ name: String, _ change: FieldOperator, _ caller: Caller) async throws -> RecordOutcome {
                try await f.outcomes([draft("user/ann", applying: [name: change])], caller)[0]
            }
            // A login key takes none from any caller.
            for caller in [Caller.ann, .bob, .master] {
                for change in [FieldOperator.max("zoe"), .unset, .setOnInsert("x")] {
                    let error = try await save("username", change, caller).error
                    #expect(error?.code == .invalidArgument && error?.path == "records[0].username")
                }
            }
            // The other fields of a profile are as open as the profile.
            #expect(try await save("visits", .increment(by: 1), .bob).record.fields[field("visits")] == 1)
            let rows: [(FieldOperator, Caller, ErrorCode?)] = [
                (.max("b"), .ann, nil), (.min("zzz"), .bob, .deniedArgument),
                (.setOnInsert("x"), .bob, .deniedArgument),
                (.all(.max("a")), .bob, .deniedArgument), (.max("c"), .master, nil),
            ]
            // Fields that owners alone change, and fields that owners alone see.
            for rule in [
                FieldRule(readers: .everyone, writers: .owner), FieldRule(readers: .owner, writers: .everyone),
            ] {
                let rules = FieldRules([field("title"): rule])
                for (change, caller, code) in rows {
                    let refused = rules.refusedOperators([field("title")], on: Self.annsNote, by: FieldAccess(caller))
                    #expect(refused.isEmpty == (code == nil), "\(change.kind)")
                }
            }
        }
    }

    private static var annsNote: Record {
        var record = Record(id: id("note/1"))
        record.owner = "ann"
        return record
    }

    // MARK: Schema

    @Test func aNewFieldTakesItsTypeFromTheOperand() async throws {
        try await withRecords { f in
            let rows: [(String, FieldOperator, FieldType?, RecordValue?)] = [
                ("a1", .increment(by: 1), .integer, 1), ("a2", .increment(by: 1.5), .number, 1.5),
                ("a3", .push("[1]"), .json, jsonValue("[1]")), ("a4", .popLast, .json, jsonValue("[]")),
                ("a5", .min("x"), .string, "x"), ("a6", .setOnInsert(true), .boolean, true),
                ("a7", .unset, nil, nil), ("a8", .setMember("a.b", "1"), .json, jsonValue(#"{"a": {"b": 1}}"#)),
                ("a9", .all(.increment(by: 1), .multiply(by: 0.5)), .number, 0.5),
                (
                    "b1", .all(.unset, .setOnInsert(.reference(id("category/1")))), .reference(type("category")),
                    .reference(id("category/1"))
                ),
            ]
            try await f.save("category/1")
            for (name, change, fieldType, value) in rows {
                let drafts = [draft("thing/\(name)", applying: [name: change])]
                try await f.store.createMissingSchema(for: drafts)
                let outcome = try await f.outcomes(drafts)[0]
                #expect(try outcome.record.fields[field(name)] == value, "\(name)")
                #expect(f.store.cache.current[type("thing")]?[field(name)]?.type == fieldType, "\(name)")
            }
            // Not for a record that is not saved.
            let refused = draft("thing/x", applying: ["c1": .setElement(0, "1")])
            #expect(try await f.store.refusals(saving: [refused], in: .everyone, caller: .ann)[0]?.path == "c1")
            // An integer field that meets a fraction becomes one of numbers.
            let half = [draft("thing/a1", applying: ["a1": .increment(by: 0.5)])]
            #expect(try !f.store.schemaPlan(saving: half).isEmpty)
            try await f.store.createMissingSchema(for: half)
            #expect(try await f.outcomes(half)[0].record.fields[field("a1")] == 1.5)
        }
    }

    @Test func inProductionAFractionIsRefusedForItsRecordAlone() async throws {
        try await withStore(.production) { f in
            let types = [RecordType(name: type("thing"), fields: [field("n"): .integer])]
            _ = try await f.store.createTypes(types)
            let drafts = [
                draft("thing/1", applying: ["n": .increment(by: 1)]),
                draft("thing/1", applying: ["n": .increment(by: 0.5)]),
                draft("thing/1", applying: ["n": .multiply(by: 4.0)]),
            ]
            let outcomes = try await f.store.save(
                drafts.map { .draft($0) },
                in: .everyone,
                caller: .ann,
                atomic: false,
                fitsSchema: true
            )
            #expect(outcomes[1].error?.code == .invalidArgument && outcomes[1].error?.path == "records[1].n")
            #expect(try outcomes[2].record.fields[field("n")] == 4)
        }
    }

    @Test func rulesOfPsqlJudgeWhatBecomesOfAStoredRecord() async throws {
        try await withRecords { f in
            try await f.psql("ALTER TABLE note ADD CONSTRAINT stock CHECK (stars >= 0)")
            try await f.save((0..<400).map { draft("note/\($0)", ["stars": .integer($0 == 5 ? 0 : 3)]) })
            // The row of a new record would have -1.
            let take = (0..<402).map { draft("note/\($0)", applying: ["stars": .increment(by: -1)]) }
            let outcomes = try await f.outcomes(take)
            for (number, outcome) in outcomes.enumerated() {
                if [5, 400, 401].contains(number) {
                    #expect(outcome.error?.code == .constraintViolated)
                } else {
                    #expect(try outcome.record.fields[Self.stars] == 2)
                }
            }
            #expect(try await f.apply(.increment(by: 4), to: "stars", of: "note/400") == 4)
            // New ones among those that are refused are made.
            let mixed = try await f.outcomes([
                draft("note/0", applying: ["stars": .increment(by: -1)]),
                draft("note/new", applying: ["stars": .increment(by: 0)]),
            ])
            #expect(try mixed.map { try $0.record.fields[Self.stars] } == [1, 0])
        }
    }

    @Test func columnsThatPsqlMadeSmallerAreKeptWithinTheirRange() async throws {
        try await withRecords { f in
            try await f.psql(
                "ALTER TABLE note ADD small smallint, ADD single real, ADD other text COLLATE \"und-x-icu\""
            )
            try await f.store.cache.reload()
            try await f.save("note/1", ["small": 32_000, "single": 1.5, "other": "b"])
            #expect(try await f.apply(.increment(by: 767), to: "small", of: "note/1") == 32_767)
            let outcome = try await f.outcomes([draft("note/1", applying: ["small": .increment(by: 1)])])[0]
            #expect(outcome.error?.code == .invalidArgument && outcome.error?.path == "records[0].small")
            #expect(try await f.apply(.all(.multiply(by: 0), .increment(by: 3)), to: "small", of: "note/1") == 3)
            #expect(try await f.apply(.multiply(by: 2), to: "single", of: "note/1") == 3.0)
            // By bytes, whatever the collation of the column.
            #expect(try await f.apply(.min("B"), to: "other", of: "note/1") == "B")
        }
    }

    // MARK: Bounds

    @Test func aValueThatBecomesTooLongIsRefused() async throws {
        try await withRecords { f in
            func list(_ count: Int, _ element: String) -> String {
                "[" + Array(repeating: element, count: count).joined(separator: ",") + "]"
            }
            try await f.save("note/1", ["tags": jsonValue(list(9_999, "1"))])
            #expect(
                try await f.outcomes([draft("note/1", applying: ["tags": .push("[1,1]")])])[0].error?.code
                    == .payloadTooLarge
            )
            _ = try await f.apply(.push("[1]"), to: "tags", of: "note/1")
            for change in [FieldOperator.push("[2]"), .addToSet("[2]"), .all(.push("[2]"))] {
                let error = try await f.outcomes([draft("note/1", applying: ["tags": change])])[0].error
                #expect(error?.code == .payloadTooLarge && error?.path == "records[0].tags")
            }
            // What is there already needs no room, and what is removed makes some.
            _ = try await f.apply(.addToSet("[1]"), to: "tags", of: "note/1")
            _ = try await f.apply(.all(.popFirst, .push("[2]")), to: "tags", of: "note/1")

            // 1 MB, to the byte, as PostgreSQL writes it.
            let text = String(repeating: "x", count: FieldOperator.Limits.bytes - 10)
            try await f.save("note/2", ["tags": jsonValue("[\"\(text)\"]")])
            #expect(
                try await f.outcomes([draft("note/2", applying: ["tags": .push("[\"xxx\"]")])])[0].error?.code
                    == .payloadTooLarge
            )
            for change in [FieldOperator.push("[1,23]"), .setElement(0, "\"\(text)xxxxxxx\"")] {
                let error = try await f.outcomes([draft("note/2", applying: ["tags": change])])[0].error
                #expect(error?.code == .payloadTooLarge && error?.path == "records[0].tags")
            }
            _ = try await f.apply(.push("[1234]"), to: "tags", of: "note/2")
            try await f.save("note/3", ["tags": jsonValue("{\"a\":\"\(text.dropLast(10))\"}")])
            let error = try await f.outcomes([draft("note/3", applying: ["tags": .setMember("b.c", "\"0123456789\"")])]
            )[0].error
            #expect(error?.code == .payloadTooLarge && error?.path == "records[0].tags")
        }
    }

    @Test func numbersInObjectsHaveABound() async throws {
        try await withRecords { f in
            try await f.save("note/1", ["tags": jsonValue(#"{"n":1e300}"#)])
            let error = try await f.outcomes([draft("note/1", applying: ["tags": .setMember("n", .multiply, "1e300")])]
            )[0].error
            #expect(error?.code == .invalidArgument && error?.path == "records[0].tags")
            let tiny = try await f.outcomes([draft("note/1", applying: ["tags": .setMember("n", .increment, "1e-300")])]
            )[0].error
            #expect(tiny?.code == .invalidArgument)
        }
    }

    /// The most that a request can ask of one record: 256 operators in eight fields, and the longest list of another.
    @Test func theWorstRecordIsSaved() async throws {
        try await withRecords { f in
            let steps = (0..<32).map { number in
                FieldOperator(
                    .all(
                        Array(
                            repeating: .setMember("a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p", .increment, "\(number)"),
                            count: 32
                        )
                    )
                )
            }
            let fields = Dictionary(uniqueKeysWithValues: (0..<8).map { ("j\($0)", steps[$0]) })
            let names = fields.keys.sorted().map { "ADD \($0) jsonb" }.joined(separator: ", ")
            try await f.psql("ALTER TABLE note \(names)")
            try await f.store.cache.reload()
            for _ in 1...2 { _ = try await f.outcomes([draft("note/1", applying: fields)])[0].record }
            let long = "[" + (0..<10_000).map { "{\"n\":\($0)}" }.joined(separator: ",") + "]"
            try await f.save("note/2", ["tags": jsonValue(long)])
            for change in [FieldOperator.addToSet(long), .pull(long), .addToSet(long)] {
                _ = try await f.apply(change, to: "tags", of: "note/2")
            }
            #expect(try await f.fetch("note/2")?.fields[Self.tags]?.isIdentical(to: jsonValue(long)) == true)
        }
    }

    /// Statements of their own are counted in PostgreSQL's log: one for each record, and one for all that can be one.
    @Test func aBatchIsAsManyStatementsAsItNeeds() async throws {
        let once: (inout PostgresConfiguration) -> Void = { $0.sendsSlowStatementsOnce() }
        try await withRecords(on: .logging(), configure: once) { f in
            let rows: [(FieldOperator, Int)] = [
                (.push("[1]"), 1), (.addToSet("[1]"), 1), (.popLast, 1), (.setOnInsert(jsonValue("[]")), 1),
                (.unset, 1),
                (.pull("[1]"), 50), (.setElement(0, "2"), 51), (.all(.push("[1]"), .popLast), 50),
            ]
            for (change, count) in rows {
                // The set_at of a missing field is refused, and one question says why.
                let sent = try await f.database.statements {
                    _ = try await f.outcomes((0..<50).map { draft("note/\($0)", applying: ["tags": change]) })
                }
                #expect(sent.count { $0.contains("\"app\".") } == count, "\(change.kind)")
            }
        }
    }
}
