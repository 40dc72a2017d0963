import SkyrowModel
import Testing

@testable import SkyrowQuery

/// What evaluations in memory may take is bounded by steps for all that clients make long, and steps do not depend on the machine.
@Suite struct StepBudgetTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let name: String
        let predicate: Predicate
        var fields: [FieldName: StoredValue] = [:]
        /// How many steps it takes at least.
        var least = 0

        var testDescription: String { name }
    }

    private static let limit = 1_000_000

    private static func json(_ text: String) -> StoredValue { .json(JSONText(validated: Array(text.utf8))) }

    /// Each is one of the ways in which a client multiplies what it sends.
    static let costly: [Row] = [
        Row(
            name: "a regular expression of many states",
            predicate: .regex(.keyPath(path("title")), "([0-9a-f]{1,20}){20}z", ignoresCase: false),
            fields: [field("title"): .scalar(.text(String(repeating: "0123456789abcdef", count: 900_000 / 16)))]
        ),
        Row(
            name: "a pattern that almost matches everywhere",
            predicate: .compare(.like, "title", .string("%" + String(repeating: "a", count: 1000) + "b%")),
            fields: [field("title"): .scalar(.text(String(repeating: "a", count: 900_000)))]
        ),
        Row(
            name: "a part that is almost found everywhere",
            predicate: .comparison(
                .contains,
                .keyPath(path("title")),
                .value(.string(String(repeating: "a", count: 1000) + "b"))
            ),
            fields: [field("title"): .scalar(.text(String(repeating: "a", count: 900_000)))]
        ),
        Row(
            name: "many paths into long JSON",
            predicate: .or((0..<999).map { .compare(.eq, "tags.x.y", .integer(Int64($0))) }),
            fields: [field("tags"): json(#"{"x":{"y":-1},"z":"\#(String(repeating: "z", count: 900_000))"}"#)]
        ),
        Row(
            name: "a list beside the elements of an array",
            predicate: .list(.containsAny, "labels", (0..<1000).map { .string("none \($0)") }),
            fields: [field("labels"): .array((0..<20_000).map { .text("label \($0)") })]
        ),
        Row(
            name: "each element of a long array",
            predicate: .any("labels", .or((0..<500).map { .compare(.eq, "$", .string("none \($0)")) })),
            fields: [field("labels"): .array((0..<20_000).map { .text("label \($0)") })]
        ),
        Row(
            name: "texts that begin alike",
            predicate: .or(
                (0..<999).map { .compare(.gt, "title", .string(String(repeating: "b", count: 90_000) + "c\($0)")) }
            ),
            fields: [field("title"): .scalar(.text(String(repeating: "b", count: 900_000)))]
        ),
    ]

    private static func resolved(_ predicate: Predicate) throws -> ResolvedPredicate {
        var resolver = Resolver(schema: TestSchema.notes, root: TestSchema.notes.note, access: RecordAccess(.ann))
        return try #require(try resolver.resolve(RecordQuery(type: type("note"), predicate: predicate)).predicate)
    }

    @Test(arguments: costly) func whatClientsMultiplyEndsWithTheBudget(_ row: Row) throws {
        let predicate = try Self.resolved(row.predicate)
        let record = StoredRecord(type: type("note"), storedID: "1", fields: row.fields)
        var budget = StepBudget(Self.limit)
        #expect(predicate.truth(of: record, within: &budget) == nil)
        #expect(budget.isSpent && budget.remaining == 0)
        // What comes after says nothing either.
        #expect(ResolvedPredicate.and([]).truth(of: record, within: &budget) == nil)
    }

    /// The worst of the report: a save of 400 small records, and 50 subscriptions with 999 comparisons.
    @Test func aProductOfRecordsAndComparisonsIsCounted() throws {
        let predicate = try Self.resolved(.or((0..<999).map { .compare(.eq, "tags.x.y", .integer(Int64($0))) }))
        let record = StoredRecord(
            type: type("note"),
            storedID: "1",
            fields: [field("tags"): Self.json(#"{"x":{"y":-1}}"#)]
        )
        var budget = StepBudget(100_000_000)
        for _ in 0..<400 { #expect(predicate.truth(of: record, within: &budget) == .no) }
        let steps = 100_000_000 - budget.remaining
        #expect((4_000_000...40_000_000).contains(steps), "\(steps)")
    }

    /// What applications ask for stays far below any bound.
    static let usual: [Row] = [
        Row(name: "a value", predicate: .compare(.eq, "stars", .integer(5)), least: 2),
        Row(
            name: "a few conditions",
            predicate: .and([
                .compare(.eq, "done", .boolean(true)), .compare(.gt, "stars", .integer(3)),
                .compare(.like, "title", .string("%milk%")), .list(.in, "category", (0..<20).map { .string("c\($0)") }),
            ]),
            least: 4
        ),
        Row(
            name: "a regular expression of words",
            predicate: .regex(.keyPath(path("title")), "^Star (Wars|Trek)", ignoresCase: true),
            least: 4
        ),
    ]

    @Test(arguments: usual) func whatIsUsualTakesLittle(_ row: Row) throws {
        let predicate = try Self.resolved(row.predicate)
        let record = StoredRecord(
            type: type("note"),
            storedID: "1",
            fields: [
                field("title"): .scalar(.text("Milk and bread from the shop around the corner")),
                field("stars"): .scalar(.integer(5)), field("done"): .scalar(.boolean(true)),
                field("category"): .scalar(.text("home")),
            ]
        )
        var budget = StepBudget(2_000)
        #expect(predicate.truth(of: record, within: &budget) != nil)
        #expect(2_000 - budget.remaining >= row.least)
    }

    /// The same truth comes of any budget that suffices, and none of one that does not.
    @Test func aBudgetChangesNoTruth() throws {
        let record = StoredRecord(
            type: type("note"),
            storedID: "1",
            fields: [
                field("title"): .scalar(.text(String(repeating: "ab", count: 500))),
                field("labels"): .array((0..<100).map { .text("label \($0)") }),
                field("tags"): Self.json(#"{"x":[1,2,{"y":"z"}]}"#),
            ]
        )
        let predicates: [Predicate] = [
            .compare(.like, "title", .string("%abab%c%")), .compare(.like, "title", .string("%ba")),
            .regex(.keyPath(path("title")), "(ab){3,}$", ignoresCase: false),
            .any("labels", .compare(.eq, "$", .string("label 99"))), .compare(.eq, "tags.x.2.y", .string("z")),
            .not(.compare(.eq, "due", .datetime(.infinity))), .list(.containsAll, "labels", [.string("label 7")]),
        ]
        for source in predicates {
            let predicate = try Self.resolved(source)
            var unbounded = StepBudget(.max)
            let truth = try #require(predicate.truth(of: record, within: &unbounded))
            let steps = Int.max - unbounded.remaining
            for allowed in [0, steps / 2, steps - 1, steps, steps + 1] {
                var budget = StepBudget(allowed)
                let found = predicate.truth(of: record, within: &budget)
                #expect(found == (allowed >= steps ? truth : nil), "\(source) within \(allowed) of \(steps)")
            }
        }
    }

    @Test func aBudgetThatIsSpentStaysSo() {
        var budget = StepBudget(10)
        #expect(budget.take(4) && budget.take(6) && !budget.isSpent && budget.remaining == 0)
        #expect(!budget.take(1) && budget.isSpent && !budget.take(0) && budget.isSpent)
        var other = StepBudget(10)
        #expect(!other.take(.max) && other.remaining == 0)
    }
}

extension RegexPattern {
    func matches(_ text: String) -> Bool {
        var budget = StepBudget.unbounded
        return matches(text, within: &budget)
    }
}

extension WordQuery {
    func matches(_ text: String) -> Bool? {
        var budget = StepBudget.unbounded
        return matches(text, within: &budget)
    }
}

extension LikePattern {
    func matches(_ text: String) -> Bool {
        var budget = StepBudget.unbounded
        return matches(text, within: &budget)
    }
}
