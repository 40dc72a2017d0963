import SkyrowModel
import SkyrowPostgres
import SkyrowProtocol
import SkyrowTestSupport
import Testing

@testable import SkyrowStore

@Suite struct SaveBatchPlanTests {
    private func draft(
        _ id: String,
        _ fields: [(String, RecordValue)] = [],
        access: AccessList? = nil,
        precondition: SavePrecondition? = nil
    ) throws -> SaveRequest.Item {
        .draft(
            RecordDraft(
                id: try RecordID(id),
                access: access,
                fields: fields.map { (field($0.0), $0.1) },
                precondition: precondition
            )
        )
    }

    private func plan(_ items: [SaveRequest.Item], _ database: DatabaseScope = .everyone) -> BatchPlan {
        var fresh = 0
        return BatchPlan(items, catalog: .notes, database: database) {
            fresh += 1
            return "fresh\(fresh)"
        }
    }

    /// The ids of each unit's groups.
    private func shape(_ plan: BatchPlan) -> [[[String]]] {
        plan.units.map { $0.map { $0.members.map { plan.writes[$0].id.description } } }
    }

    @Test func recordsOfOneTypeAndShapeAreOneStatement() throws {
        let plan = plan(
            try (1...1000).map { try draft("note/\($0)", [("title", .string("x")), ("stars", .integer(1))]) }
        )
        #expect(plan.units.count == 1)
        #expect(plan.units[0].count == 1)
        #expect(plan.units[0][0].members == Array(0..<1000))
    }

    @Test func theOrderOfFieldsIsNoShape() throws {
        let plan = plan([
            try draft("note/1", [("title", .string("x")), ("stars", .integer(1))]),
            try draft("note/2", [("stars", .integer(1)), ("title", .null)]),
        ])
        #expect(shape(plan) == [[["note/1", "note/2"]]])
    }

    @Test func draftsOfOtherFieldsAndOrdersKeepTheirValues() throws {
        let plan = plan([
            try draft("note/1", [("title", .string("a")), ("missing", .null), ("stars", .integer(1))]),
            try draft("note/2", [("title", .string("b")), ("missing", .null), ("stars", .integer(2))]),
            try draft("note/3", [("title", .string("c")), ("missing", .integer(1)), ("stars", .integer(3))]),
            try draft("note/4", [("stars", .integer(4)), ("title", .string("d"))]),
            try draft("note/5", [("stars", .integer(5)), ("title", .string("e"))]),
            try draft("note/6", [("stars", .sequence), ("title", .string("f"))]),
            try draft("category/7", [("rank", .integer(7))]),
        ])
        #expect(plan.failures.keys.sorted() == [2])
        #expect(
            plan.writes.map(\.values) == [
                [.integer(1), .string("a")], [.integer(2), .string("b")], [.integer(4), .string("d")],
                [.integer(5), .string("e")], [.string("f")], [.integer(7)],
            ]
        )
        #expect(shape(plan) == [[["note/1", "note/2", "note/4", "note/5"]], [["note/6"]], [["category/7"]]])
    }

    /// A table keeps the layouts of its last drafts for the next request.
    @Test func layoutsAreKept() throws {
        let table = SchemaCatalog.table("note", (0..<12).map { ("f\($0)", .integer, .int8) })
        func layout(_ names: [String]) throws -> DraftLayout {
            let draft = RecordDraft(id: try RecordID("note/1"), fields: names.map { (field($0), .integer(1)) })
            return try table.layouts.layout(of: draft, in: table)
        }
        let first = try layout(["f2", "f1"])
        #expect(first.columns == [1, 4], "The columns are in the order of their names.")
        #expect(try layout(["f2", "f1"]) === first)
        #expect(try layout(["f1", "f2"]) !== first)
        #expect(throws: SkyrowError.self) { try layout(["f1", "missing"]) }
        for number in 3..<9 { _ = try layout(["f\(number)"]) }
        #expect(try layout(["f2", "f1"]) === first, "It is one of the last eight.")
        _ = try layout(["f9"])
        #expect(try layout(["f2", "f1"]) !== first)
    }

    /// Most values are stored as they were sent, without the questions that the others are asked.
    @Test func whatIsTakenAsSentWouldBeAcceptedUnchanged() throws {
        let types: [FieldType] = [
            .string, .integer, .number, .boolean, .datetime, .json, .reference(type("note")), .sequence, .bytes,
            .location, .geometry, .asset, .array(.string), .array(.integer), .relation(type("note")), .unknown("money"),
        ]
        let values: [RecordValue] = [
            .null, .string(""), .string("x"), .string("é"), .string("1"), .string("x\0"), .integer(1), .integer(.min),
            .number(1), .number(0.5), .number(.greatestFiniteMagnitude), .boolean(false),
            .datetime(Timestamp(microseconds: 1)), .datetime(.infinity), .json(JSONText(validated: Array("[1]".utf8))),
            .reference(id("note/1")), .reference(id("note/$1")), .sequence, .bytes([0]),
            .location(try Location(latitude: 1, longitude: 2)), .array([.string("x")]), .relation(type("note")),
            .asset(asset("cat.png")),
        ]
        var taken: [String: Int] = [:]
        for type in types {
            let column = RecordColumn(field: field("f"), identifier: "f", type: type, oid: type.column.kind.oid)
            for value in values where type.column.takesAsSent(value) {
                taken[type.name, default: 0] += 1
                #expect(try column.accepted(value) == value, "\(type.name) \(value)")
                #expect(try value.resolved { _ in id("note/2") } == value, "\(type.name) \(value)")
            }
        }
        #expect(taken == ["string": 4, "integer": 2, "number": 3, "boolean": 1, "datetime": 2, "asset": 1])
    }

    @Test func theOnlyRecordMayReferToItself() throws {
        let plan = plan([try draft("note/1", [("next", .reference(id("note/1")))])])
        #expect(plan.firstWrite(of: id("note/1")) == 0 && plan.firstWrite(of: id("note/2")) == nil)
        #expect(shape(plan) == [[["note/1"]]])
    }

    @Test func shapesThatAlternateAreAStatementEach() throws {
        let plan = plan(
            try (0..<9).map {
                try draft("note/\($0)", [$0.isMultiple(of: 2) ? ("stars", .integer(1)) : ("title", .null)])
            }
        )
        #expect(plan.units.map { $0.map(\.members) } == [[[0, 2, 4, 6, 8]], [[1, 3, 5, 7]]])
    }

    static let lacking: [(String, RecordValue, Bool)] = [
        ("title", .string("x"), false), ("title", .null, false), ("missing", .null, false),
        ("missing", .integer(1), true),
        ("title", .integer(1), true), ("stars", .number(1.5), true), ("stars", .number(2), false),
        ("score", .integer(9_007_199_254_740_993), false), ("price", .null, true),
    ]

    /// What is to be settled by a plan of the schema, which throws or changes something then.
    @Test(arguments: lacking)
    func aDraftThatTheSchemaDoesNotTakeIsNoticed(_ name: String, _ value: RecordValue, _ isLacking: Bool) throws {
        let item = try draft("note/1", [(name, value)])
        #expect(plan([try draft("note/2"), item]).lacksSchema == isLacking)
        guard case .draft(let draft) = item else { return }
        let changes = try? SchemaPlan(.save([draft]), in: .notes, mode: .development)
        #expect((changes?.isEmpty ?? false) == !isLacking)
    }

    @Test func threeShapesAreThreeStatements() throws {
        let shapes: [[(String, RecordValue)]] = [
            [("title", .string("x"))], [("stars", .integer(1))], [("title", .string("x")), ("done", .boolean(true))],
        ]
        let plan = plan(try (0..<999).map { try draft("note/\($0)", shapes[$0 % 3]) })
        #expect(plan.units.count == 3)
        #expect(plan.units.allSatisfy { $0.count == 1 && $0[0].members.count == 333 })
    }

    @Test func aTemporaryIDIsTheSameFreshIDEverywhere() throws {
        let plan = plan([
            try draft("note/$1", [("category", .reference(id("category/$1")))]),
            try draft("category/$1"),
            try draft("note/$1", [("title", .string("again"))]),
        ])
        #expect(plan.ids == [id("note/fresh1"), id("category/fresh2"), id("note/fresh1")])
        #expect(plan.writes[0].values == [.reference(id("category/fresh2"))])
        #expect(shape(plan) == [[["category/fresh2"]], [["note/fresh1"]], [["note/fresh1"]]])
    }

    @Test func aTemporaryIDThatNoRecordHasIsRefused() throws {
        let plan = plan([try draft("note/1", [("category", .reference(id("category/$1")))])])
        #expect(plan.failures[0]?.error.code == .invalidArgument)
        #expect(plan.units.isEmpty)
    }

    @Test func whatIsReferredToComesFirstWhateverTheOrder() throws {
        let plan = plan([
            try draft("note/1", [("category", .reference(id("category/1"))), ("next", .reference(id("note/2")))]),
            try draft("note/2", [("title", .string("x"))]),
            try draft("category/1"),
        ])
        let order = shape(plan).flatMap { $0.flatMap { $0 } }
        #expect(plan.units.allSatisfy { $0.count == 1 })
        #expect(try #require(order.firstIndex(of: "note/2")) < (try #require(order.firstIndex(of: "note/1"))))
        #expect(try #require(order.firstIndex(of: "category/1")) < (try #require(order.firstIndex(of: "note/1"))))
    }

    @Test func aCycleWithinOneShapeIsOneStatement() throws {
        let plan = plan([
            try draft("note/1", [("next", .reference(id("note/2")))]),
            try draft("note/2", [("next", .reference(id("note/1")))]),
        ])
        #expect(shape(plan) == [[["note/1", "note/2"]]])
    }

    @Test func aCycleAcrossShapesIsOneUnit() throws {
        let plan = plan([
            try draft("note/1", [("next", .reference(id("note/2")))]),
            try draft("note/2", [("next", .reference(id("note/1"))), ("title", .string("x"))]),
            try draft("note/3", [("stars", .integer(1))]),
        ])
        #expect(Set(shape(plan)) == [[["note/1"], ["note/2"]], [["note/3"]]])
    }

    @Test func recordsWithTheSameIDAreWrittenInTheirOrder() throws {
        let plan = plan([
            try draft("note/1", [("title", .string("a"))]),
            try draft("note/2", [("title", .string("b"))]),
            try draft("note/1", [("title", .string("c"))]),
            try draft("note/1", [("title", .string("d"))]),
        ])
        #expect(shape(plan) == [[["note/1", "note/2"]], [["note/1"]], [["note/1"]]])
        #expect(
            plan.units.map { plan.writes[$0[0].members[0]].values } == [
                [.string("a")], [.string("c")], [.string("d")],
            ]
        )
    }

    @Test func componentsPartAStatementWhereItCanBeParted() throws {
        let plan = plan([
            try draft("note/1", [("next", .reference(id("note/2")))]),
            try draft("note/2", [("next", .reference(id("note/3")))]),
            try draft("note/3", [("next", .reference(id("note/2")))]),
            try draft("note/4", [("next", .null)]),
        ])
        #expect(plan.components(of: [0, 1, 2, 3]) == [[1, 2], [0], [3]])
        #expect(plan.components(of: [0, 3]) == [[0], [3]])
    }

    @Test func anItemThatCouldNotBeReadKeepsItsPlace() throws {
        let error = SkyrowError.invalidArgument("No.")
        let plan = plan([.failure(error, id: "nonsense"), try draft("note/1")])
        #expect(plan.failures[0]?.error == error)
        #expect(plan.failures[0]?.id == "nonsense")
        #expect(plan.writes.map(\.index) == [1])
    }

    static let values: [(String, RecordValue, RecordValue?)] = [
        ("stars", .number(3), .integer(3)),
        ("score", .integer(3), .number(3)),
        ("score", .integer(9_007_199_254_740_992), .number(9_007_199_254_740_992)),
        ("serial", .sequence, nil),
        ("stars", .sequence, nil),
        ("stars", .null, .null),
        ("missing", .null, nil),
        (
            "tags", .json(JSONText(validated: Array(#"["\\u0000"]"#.utf8))),
            .json(JSONText(validated: Array(#"["\\u0000"]"#.utf8)))
        ),
    ]

    @Test(arguments: values)
    func aValueIsTakenInTheFormOfItsColumn(_ name: String, _ value: RecordValue, _ taken: RecordValue?) throws {
        let plan = plan([try draft("note/1", [(name, value)])])
        #expect(plan.failures.isEmpty)
        #expect(plan.writes[0].values == (taken.map { [$0] } ?? []))
    }

    static let misfits: [(String, RecordValue, ErrorCode)] = [
        ("stars", .number(1.5), .invalidArgument),
        ("serial", .number(1.5), .incompatibleSchema),
        ("score", .integer(9_007_199_254_740_993), .invalidArgument),
        ("title", .string("a\u{0}b"), .invalidArgument),
        ("tags", .json(JSONText(validated: Array(#"["\u0000"]"#.utf8))), .invalidArgument),
        ("tags", .json(JSONText(validated: Array(#"["\\\u0000"]"#.utf8))), .invalidArgument),
        ("title", .integer(1), .incompatibleSchema),
        ("category", .reference(id("note/1")), .incompatibleSchema),
        ("photo", .string(asset("cat.png").name.rawValue), .invalidArgument),
        ("photo", .integer(1), .incompatibleSchema),
        ("title", .asset(asset("cat.png")), .incompatibleSchema),
        ("price", .integer(1), .incompatibleSchema),
        ("missing", .integer(1), .incompatibleSchema),
    ]

    @Test(arguments: misfits)
    func aValueThatDoesNotFitIsRefusedAlone(_ name: String, _ value: RecordValue, _ code: ErrorCode) throws {
        let plan = plan([try draft("note/1", [(name, value)]), try draft("note/2")])
        #expect(plan.failures[0]?.error.code == code)
        #expect(plan.failures[0]?.id == "note/1")
        #expect(plan.writes.map(\.id) == [id("note/2")])
    }

    @Test func profilesAreOnlyChangedAndOnlyInThePublicDatabase() throws {
        #expect(plan([try draft("user/ann")]).writes[0].shape.kind == .update)
        #expect(plan([try draft("user/ann", precondition: .isNew)]).failures[0]?.error.code == .permissionDenied)
        #expect(plan([try draft("user/ann")], .user("ann")).failures[0]?.error.code == .permissionDenied)
    }

    @Test func idsThatDifferInNormalisationAreDifferentRecords() throws {
        let plan = plan([try draft("note/\u{E9}"), try draft("note/e\u{301}")])
        #expect(plan.units.map { $0.map(\.members) } == [[[0, 1]]])
    }

    @Test func aLongChainOfReferencesIsPlannedWithoutRecursion() throws {
        let plan = plan(try (0..<10_000).map { try draft("note/\($0)", [("next", .reference(id("note/\($0 + 1)")))]) })
        #expect(plan.units.count == 1)
        #expect(plan.components(of: Array(0..<10_000)).first == [9_999])
    }
}
