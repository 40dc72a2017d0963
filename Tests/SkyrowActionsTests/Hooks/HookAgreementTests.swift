import SkyrowModel
import SkyrowProtocol
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

/// F-10: with a hook that changes nothing, saves store the same and fail with the same errors as without hooks.
@Suite(.timeLimit(.minutes(60))) struct HookAgreementTests {
    /// A draft of either type.
    private struct Sketch {
        var name: String
        var key: String
        var fields: [(String, RecordValue)] = []
        var operators: [(String, FieldOperator)] = []
        /// The id of a record of the same type.
        var next: String?
        var access: AccessList?
        var precondition: SavePrecondition?

        func draft(of type: String) -> RecordDraft {
            var sketched = RecordDraft(id: id("\(type)/\(name)"), access: access, precondition: precondition)
            sketched.fields = [(field("key"), .string(key))] + fields.map { (field($0.0), $0.1) }
            if let next { sketched.fields.append((field("next"), .reference(id("\(type)/\(next)")))) }
            sketched.operators = operators.map { (field($0.0), $0.1) }
            return sketched
        }
    }

    private struct Generator {
        var random: SeededGenerator
        private var temporary = 0

        init(random: SeededGenerator) { self.random = random }

        mutating func few(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }

        mutating func one<Value>(_ values: [Value]) -> Value { values[few(0...values.count - 1)] }

        mutating func sketch(_ place: Int) -> Sketch {
            var sketch = Sketch(name: "\(few(0...5))", key: "")
            sketch.key = sketch.name
            if few(0...3) == 0 {
                temporary += 1
                sketch.name = "$\(place)"
                sketch.key = "t\(temporary)"
            }
            for name in ["title", "stars", "score", "tags"] {
                switch few(0...3) {
                case 0: sketch.fields.append((name, value(name)))
                case 1: sketch.operators.append((name, change(name)))
                default: break
                }
            }
            switch few(0...9) {
            case 0: sketch.access = AccessList([AccessEntry(.everyone, one([.read, .write]))])
            case 1: sketch.access = AccessList([])
            case 2: sketch.precondition = sketch.name.hasPrefix("$") ? nil : .isNew
            case 3: sketch.precondition = sketch.name.hasPrefix("$") ? nil : .exists
            case 4: sketch.next = "stable"
            case 5: sketch.next = "none"
            default: break
            }
            return sketch
        }

        private mutating func value(_ name: String) -> RecordValue {
            if few(0...5) == 0 { return .null }
            switch name {
            case "title": return .string(one(["", "a", "\u{E9}", "e\u{301}", "'\"\\"]))
            case "stars": return .integer(one([0, 1, -7, .max]))
            case "score": return .number(one([0, 0.1, -2.5, 1e300]))
            default: return jsonValue(one(["[]", "[1]", "[1,1.0,\"a\"]", "{\"b\":1,\"a\":[]}"]))
            }
        }

        private mutating func change(_ name: String) -> FieldOperator {
            switch few(0...5) {
            case 0: return .unset
            case 1: return .setOnInsert(value(name))
            default: break
            }
            switch name {
            case "title": return one([.min(.string("b")), .max(.string("b"))])
            case "stars": return one([.increment(by: 3), .multiply(by: 2), .min(5), .max(5)])
            case "score": return one([.increment(by: .number(0.5)), .multiply(by: .number(1e10))])
            default:
                return one([
                    FieldOperator(.push(jsonValue("[2]"), at: .last)), FieldOperator(.addToSet(jsonValue("[1]"))),
                    FieldOperator(.pull(jsonValue("[1]"))), .popLast,
                ])
            }
        }
    }

    private static func recordType(_ name: String) -> RecordType {
        let own = try! RecordTypeName(name)
        return RecordType(
            name: own,
            fields: [
                field("key"): .string, field("title"): .string, field("stars"): .integer, field("score"): .number,
                field("tags"): .json, field("next"): .reference(own),
            ]
        )
    }

    /// The rows of a type, without what differs by chance: the ids of new records, revisions and times.
    private func rows(of type: String, _ hooked: HookedService) async throws -> String {
        try await hooked.psql(
            """
            SELECT t.key, t.title, t.stars, t.score, t.tags, t._access, t._owner, t._created_by, t._updated_by, n.key
            FROM \(type) t LEFT JOIN \(type) n ON n._id = t.next ORDER BY t.key COLLATE "C"
            """
        )
    }

    private static func outcomes(
        of request: SaveRequest,
        by caller: Caller,
        _ hooked: HookedService
    ) async -> [String] {
        do throws(SkyrowError) {
            return try await hooked.service.save(request, by: caller).summaries
        } catch {
            return ["!\(error.code.name)"]
        }
    }

    @Test func anIdentityHookChangesNothing() async throws {
        let identity = TestHook.records("identity", .beforeSave, on: "hooked", batch: 3) { record in
            .accepted(set: record.record.fields.mapValues { $0 }, access: record.record.access)
        }
        try await withHooks([identity]) { hooked in
            _ = try await hooked.plain.service.store.createTypes([
                Self.recordType("hooked"), Self.recordType("unhooked"),
            ])
            for name in ["hooked", "unhooked"] {
                let stable = draft("\(name)/stable", ["key": .string("stable")])
                _ = try await hooked.plain.service.save(SaveRequest(stable), by: hooked.ann)
            }
            var generator = Generator(random: .forTest())
            var outcomesSeen: Set<String> = []
            for round in 0..<seededCases(200) {
                let count = generator.few(1...5)
                let sketches = (0..<count).map { generator.sketch($0) }
                let isAtomic = generator.few(0...3) == 0
                let caller = generator.few(0...2) == 0 ? hooked.bob : hooked.ann
                let key = generator.few(0...3) == 0 ? "k\(round)" : nil
                func request(_ type: String) -> SaveRequest {
                    SaveRequest(
                        database: .everyone,
                        items: sketches.map { .draft($0.draft(of: type)) },
                        isAtomic: isAtomic,
                        idempotencyKey: key.map { "\(type)\($0)" },
                        fingerprintSource: Array("\(type)\(round)".utf8)
                    )
                }
                let expected = await Self.outcomes(of: request("unhooked"), by: caller, hooked)
                let found = await Self.outcomes(of: request("hooked"), by: caller, hooked)
                #expect(found == expected, "\(round): \(sketches)")
                outcomesSeen.formUnion(expected)
                let (plain, same) = (try await rows(of: "unhooked", hooked), try await rows(of: "hooked", hooked))
                try #require(same == plain, "\(round): \(sketches)")
            }
            #expect(outcomesSeen.isSuperset(of: ["saved", "PermissionDenied", "Conflict", "!AtomicOperationFailure"]))
            #expect(!hooked.runner.calls.isEmpty)
        }
    }
}
