import SkyrowModel
import SkyrowPostgres
import SkyrowProtocol
import SkyrowStore
import SkyrowTestSupport
import Synchronization
import Testing

@testable import SkyrowActions

/// F-14: how many statements requests send, with and without hooks.
@Suite(.timeLimit(.minutes(60))) struct HookCostTests {
    private final class Sent: Sendable {
        private let texts = Mutex<[String]>([])

        func append(_ text: String) { texts.withLock { $0.append(text) } }

        /// Those since the last time that are about records, functions or function servers.
        func take() -> [String] {
            texts.withLock { texts in
                defer { texts = [] }
                return texts.filter { $0.contains("\"app\".\"note\"") || $0.contains("_function") }
            }
        }
    }

    /// A store that reports its statements, and what makes services on it.
    private func withStatements(
        test: String = #function,
        _ body: (_ service: ([TestHook], [FunctionDescription]) -> (ActionService, TestRunner), Sent) async throws ->
            Void
    ) async throws {
        let sent = Sent()
        try await withTemporaryDatabaseAndPsql(template: .prepared, test: test) { database in
            try await withPostgresClient(
                database.url,
                configure: {
                    $0.sendsSlowStatementsOnce()
                    $0.reporting = StatementReporting { sent.append($0.text) }
                },
                logger: .quiet
            ) { client in
                let store = RecordStore(
                    client: client,
                    schema: "app",
                    mode: .development,
                    rulesPatience: testPatience,
                    logger: .quiet
                )
                try await store.prepare()
                func service(_ hooks: [TestHook], _ functions: [FunctionDescription]) -> (ActionService, TestRunner) {
                    let runner = TestRunner(hooks)
                    var configuration = ServiceConfiguration(
                        keys: GivenKeys(api: Secret("api"), master: Secret("master")),
                        passwords: ServiceFixture.cheapHashing
                    )
                    configuration.functions = FunctionConfiguration(runner: runner, servers: ["main"])
                    let service = ActionService(
                        store: store,
                        configuration: configuration,
                        clock: TestClock().clock,
                        logger: .quiet
                    )
                    var registration = FunctionRegistration(dialect: .skyrow)
                    registration.hooks = hooks.map(\.description)
                    registration.functions = functions
                    service.functions.replace(
                        FunctionRegistry(servers: [(name: "main", registration: registration)], database: [])
                    )
                    return (service, runner)
                }
                try await body(service, sent)
            }
        }
    }

    private static let request = SaveRequest(
        database: .everyone,
        items: (0..<10).map { .draft(draft("note/\($0)", ["title": "x"])) }
    )

    /// The statements of a save, a fetch, a query and a delete, after the first save has made the type.
    private func statements(_ service: ActionService, _ sent: Sent) async throws -> [[String]] {
        let master = ServiceFixture.masterCaller
        _ = try await service.save(Self.request, by: master)
        _ = sent.take()
        var statements: [[String]] = []
        _ = try await service.save(Self.request, by: master)
        statements.append(sent.take())
        _ = try await service.fetch("note/1", by: master)
        statements.append(sent.take())
        let query = QueryRequest(database: .everyone, query: RecordQuery(type: type("note")))
        _ = try await service.query(query, by: master)
        statements.append(sent.take())
        _ = try await service.delete(["note/1"], by: master)
        statements.append(sent.take())
        return statements
    }

    @Test func functionsAndHooksOfOtherTypesCostNoStatement() async throws {
        let triggers = [HookTrigger.beforeSave, .afterSave, .beforeDelete, .afterDelete, .beforeQuery, .afterFetch]
        let hooks = (0..<50).flatMap { number in
            triggers.map { trigger in
                TestHook.records("\(trigger.rawValue)\(number)", trigger, on: "hooked\(number)") { _ in .unchanged }
            }
        }
        try await withStatements { service, sent in
            let plain = try await statements(service([], []).0, sent)
            #expect(plain.map(\.count) == [1, 1, 1, 1])
            let functions = (0..<100).map { function("function\($0)") }
            let (hooked, runner) = service(hooks, functions)
            let same = try await statements(hooked, sent)
            #expect(same == plain)
            #expect(runner.calls.isEmpty)
        }
    }

    @Test func aHookedSaveIsTwoStatementsAGroupAndOneCall() async throws {
        let hooks = [
            TestHook.records("before", .beforeSave) { _ in sets(["stars": .integer(2)]) },
            .records("after", .afterSave) { _ in .unchanged },
        ]
        try await withStatements { service, sent in
            let (hooked, runner) = service(hooks, [])
            _ = try await hooked.save(Self.request, by: ServiceFixture.masterCaller)
            _ = sent.take()
            _ = try await hooked.save(Self.request, by: ServiceFixture.masterCaller)
            #expect(sent.take().count == 2)
            #expect(runner.calls.count == 4)
        }
    }
}
