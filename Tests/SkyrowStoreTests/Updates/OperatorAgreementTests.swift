import SkyrowJSON
import SkyrowModel
import SkyrowPostgres
import SkyrowQuery
import SkyrowTestSupport
import Testing

@testable import SkyrowStore

/// SQL and memory make the same of a value, and refuse the same.
@Suite(.timeLimit(.minutes(60))) struct OperatorAgreementTests {
    private static let integers: [Int64] = [
        0, 1, -1, 2, 7, .max, .min, .max - 1, .min + 1, 1 << 31, 1 << 53, (1 << 53) + 1, 3_037_000_500,
    ]
    private static let numbers: [Double] = [
        0, -0.0, 1, -1, 0.1, 0.2, .leastNonzeroMagnitude, -.leastNonzeroMagnitude, 1e308, -1e308,
        1.7976931348623157e308, 1e-200, 9_007_199_254_740_992,
        0.5,
    ]
    private static let texts = [
        "", "a", "A", "b", "\u{E9}", "e\u{301}", "\u{E000}", "\u{10000}", "\u{10FFFF}", "ß", "a\u{1}", "\"", "\\", "%",
    ]
    private static let instants: [Int64] = [0, 1, -1, .max, .min, 602_942_400_123_456]
    private static let elements = [
        "null", "true", "false", "0", "-0", "-0.0", "1", "1.0", "1e0", "10e-1", "-1", "1.50", "9223372036854775808",
        "1e308",
        "5e-324", "0.1", "123456789012345678901234567890.123456789", "\"\"", "\"a\"", "\"\\u0061\"", "\"A\"",
        "\"\u{E9}\"",
        "\"e\u{301}\"", "\"\u{10FFFF}\"", "\"\\u0001\\n\\\"\\\\\"", "[]", "[[]]", "[null]", "[1,1.0]", "{}",
        "{\"a\":1}",
        "{\"a\":1.0,\"b\":[]}", "{\"b\":[],\"a\":1}", "{\"a\":2,\"a\":1}", "{\"\u{E9}\":{}}", "{\"e\u{301}\":{}}",
    ]
    private static let members = ["a", "b", "0", "\u{E9}", "e\u{301}", "\"q\"", "a b"]
    private static let jsonNumbers = ["0", "1", "-1", "0.1", "2.50", "1e300", "1e-300", "-9223372036854775808", "1e10"]

    private struct Generator {
        var random: SeededGenerator

        mutating func one<Value>(_ values: [Value]) -> Value {
            values[Int.random(in: 0..<values.count, using: &random)]
        }
        mutating func few(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }

        mutating func list() -> String {
            "[" + (0..<few(0...4)).map { _ in one(elements) }.joined(separator: ",") + "]"
        }

        mutating func object(_ depth: Int) -> String {
            let parts = (0..<few(0...3)).map { _ -> String in
                let name = one(members).replacing("\"", with: "\\\"")
                let value =
                    switch few(0...5) {
                    case 0...1 where depth > 0: object(depth - 1)
                    case 2: one(jsonNumbers)
                    case 3: list()
                    default: one(elements)
                    }
                return "\"\(name)\":\(value)"
            }
            return "{\(parts.joined(separator: ","))}"
        }

        mutating func path() -> String {
            (0..<few(1...4)).map { _ in one(members) }.joined(separator: ".")
        }

        /// The text of an element of an array of one type.
        mutating func element(_ name: String) -> String {
            switch name {
            case "integers": "\(one(integers))"
            case "numbers": "\(one(numbers))"
            case "flags": one(["true", "false"])
            case "refs":
                "{\"$type\":\"ref\",\"$id\":\"category/\(one(["a", "b", "\u{E9}", "e\u{301}", "c~", "x/y"]))\"}"
            default: quoted(one(texts))
            }
        }

        private func quoted(_ text: String) -> String {
            let writer = JSONWriter()
            writer.string(text)
            return String(decoding: writer.jsonText.utf8, as: UTF8.self)
        }

        mutating func typedList(_ name: String) -> String {
            "[" + (0..<few(0...4)).map { _ in element(name) }.joined(separator: ",") + "]"
        }

        /// What is asked of each element, in at most four comparisons.
        private mutating func predicate(_ name: String, depth: Int = 0) -> RecordPredicate {
            guard depth < 2 else { return comparison(name, hasPattern: false) }
            func part() -> RecordPredicate { predicate(name, depth: depth + 1) }
            switch few(0...7) {
            case 0: return .not(part())
            case 1: return .none([part(), part()])
            case 2: return .or([part(), part()])
            case 3: return .and([part(), part()])
            // There are two that have patterns at most.
            default: return comparison(name, hasPattern: depth < 2)
            }
        }

        private mutating func comparison(_ name: String, hasPattern: Bool) -> RecordPredicate {
            if few(0...9) == 0 { return .compare(one([.eq, .neq]), "$", .null) }
            let order: [ComparisonOperator] = [.eq, .neq, .lt, .lte, .gt, .gte]
            switch name {
            case "integers":
                return .compare(one(order), "$", few(0...2) == 0 ? .number(one(numbers)) : .integer(one(integers)))
            case "numbers":
                return .compare(one(order), "$", few(0...2) == 0 ? .integer(one(integers)) : .number(one(numbers)))
            case "flags": return .compare(one([.eq, .neq]), "$", .boolean(few(0...1) == 0))
            case "refs": return .compare(one([.eq, .neq]), "$", .reference(id("category/\(one(["a", "b", "x/y"]))")))
            case "texts":
                return hasPattern && few(0...3) == 0
                    ? .regex(
                        .keyPath(FieldPath(unchecked: "$")),
                        one(["^a", "[^a]", "B$", "é", "."]),
                        ignoresCase: few(0...1) == 0
                    )
                    : .compare(
                        one(order + (hasPattern ? [.contains, .startsWith, .endsWith] : [.startsWith])),
                        "$",
                        .string(one(texts))
                    )
            default:
                let place = one(["$", "$", "a", "$.a", "b.a", "0"])
                return few(0...2) == 0
                    ? .compare(one([.lt, .gte]), place, one([.integer(1), .string("a"), .number(0.1)]))
                    : .compare(one([.eq, .neq, .contains]), place, jsonValue(one(elements)))
            }
        }

        /// A field of a note, a value for it, and an operator that fits.
        mutating func pair() -> (field: String, stored: RecordValue, change: FieldOperator) {
            let arrays = ["texts", "integers", "numbers", "flags", "refs"]
            let name = one(["stars", "score", "title", "due", "tags", "tags", "tags"] + arrays)
            let stored: RecordValue = few(0...7) == 0 ? .null : value(name)
            let change =
                few(0...4) == 0
                ? FieldOperator(.all((0..<few(1...5)).map { _ in self.change(name) })) : change(name)
            return (name, stored, change)
        }

        private mutating func value(_ name: String) -> RecordValue {
            switch name {
            case "stars": .integer(one(integers))
            case "score": .number(one(numbers))
            case "title": .string(one(texts))
            case "due": .datetime(Timestamp(microseconds: one(instants)))
            case "texts", "integers", "numbers", "flags", "refs": jsonValue(typedList(name))
            default: jsonValue(few(0...1) == 0 ? list() : object(3))
            }
        }

        private mutating func change(_ name: String) -> FieldOperator {
            switch few(0...9) {
            case 0: return .unset
            case 1: return .setOnInsert(value(name))
            default: break
            }
            switch name {
            case "stars", "score":
                return FieldOperator(.compute(one(FieldOperator.Arithmetic.allCases), value(name)))
            case "title", "due":
                return FieldOperator(.compute(one([.minimum, .maximum]), value(name)))
            case "texts", "integers", "numbers", "flags", "refs":
                switch few(0...8) {
                case 7, 8: return .pull(where: predicate(name))
                case 0: return .push(typedList(name))
                case 1: return .push(typedList(name), at: .first)
                case 2: return .addToSet(typedList(name))
                case 3: return .pull(typedList(name))
                case 4: return .popFirst
                case 5: return .popLast
                default: return .setElement(Int64(few(0...3)), element(name))
                }
            default:
                switch few(0...11) {
                case 10, 11: return .pull(where: predicate(name))
                case 0: return .push(list())
                case 1: return .push(list(), at: .first)
                case 2: return .addToSet(list())
                case 3: return .pull(list())
                case 4: return .popFirst
                case 5: return .popLast
                case 6: return .setElement(Int64(few(0...3)), one(elements))
                case 7: return .setMember(path(), one(elements))
                case 8: return .setMember(path(), one(FieldOperator.Arithmetic.allCases), one(jsonNumbers))
                default: return .unsetMember(path())
                }
            }
        }
    }

    private static let arrays = RecordType(
        name: type("note"),
        fields: [
            field("texts"): .array(.string), field("integers"): .array(.integer), field("numbers"): .array(.number),
            field("flags"): .array(.boolean), field("refs"): .array(.reference(type("category"))),
        ]
    )

    @Test(arguments: [DatabaseScope.everyone, .user("ann")])
    func theDatabaseAndMemoryMakeTheSameOfAValue(_ scope: DatabaseScope) async throws {
        try await withRecords { f in
            _ = try await f.store.createTypes([Self.arrays])
            // In a private database an element means the user's own record, where there is one.
            try await f.save("category/a", in: .user("ann"))
            var generator = Generator(random: .forTest())
            let table = try #require(f.store.cache.current[type("note")])
            var refusals = 0
            for round in 0..<seededCases(12) {
                var drafts: [RecordDraft] = []
                var stored: [RecordDraft] = []
                var expected: [Result<RecordValue, SkyrowError>] = []
                for number in 0..<64 {
                    let (name, value, change) = generator.pair()
                    let id = "note/\(round)-\(number)"
                    let isNew = generator.few(0...5) == 0
                    if !isNew { stored.append(draft(id, [name: value])) }
                    drafts.append(draft(id, applying: [name: change]))
                    let column = try #require(table[field(name)])
                    let settled = try #require(try column.settled(change, at: 0, resolving: { $0 }))
                    expected.append(
                        Result { () throws(SkyrowError) in
                            let stored = try column.accepted(isNew ? .null : value) ?? .null
                            return try settled.change.apply(
                                to: stored,
                                isNew: isNew,
                                field: field(name),
                                of: column.type
                            )
                        }
                    )
                }
                for outcome in try await f.outcomes(stored, in: scope) { _ = try outcome.record }
                let outcomes = try await f.outcomes(drafts, in: scope)
                for (place, outcome) in outcomes.enumerated() {
                    let (name, change) = drafts[place].operators[0]
                    let before = stored.first { $0.id == drafts[place].id }?.fields[0].value
                    let label = "\(change.kind) on \(String(describing: before))"
                    switch expected[place] {
                    case .success(let value):
                        let record = try #require(
                            outcome.error == nil ? try outcome.record : nil,
                            "\(label): \(outcome)"
                        )
                        let found = record.fields[name] ?? .null
                        #expect(found.isIdentical(to: value), "\(label): \(found), in memory \(value)")
                    case .failure(let error):
                        refusals += 1
                        #expect(outcome.error == error.inRecord(at: place), "\(label)")
                    }
                }
            }
            #expect((seededCases(25)...seededCases(500)).contains(refusals))
        }
    }
}
