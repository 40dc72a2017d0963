import SkyrowModel
import SkyrowPostgres
import SkyrowTestSupport
import Testing

@testable import SkyrowStore

/// Many callers change one record at once, over all connections of the pool, and no change is lost.
@Suite(.timeLimit(.minutes(60))) struct OperatorContentionTests {
    private func all(_ count: Int, _ body: @escaping @Sendable (Int) async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<count {
                if number >= 50 { try await group.next() }
                group.addTask { try await body(number) }
            }
            try await group.waitForAll()
        }
    }

    private func elements(_ record: Record?) throws -> [String] {
        guard case .json(let text) = try #require(record?.fields[field("tags")]) else { throw UnexpectedOutcome() }
        let list = String(decoding: text.utf8, as: UTF8.self).dropFirst().dropLast()
        return list.isEmpty ? [] : list.split(separator: ",").map { $0.trimmingPrefix(" ") }.map(String.init)
    }

    @Test func aThousandIncrementsAndElementsAreAllThere() async throws {
        try await withRecords { f in
            try await f.save("note/1", ["title": "x"], access: AccessList([AccessEntry(.everyone, .write)]))
            try await all(1000) { number in
                let change = draft("note/1", applying: ["stars": .increment(by: 1), "tags": .push("[\(number)]")])
                _ = try await f.outcomes([change], number.isMultiple(of: 2) ? .ann : .bob)[0].record
            }
            let record = try await f.fetch("note/1")
            #expect(record?.fields[field("stars")] == 1000)
            #expect(try Set(elements(record)) == Set((0..<1000).map(String.init)))
            #expect(try elements(record).count == 1000)

            // Each end loses one element a call.
            try await all(400) { number in
                try await f.apply(number.isMultiple(of: 2) ? .popFirst : .popLast, to: "tags", of: "note/1")
            }
            #expect(try await elements(f.fetch("note/1")).count == 600)
        }
    }

    @Test func aSetHasEachElementOnceAndAPullTakesAllOfThem() async throws {
        try await withRecords { f in
            // The record is new to the first of them.
            try await all(500) { number in
                try await f.apply(.addToSet("[\(number % 25), \(number % 7)]"), to: "tags", of: "note/1")
            }
            let record = try await f.fetch("note/1")
            #expect(try elements(record).sorted() == (0..<25).map(String.init).sorted())
            try await all(25) { number in
                try await f.apply(.all(.pull("[\(number)]"), .push("[\"x\"]")), to: "tags", of: "note/1")
            }
            #expect(try await elements(f.fetch("note/1")) == Array(repeating: "\"x\"", count: 25))
        }
    }

    @Test func arraysOfOneTypeLoseNothingEither() async throws {
        try await withRecords { f in
            let fields: [FieldName: FieldType] = [
                field("integers"): .array(.integer), field("texts"): .array(.string),
            ]
            _ = try await f.store.createTypes([RecordType(name: type("note"), fields: fields)])
            // The record is new to the first of them.
            try await all(500) { number in
                let changes: [String: FieldOperator] = [
                    "integers": .push("[\(number)]"), "texts": .addToSet("[\"\(number % 25)\", \"\(number % 7)\"]"),
                ]
                _ = try await f.outcomes([draft("note/1", applying: changes)])[0].record
            }
            func elements(_ name: String) async throws -> [RecordValue] {
                guard case .array(let elements)? = try await f.fetch("note/1")?.fields[field(name)] else {
                    throw UnexpectedOutcome()
                }
                return elements
            }
            let pushed = try await elements("integers")
            #expect(pushed.count == 500 && Set(pushed) == Set((0..<500).map { .integer($0) }))
            let set = try await elements("texts")
            #expect(set.count == 25 && Set(set) == Set((0..<25).map { .string("\($0)") }))
            try await all(200) { number in
                switch number % 4 {
                case 0: _ = try await f.apply(.popFirst, to: "integers", of: "note/1")
                case 1: _ = try await f.apply(.popLast, to: "integers", of: "note/1")
                case 2: _ = try await f.apply(.pull("[\"\(number % 25)\"]"), to: "texts", of: "note/1")
                default: _ = try await f.apply(.all(.popLast, .push("[-1]")), to: "integers", of: "note/1")
                }
            }
            #expect(try await elements("integers").count == 400)
            // 4n + 2 takes all remainders of 25.
            #expect(try await elements("texts").isEmpty)
        }
    }

    @Test func batchesThatNameTheSameRecordsInAnyOrderAddUp() async throws {
        try await withRecords { f in
            try await all(40) { number in
                let ids = (0..<10).map { "note/\((number * 7 + $0 * (number.isMultiple(of: 2) ? 1 : 9)) % 10)" }
                let outcomes = try await f.outcomes(ids.map { draft($0, applying: ["stars": .increment(by: 1)]) })
                for outcome in outcomes { _ = try outcome.record }
            }
            for number in 0..<10 {
                #expect(try await f.fetch("note/\(number)")?.fields[field("stars")] == 40)
            }
        }
    }
}
