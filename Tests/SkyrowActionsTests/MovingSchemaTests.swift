import SkyrowModel
import SkyrowProtocol
import SkyrowStore
import SkyrowTestSupport
import Synchronization
import Testing

@testable import SkyrowActions

@Suite(.timeLimit(.minutes(60))) struct MovingSchemaTests {
    /// The issue's eight clients, and the ninth with psql.
    @Test func aChangeOfTheSchemaNeverShowsInReadsAndSavesOfOthers() async throws {
        try await withService { fixture in
            let ann = try await fixture.service.signUp("ann").1
            @Sendable func save(_ name: String, _ fields: [String: RecordValue]) async throws -> RecordOutcome {
                let draft = RecordDraft(id: id(name), fields: fields.map { (field($0.key), $0.value) })
                let request = SaveRequest(database: .everyone, items: [.draft(draft)])
                guard
                    case .fresh(let outcomes) = try await fixture.service.save(request, by: ann)
                else { throw SkyrowError(.unexpectedError, "Not the expected result.") }
                return outcomes[0]
            }
            _ = try await save("note/0", ["title": .string("x"), "extra": .integer(1)])
            let run = Run()
            @Sendable func note(_ error: SkyrowError?, _ what: String) {
                // A field that is gone just then cannot be asked for.
                guard let error, !(what == "query" && error.code == .recordQueryInvalid) else { return }
                run.failures.withLock { $0["\(what): \(error)", default: 0] += 1 }
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for client in 0..<8 {
                    group.addTask {
                        var round = 0
                        while !run.isOver.withLock({ $0 }) {
                            round += 1
                            do {
                                let saved = try await save(
                                    "note/\(client)-\(round % 50)",
                                    ["title": .string("y"), "extra": .integer(Int64(round))]
                                )
                                if case .failure(let error, _) = saved { note(error, "save") }
                                var query = RecordQuery(type: type("note"), limit: 5)
                                if round.isMultiple(of: 2) {
                                    query.predicate = .comparison(
                                        .gt,
                                        .keyPath(try FieldPath("extra")),
                                        .value(.integer(0))
                                    )
                                }
                                let what = query.predicate == nil ? "all" : "query"
                                do throws(SkyrowError) {
                                    _ = try await fixture.service.query(
                                        QueryRequest(database: .everyone, query: query),
                                        by: ann
                                    )
                                } catch {
                                    note(error, what)
                                }
                                let ids = RecordIDsRequest(database: .everyone, ids: [id("note/0")])
                                let fetched = try await fixture.service.fetch(ids, by: ann)
                                if case .failure(let error, _) = fetched[0] { note(error, "fetch") }
                            } catch let error as SkyrowError {
                                note(error, "whole")
                            }
                        }
                    }
                }
                for _ in 0..<25 {
                    try await fixture.psql(
                        """
                        ALTER TABLE note ADD IF NOT EXISTS other text;
                        ALTER TABLE note ADD IF NOT EXISTS extra bigint;
                        ALTER TABLE note RENAME extra TO spare;
                        ALTER TABLE note DROP spare;
                        ALTER TABLE note DROP other;
                        """
                    )
                }
                run.isOver.withLock { $0 = true }
                try await group.waitForAll()
            }
            #expect(run.failures.withLock { $0 } == [:])
        }
    }

    /// Hidden and missing records in both columns: the same error, and no field is made for either.
    @Test func aNewFieldIsRefusedAlikeForHiddenAndMissingRecords() async throws {
        try await withService { fixture in
            let ann = try await fixture.service.signUp("ann").1
            let bob = try await fixture.service.signUp("bob").1
            func save(_ recordName: String, _ fieldName: String?, _ precondition: SavePrecondition?, _ caller: Caller)
                async throws
                -> SkyrowError?
            {
                let draft = RecordDraft(
                    id: id(recordName),
                    access: AccessList([]),
                    fields: fieldName.map { [(field($0), .integer(1))] } ?? [],
                    precondition: precondition
                )
                let request = SaveRequest(database: .everyone, items: [.draft(draft)])
                let result = try await fixture.service.save(request, by: caller)
                guard case .fresh(let outcomes) = result, case .failure(let error, _) = outcomes[0] else {
                    return nil
                }
                return error
            }
            #expect(try await save("note/hidden", nil, nil, ann) == nil)
            for (name, precondition) in [("new1", .revision(5)), (nil, .revision(5))] as [(String?, SavePrecondition)] {
                let hidden = try await save("note/hidden", name, precondition, bob)
                let missing = try await save("note/missing", name, precondition, bob)
                #expect(hidden?.code == .conflict && hidden == missing)
            }
            #expect(try await save("note/hidden", "new2", nil, bob)?.code == .permissionDenied)
            #expect(try await save("user/\(ann.userID ?? "")x", "new3", nil, bob)?.code == .permissionDenied)
            let columns = """
                SELECT count(*) FROM pg_attribute
                WHERE attrelid IN ('app.note'::regclass, 'app.user'::regclass) AND attname ~ '^new'
                """
            #expect(try await fixture.psql(columns) == "0")
            #expect(try await save("note/hidden", "new4", nil, ann) == nil)
            #expect(try await save("note/other", "new5", nil, bob) == nil)
            #expect(try await fixture.psql(columns) == "2")
        }
    }
}

/// What the clients have met, and whether they are to stop.
private final class Run: Sendable {
    let failures = Mutex<[String: Int]>([:])
    let isOver = Mutex(false)
}
