import Foundation
import SkyrowTestSupport
import Testing

@testable import SkyrowPostgres

/// A server, or a network, that takes everything and answers nothing.
@Suite struct SilentServerTests {
    private func sleepers(_ count: Int, in database: TemporaryDatabase) async throws {
        let query = """
            SELECT count(*) FROM pg_stat_activity
            WHERE datname = current_database() AND state = 'active' AND wait_event = 'PgSleep'
            """
        try await waiting(until: "\(count) statements sleep") { try await database.psql(query) == "\(count)" }
    }

    /// A client whose reads, writes and transactions all sleep, behind a proxy that falls silent.
    private func withSilence(
        _ body: (PostgresClient, [Task<Void, any Error>], Task<Void, any Error>) async throws
            -> Void
    ) async throws {
        try await withTemporaryDatabaseAndPsql { database in
            let proxy = try FaultyProxy(server: database.cluster.directory)
            defer { proxy.close() }
            var configuration = PostgresConfiguration(
                connection: "postgresql:///\(database.name)?host=\(proxy.directory)&user=postgres"
            )
            // What runs ends only where a test ends it.
            configuration.acquireTimeout = patience
            configuration.statementTimeout = patience
            configuration.readTimeout = patience
            configuration.drainTimeout = .milliseconds(200)
            let client = PostgresClient(configuration: configuration, logger: .silent)
            let service = Task { try await client.run() }
            var tasks = (0..<6).map { _ in Task { _ = try await client.write("SELECT pg_sleep(600)") } }
            tasks.append(Task { _ = try await client.read("SELECT pg_sleep(600)") })
            tasks.append(Task { try await client.withTransaction { _ = try await $0.execute("SELECT pg_sleep(600)") } })
            var events = client.listen("changed").makeAsyncIterator()
            #expect(await events.next() == .connected)
            try await sleepers(tasks.count, in: database)
            proxy.fallSilent()
            try await body(client, tasks, service)
        }
    }

    @Test(arguments: [true, false])
    func aClientEndsThoughItsServerIsSilent(isGraceful: Bool) async throws {
        try await withSilence { client, tasks, service in
            // Their cancels will not be answered either.
            for task in tasks { task.cancel() }
            if isGraceful { client.shutDown() } else { service.cancel() }
            try await waiting(for: "the end of the client") { _ = await service.result }
            let outcomes = try await waiting(for: "the end of its statements") {
                var outcomes: [Result<Void, any Error>] = []
                for task in tasks { outcomes.append(await task.result) }
                return outcomes
            }
            #expect(!outcomes.contains { $0.succeeded })
        }
    }

    @Test func cancelsThatAreNotAnsweredHoldAFewThreads() async throws {
        try await withSilence { client, tasks, service in
            for task in tasks { task.cancel() }
            try await waiting(until: "cancels are being sent") {
                client.control.cancelThreadCount == BackendControl.maximumCancelThreads
            }
            // The read's task does not wait for its statement.
            await #expect(throws: CancellationError.self) { try await tasks[6].value }
            #expect(client.control.cancelThreadCount == BackendControl.maximumCancelThreads)
            service.cancel()
            try await waiting(for: "the end of the client") { _ = await service.result }
        }
    }

    @Test func whatAClientDoesAtItsEnd() {
        let second: Int64 = 1_000_000_000
        func steps(_ levels: [(Int64, ShutdownSignal.Level)]) -> [ShutdownDeadlines.Step] {
            var deadlines = ShutdownDeadlines(drain: .seconds(10))
            return levels.map { deadlines.step(at: MonotonicTime(nanoseconds: $0.0 * second), $0.1) }
        }
        #expect(steps([(0, .none), (100, .none)]) == [.none, .none])
        #expect(
            steps([(1, .graceful), (10, .graceful), (11, .graceful), (12, .graceful), (13, .graceful), (99, .graceful)])
                == [.none, .none, .close, .none, .leave, .none]
        )
        #expect(steps([(1, .atOnce), (2, .atOnce), (3, .atOnce)]) == [.close, .none, .leave])
        #expect(steps([(1, .graceful), (2, .atOnce), (4, .atOnce)]) == [.none, .close, .leave])
    }
}

/// Statements that do not end when they are cancelled.
@Suite struct AbandonedBackendTests {
    /// Ends when its session does, but not when it is cancelled; `attempts` counts how often it was begun.
    private static let stubborn = """
        CREATE SEQUENCE attempts;
        CREATE FUNCTION stubborn() RETURNS int LANGUAGE plpgsql AS $$
        BEGIN
            PERFORM nextval('attempts');
            LOOP
                BEGIN
                    PERFORM pg_sleep(600);
                EXCEPTION WHEN query_canceled THEN NULL;
                END;
            END LOOP;
        END $$
        """

    private static func limit(_ configuration: inout PostgresConfiguration) {
        // Long enough for a statement that does end, on a busy machine.
        configuration.statementTimeout = .seconds(5)
        configuration.cancellationTimeout = .milliseconds(100)
        // The server is not to find out by itself.
        configuration.sessionSettings["client_connection_check_interval"] = "0"
    }

    private func stubbornSessions(in database: TemporaryDatabase) async throws -> String {
        try await database.psql(
            """
            SELECT count(*) FROM pg_stat_activity
            WHERE datname = current_database() AND query LIKE '%stubborn%' AND pid <> pg_backend_pid()
            """
        )
    }

    @Test(arguments: [ConnectionRole.read, .write, .transaction])
    func aStatementThatIgnoresItsTimeLimitIsEndedAndNotDoneAgain(role: ConnectionRole) async throws {
        try await withTemporaryDatabaseAndPsql { database in
            try await database.psql(Self.stubborn)
            try await withPostgresClient(database.url, configure: Self.limit) { client in
                let statement: SQL = "SELECT stubborn()"
                let error = try await #require(throws: PostgresError.self) {
                    switch role {
                    case .read: _ = try await client.read(statement)
                    case .transaction: try await client.withTransaction { _ = try await $0.execute(statement) }
                    default: _ = try await client.write(statement)
                    }
                }
                #expect(error.code == (role == .write ? .indeterminateCommit : .statementTimeout))
                try await waiting(until: "its server process has ended") {
                    try await stubbornSessions(in: database) == "0"
                }
                try await waiting(until: "its end is noticed") { client.control.abandonedCount == 0 }
                let attempts = try await database.psql("SELECT last_value FROM attempts")
                #expect(attempts == "1")
                let result = try await client.read("SELECT 1")
                #expect(result.rowCount == 1)
            }
        }
    }

    @Test func aCancelledReadThatGoesOnIsEnded() async throws {
        try await withTemporaryDatabaseAndPsql { database in
            try await database.psql(Self.stubborn)
            func limit(_ configuration: inout PostgresConfiguration) {
                Self.limit(&configuration)
                configuration.statementTimeout = nil
                configuration.readTimeout = nil
            }
            try await withPostgresClient(database.url, configure: limit) { client in
                let read = Task { try await client.read("SELECT stubborn()") }
                try await waiting(until: "it runs") { try await stubbornSessions(in: database) == "1" }
                read.cancel()
                await #expect(throws: CancellationError.self) { try await read.value }
                try await waiting(until: "its server process has ended") {
                    try await stubbornSessions(in: database) == "0"
                }
            }
        }
    }

    /// A process that was stopped stands for one inside of a long call: neither a cancel nor a termination ends it.
    @Test func whileTooManyStatementsCannotBeEndedNoConnectionIsOpenedInTheirPlace() async throws {
        try await withTemporaryDatabaseAndPsql { database in
            func limit(_ configuration: inout PostgresConfiguration) {
                Self.limit(&configuration)
                configuration.readTimeout = .seconds(2)
                configuration.statementTimeout = .seconds(60)
                configuration.readConnections = 1
                configuration.maximumReadConnections = 1
                configuration.maximumAbandonedBackends = 2
                // Longer than a busy machine takes to send a read on an idle connection.
                configuration.acquireTimeout = .seconds(5)
            }
            try await withPostgresClient(database.url, configure: limit) { client in
                var stopped: [pid_t] = []
                defer { for process in stopped { kill(process, SIGCONT) } }
                for number in 1...2 {
                    // Stopped while it is idle: no statement has to be met while it runs.
                    var process: pid_t?
                    try await waiting(until: "connection \(number) is open") {
                        let result = try? await client.read("SELECT pg_backend_pid()")
                        process = try result?.decode(row: 0, column: 0, as: Int32.self)
                        return process != nil
                    }
                    let found = try #require(process)
                    kill(found, SIGSTOP)
                    stopped.append(found)
                    let error = try await #require(throws: PostgresError.self) { try await client.read("SELECT 1") }
                    #expect(error.code == .statementTimeout)
                }
                let refused = try await #require(throws: PostgresError.self) { try await client.read("SELECT 1") }
                #expect(refused.code == .cannotConnect)
                for process in stopped { kill(process, SIGCONT) }
                try await waiting(until: "they have ended") { client.control.abandonedCount == 0 }
                try await waiting(until: "reads are answered again") { (try? await client.read("SELECT 1")) != nil }
            }
        }
    }
}
