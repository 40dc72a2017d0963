import SkyrowModel
import SkyrowProtocol
import SkyrowTestSupport
import Testing

@testable import SkyrowPostgres
@testable import SkyrowStore

/// Reads PostgreSQL's own log for the statements it was sent.
@Suite(.timeLimit(.minutes(60))) struct SaveStatementCountTests {
    @Test func aRequestIsAsManyStatementsAsItsShapesNeed() async throws {
        let once: (inout PostgresConfiguration) -> Void = { $0.sendsSlowStatementsOnce() }
        try await withRecords(on: .logging(), configure: once) { f in
            try await f.save([draft("category/1"), draft("note/own"), draft("category/2")])
            try await f.save("note/theirs", [:], .bob)

            func count(_ expected: Int, _ what: String, _ body: () async throws -> Void) async throws {
                // Those on tables: what sets up a session or bounds a transaction is no statement of the request.
                let statements = try await f.database.statements(during: body).filter { $0.contains("\"app\".") }
                #expect(statements.count == expected, "\(what): \(statements.joined(separator: "\n"))")
            }

            func save(_ drafts: [RecordDraft], atomic: Bool = false) async throws {
                let outcomes = try await f.store.save(
                    drafts.map { .draft($0) },
                    in: .everyone,
                    caller: .ann,
                    atomic: atomic
                )
                #expect(outcomes.count == drafts.count)
            }

            let shapes: [[String: RecordValue]] = [
                ["title": .string("x"), "category": .reference(id("category/1"))], ["stars": .integer(1)],
                ["title": .string("x"), "done": .boolean(true)],
            ]
            try await count(1, "fetch of one") { _ = try await f.fetch("note/own") }
            try await count(1, "fetch of a hundred") {
                _ = try await f.store.fetch((0..<100).map { id("note/\($0)") }, in: .everyone, caller: .ann)
            }
            try await count(2, "fetch of two types") {
                _ = try await f.store.fetch(["note/own", "category/1", "note/x"].map(id), in: .everyone, caller: .ann)
            }
            try await count(1, "query with everything") {
                _ = try await f.query(.compare(.eq, "category.name", .string("x"))) {
                    $0.include = [
                        Inclusion(name: "c", keyPath: path("category")), Inclusion(name: "o", keyPath: path("_owner")),
                    ]
                    $0.sort = [SortKey(path("title"))]
                    $0.countsMatches = true
                }
            }
            try await count(1, "save of one") { try await save([draft("note/one", shapes[0])]) }
            try await count(1, "save of one again") { try await save([draft("note/one", shapes[0])]) }
            try await count(1, "save of a thousand") {
                try await save((0..<1000).map { draft("note/\($0)", shapes[0]) })
            }
            try await count(3, "save of a thousand in three shapes") {
                try await save((0..<1000).map { draft("note/\($0)", shapes[$0 % 3]) })
            }
            try await count(2, "save that is refused") { try await save([draft("note/theirs", shapes[1])]) }
            try await count(1, "atomic save of a thousand") {
                try await save((0..<1000).map { draft("note/\($0)", shapes[0]) }, atomic: true)
            }
            try await count(1, "delete of a thousand") {
                _ = try await f.store.delete(
                    (0..<1000).map { id("note/\($0)") },
                    in: .everyone,
                    caller: .ann,
                    atomic: false
                )
            }
            // One bad reference among a thousand is looked up, not found by a thousand statements.
            var drafts = (0..<1000).map { draft("note/b\($0)", shapes[0]) }
            drafts[613] = draft("note/b613", ["title": .string("x"), "category": .reference(id("category/404"))])
            let sent = try await f.database.statements { try await save(drafts) }
            #expect((2...6).contains(sent.count { $0.contains("LOG:  execute ") }))
        }
    }
}
