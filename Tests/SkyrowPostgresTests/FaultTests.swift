import SkyrowPostgres
import SkyrowTestSupport
import Testing

@Suite struct FaultTests {
    private static let terminateAll = """
        SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = 'skyrow'
        """

    @Test func readsSurviveTheLossOfTheirConnections() async throws {
        try await withTemporaryDatabaseAndPsql { database in
            try await withPostgresClient(database.url) { client in
                try await withThrowingTaskGroup { group in
                    for task in 0..<8 {
                        group.addTask {
                            for number in 0..<300 {
                                let value = task * 1000 + number
                                let result = try await client.read("SELECT \(value)")
                                #expect(try result.decode(row: 0, column: 0, as: Int.self) == value)
                            }
                        }
                    }
                    for _ in 0..<2 { try await database.psql(Self.terminateAll) }
                    try await group.waitForAll()
                }
            }
        }
    }

    /// Every write was either acknowledged and is there, or refused and is not, or its outcome was called unknown.
    private func checkWrites(
        groupCommit: PostgresGroupCommit,
        database: TemporaryDatabase,
        client: PostgresClient,
        fault: () async throws -> Void
    ) async throws {
        try await database.psql("CREATE TABLE note (id int PRIMARY KEY)")
        let written = Counter()
        let outcomes = try await withThrowingTaskGroup(of: [(Int, PostgresError.Code?)].self) { group in
            for task in 0..<8 {
                group.addTask {
                    var outcomes: [(Int, PostgresError.Code?)] = []
                    for number in 0..<200 {
                        let id = task * 1000 + number
                        do {
                            _ = try await client.write(
                                "INSERT INTO note VALUES (\(Int32(id)))",
                                groupCommit: groupCommit
                            )
                            written.increment()
                            outcomes.append((id, nil))
                        } catch let error as PostgresError {
                            outcomes.append((id, error.code))
                        }
                    }
                    return outcomes
                }
            }
            try await waiting(until: "a hundred writes are done", hearing: [written]) { written.value >= 100 }
            try await fault()
            return try await group.reduce(into: []) { $0 += $1 }
        }
        let rows = try await database.psql("SELECT id FROM note")
        let present = Set(rows.split(separator: "\n").compactMap { Int($0) })
        #expect(outcomes.count == 1600)
        for (id, code) in outcomes {
            switch code {
            case nil: #expect(present.contains(id), "\(id) was acknowledged and is not there")
            case .indeterminateCommit: break
            case .some(let code): #expect(!present.contains(id), "\(id) failed with \(code) and is there")
            }
        }
    }

    @Test(arguments: [PostgresGroupCommit.never, .allowed])
    func noWriteIsLostOrDoneTwiceWhenConnectionsAreLost(groupCommit: PostgresGroupCommit) async throws {
        try await withTemporaryDatabaseAndPsql { database in
            try await withPostgresClient(database.url) { client in
                try await checkWrites(groupCommit: groupCommit, database: database, client: client) {
                    for _ in 0..<3 { try await database.psql(Self.terminateAll) }
                }
            }
        }
    }

    @Test(arguments: [PostgresGroupCommit.never, .allowed])
    func aKilledServerIsComeBackToByItself(groupCommit: PostgresGroupCommit) async throws {
        let cluster = try await TemporaryCluster.start()
        let database = TemporaryDatabase(cluster: cluster, name: "postgres")
        try await withPostgresClient(database.url) { client in
            let reader = Task {
                var answered = 0
                while !Task.isCancelled {
                    if (try? await client.read("SELECT \(answered)")) != nil { answered += 1 }
                }
                return answered
            }
            try await checkWrites(groupCommit: groupCommit, database: database, client: client) {
                try await cluster.kill()
                try await waiting(until: "the client has no connection") { !client.isReady }
                try await cluster.launch()
            }
            try await waiting(until: "the client has a connection") { client.isReady }
            let result = try await client.read("SELECT 1")
            #expect(result.rowCount == 1)
            reader.cancel()
            let answered = await reader.value
            #expect(answered > 0)
        }
    }

    @Test func aWriteWhoseConnectionIsLostHasAnUnknownFateAndIsNotRepeated() async throws {
        try await withTemporaryDatabaseAndPsql { database in
            try await database.psql("CREATE TABLE note (id int); CREATE SEQUENCE attempts")
            func limit(_ configuration: inout PostgresConfiguration) {
                configuration.groupCommitTimeout = .seconds(60)
            }
            try await withPostgresClient(database.url, configure: limit) {
                client in
                for (number, groupCommit) in [(1, PostgresGroupCommit.never), (2, .allowed)] {
                    let write = Task {
                        try await client.write(
                            "INSERT INTO note SELECT nextval('attempts') FROM (SELECT pg_sleep(600)) nap",
                            groupCommit: groupCommit
                        )
                    }
                    let terminate = """
                        SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
                        WHERE datname = current_database() AND wait_event = 'PgSleep'
                        """
                    try await waiting(until: "the write sleeps and is terminated") {
                        try await database.psql(terminate) != "0"
                    }
                    let error = try await #require(throws: PostgresError.self) { try await write.value }
                    #expect(error.code == .indeterminateCommit, "\(number)")
                }
                let sleeping = try await database.psql(
                    "SELECT count(*) FROM pg_stat_activity "
                        + "WHERE datname = current_database() AND wait_event = 'PgSleep'"
                )
                #expect(sleeping == "0")
            }
        }
    }

    @Test func aTransactionThatLosesItsConnectionIsRunAgainFromTheStart() async throws {
        try await withTemporaryDatabaseAndPsql { database in
            try await database.psql("CREATE TABLE note (id int)")
            try await withPostgresClient(database.url) { client in
                let attempts = Counter()
                try await client.withTransaction { transaction in
                    attempts.increment()
                    try await transaction.execute("INSERT INTO note VALUES (1)")
                    if attempts.value == 1 { try await database.psql(Self.terminateAll) }
                    try await transaction.execute("INSERT INTO note VALUES (2)")
                }
                #expect(attempts.value == 2)
                let count = try await database.psql("SELECT count(*) FROM note")
                #expect(count == "2")
            }
        }
    }

    @Test func aTransactionThatLosesItsConnectionAtTheCommitHasAnUnknownFate() async throws {
        try await withTemporaryDatabaseAndPsql { database in
            try await database.psql("CREATE TABLE note (id int)")
            try await withPostgresClient(database.url) { client in
                let attempts = Counter()
                let error = try await #require(throws: PostgresError.self) {
                    try await client.withTransaction { transaction in
                        attempts.increment()
                        try await transaction.execute("INSERT INTO note VALUES (1)")
                        // Ends this very session while the COMMIT is processed.
                        try await transaction.executeScript(
                            """
                            CREATE FUNCTION pg_temp.die() RETURNS trigger LANGUAGE plpgsql AS
                                $$ BEGIN
                                    PERFORM pg_terminate_backend(pg_backend_pid()), pg_sleep(60);
                                    RETURN NULL;
                                END $$;
                            CREATE CONSTRAINT TRIGGER die AFTER INSERT ON note DEFERRABLE INITIALLY DEFERRED
                                FOR EACH ROW EXECUTE FUNCTION pg_temp.die();
                            """
                        )
                        try await transaction.execute("INSERT INTO note VALUES (2)")
                    }
                }
                #expect(error.code == .indeterminateCommit)
                #expect(attempts.value == 1)
            }
        }
    }

    @Test func aReadThatBringsItsServerDownIsNotRepeatedForEver() async throws {
        try await withTemporaryDatabase { url in
            try await withPostgresClient(url) { client in
                let error = try await #require(throws: PostgresError.self) {
                    try await client.read("SELECT pg_terminate_backend(pg_backend_pid()), pg_sleep(60)")
                }
                #expect(error.code == .connectionLost)
                let result = try await client.read("SELECT 1")
                #expect(result.rowCount == 1)
            }
        }
    }

    @Test func aConnectionLostWhileIdleCostsNoWrite() async throws {
        try await withTemporaryDatabaseAndPsql { database in
            try await database.psql("CREATE TABLE note (id int)")
            try await withPostgresClient(database.url) { client in
                for number in 0..<5 {
                    for groupCommit in [PostgresGroupCommit.never, .allowed] {
                        _ = try await client.write(
                            "INSERT INTO note VALUES (\(Int32(number)))",
                            groupCommit: groupCommit
                        )
                    }
                    try await client.withTransaction { _ = try await $0.execute("INSERT INTO note VALUES (-1)") }
                    let sessions = try await database.psql(
                        "SELECT string_agg(pid::text, ',') FROM pg_stat_activity "
                            + "WHERE application_name = 'skyrow' AND datname = current_database()"
                    )
                    try await database.psql(Self.terminateAll)
                    let left = "SELECT count(*) FROM pg_stat_activity WHERE pid IN (\(sessions))"
                    try await waiting(until: "the sessions are gone") { try await database.psql(left) == "0" }
                }
                let count = try await database.psql("SELECT count(*) FROM note")
                #expect(count == "15")
            }
        }
    }

    @Test func theHostThatTakesWritesIsFound() async throws {
        let readOnly = try await TemporaryCluster.start(settings: ["default_transaction_read_only": "on"])
        let writable = try await TemporaryCluster.shared()
        let hosts = "\(readOnly.directory),/nowhere,\(writable.directory)"
        let url = "postgresql:///postgres?host=\(hosts)&user=postgres&target_session_attrs=read-write"
        try await withPostgresClient(url) { client in
            let result = try await client.write("SELECT current_setting('unix_socket_directories')")
            #expect(try result.decode(row: 0, column: 0, as: String.self) == writable.directory)
        }
    }

    @Test func aGracefulShutdownFinishesWhatWasAccepted() async throws {
        try await withTemporaryDatabaseAndPsql { database in
            try await database.psql("CREATE TABLE note (id int)")
            let client = PostgresClient(
                configuration: PostgresConfiguration(connection: database.url, waitingUpTo: .seconds(300)),
                logger: .silent
            )
            let accepted = (0..<40).map { number in
                Task {
                    switch number % 4 {
                    case 0: _ = try await client.write("INSERT INTO note VALUES (1)")
                    case 1: _ = try await client.write("INSERT INTO note VALUES (1)", groupCommit: .allowed)
                    case 2: _ = try await client.read("SELECT pg_sleep(0.01)")
                    default:
                        try await client.withTransaction { _ = try await $0.execute("INSERT INTO note VALUES (1)") }
                    }
                }
            }
            try await waiting(until: "forty statements wait") { client.waitingStatements >= 40 }
            let running = Task { try await client.run() }
            try await waiting(until: "the client has a connection") { client.statistics.reads.connections > 0 }
            client.shutDown()
            try await waiting(for: "the client to shut down") {
                running.cancel()
            } _: {
                try await running.value
                for task in accepted { try await task.value }
            }
            let count = try await database.psql("SELECT count(*) FROM note")
            #expect(count == "30")
            let refused = try await #require(throws: PostgresError.self) { try await client.read("SELECT 1") }
            #expect(refused.code == .shutDown)
            let sessions = try await database.psql(
                "SELECT count(*) FROM pg_stat_activity "
                    + "WHERE datname = current_database() AND application_name = 'skyrow'"
            )
            #expect(sessions == "0")
        }
    }
}
