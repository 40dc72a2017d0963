import SkyrowPostgres
import SkyrowTestSupport
import Testing

/// Statements that wait for a lock, or run long, hold up no others; on a real PostgreSQL.
@Suite struct ContentionTests {
    private static let table = "CREATE TABLE note (id int PRIMARY KEY, stars int NOT NULL DEFAULT 0)"

    private static func configure(_ configuration: inout PostgresConfiguration) {
        // What waits must not leave the queue by itself while a test looks at it.
        configuration.acquireTimeout = patience
        // No more does a write leave its group, but the one that is too slow for it.
        configuration.groupCommitTimeout = .seconds(5)
    }

    private func update(_ row: Int, _ client: PostgresClient, groupCommit: PostgresGroupCommit) async throws {
        _ = try await client.write(
            "INSERT INTO note (id) VALUES (\(Int32(row))) ON CONFLICT (id) DO UPDATE SET stars = note.stars + 1",
            groupCommit: groupCommit,
            contention: PostgresContention(table: 1, row: row)
        )
    }

    @Test(arguments: [PostgresGroupCommit.never, .allowed])
    func aLockedRowLeavesConnectionsToOtherWrites(groupCommit: PostgresGroupCommit) async throws {
        try await withTemporaryDatabaseAndPsql { database in
            try await database.psql(Self.table + "; INSERT INTO note VALUES (-1)")
            try await withPostgresClient(database.url, configure: Self.configure) { client in
                let stuck = try await client.withTransaction { transaction in
                    try await transaction.execute("SELECT 1 FROM note WHERE id = -1 FOR UPDATE")
                    let stuck = (0..<20).map { _ in Task { try await update(-1, client, groupCommit: groupCommit) } }
                    // Four of sixteen connections for a row, the others wait in the queue.
                    try await waiting(until: "the row holds its part of the connections") {
                        let statistics = client.statistics.writes
                        return statistics.busyConnections == 4 && statistics.heldBack == 16
                    }
                    try await withThrowingTaskGroup { group in
                        for row in 0..<60 { group.addTask { try await update(row, client, groupCommit: groupCommit) } }
                        try await group.waitForAll()
                    }
                    #expect(client.statistics.writes.heldBack == 16)
                    #expect(client.heldBack == (reads: 0, writes: 16))
                    return stuck
                }
                for task in stuck { try await waiting(for: "a write of the row") { try await task.value } }
                #expect(try await database.psql("SELECT stars FROM note WHERE id = -1") == "20")
            }
        }
    }

    @Test func whatWaitsTooLongForALockedRowFailsWithoutBeingSent() async throws {
        try await withTemporaryDatabaseAndPsql { database in
            try await database.psql(Self.table + "; INSERT INTO note VALUES (-1)")
            func limit(_ configuration: inout PostgresConfiguration) {
                // All else finds a connection in this time, even on a busy machine.
                configuration.acquireTimeout = .seconds(10)
            }
            try await withPostgresClient(database.url, configure: limit) { client in
                let tasks = try await client.withTransaction { transaction in
                    try await transaction.execute("SELECT 1 FROM note WHERE id = -1 FOR UPDATE")
                    // As many as may wait for the row, so that those connections are there whatever the machine does.
                    var tasks = (0..<4).map { _ in Task { try await update(-1, client, groupCommit: .never) } }
                    try await waiting(until: "four writes were sent") { client.statistics.writes.statements == 4 }
                    tasks += (0..<6).map { _ in Task { try await update(-1, client, groupCommit: .never) } }
                    for task in tasks[4...] {
                        let result = try await waiting(for: "a write to leave the queue") { await task.result }
                        #expect(result.failureCode == .acquireTimeout)
                        // It says that others of the row were in the way.
                        guard case .failure(let error as PostgresError) = result else { continue }
                        #expect(error.sqlState == .lockNotAvailable)
                    }
                    #expect(client.statistics.writes.statements == 4 && client.statistics.writes.queueDepth == 0)
                    return tasks
                }
                var failures: [PostgresError.Code?] = []
                for task in tasks { failures.append(await task.result.failureCode) }
                #expect(failures.count { $0 == nil } == 4)
                #expect(failures.count { $0 == .acquireTimeout } == 6)
            }
        }
    }

    @Test func aLockedTableLeavesConnectionsToOtherReads() async throws {
        try await withTemporaryDatabaseAndPsql { database in
            try await database.psql(Self.table)
            try await withPostgresClient(database.url, configure: Self.configure) { client in
                let stuck = try await client.withTransaction { transaction in
                    try await transaction.execute("LOCK TABLE note IN ACCESS EXCLUSIVE MODE")
                    let stuck = (0..<8).map { number in
                        Task {
                            // Eight shapes, none of which is known to be slow.
                            let query = SQL(trustedText: "SELECT \(number) FROM note")
                            _ = try await client.read(query, contention: PostgresContention(table: 1))
                        }
                    }
                    try await waiting(until: "every read of the table was tried") {
                        client.statistics.slowShapes == 8
                    }
                    for number in 0..<50 {
                        let result = try await client.read("SELECT \(number)")
                        #expect(try result.decode(row: 0, column: 0, as: Int.self) == number)
                    }
                    // On a busy machine other reads are held up for a moment, too.
                    let sessions = try #require(try await database.sessionsWaitingForALock())
                    #expect((1...4).contains(sessions))
                    return stuck
                }
                for task in stuck { try await waiting(for: "a read of the table") { try await task.value } }
            }
        }
    }

    @Test func aReaderThatCannotConnectTakesNoSignals() async throws {
        try await withTemporaryDatabaseAndPsql { database in
            let role = "single_\(database.name.suffix(30))"
            try await database.psql("CREATE ROLE \(role) LOGIN CONNECTION LIMIT 1")
            func limit(_ configuration: inout PostgresConfiguration) {
                configuration.connection = configuration.connection.replacing("user=postgres", with: "user=\(role)")
                configuration.acquireTimeout = .seconds(10)
            }
            try await withPostgresClient(database.url, configure: limit) { client in
                for number in 0..<100 {
                    let result = try await client.read("SELECT \(number)")
                    #expect(try result.decode(row: 0, column: 0, as: Int.self) == number)
                }
                #expect(client.statistics.reads.connections == 1)
            }
            try await database.psql("DROP ROLE \(role)")
        }
    }

    @Test func aShapeThatRanLongGetsACommitOfItsOwn() async throws {
        try await withTemporaryDatabaseAndPsql { database in
            // A sequence counts how often the trigger ran, what was rolled back included. Its first run lasts until it is ended.
            try await database.psql(
                """
                \(Self.table);
                CREATE TABLE slow (id int);
                CREATE SEQUENCE runs;
                CREATE FUNCTION nap() RETURNS trigger LANGUAGE plpgsql AS
                    $$ BEGIN PERFORM pg_sleep(CASE nextval('runs') WHEN 1 THEN 600 ELSE 0.4 END); RETURN NEW; END $$;
                CREATE TRIGGER nap BEFORE INSERT ON slow FOR EACH ROW EXECUTE FUNCTION nap();
                """
            )
            try await withPostgresClient(database.url, configure: Self.configure) { client in
                func insertSlowly() async throws {
                    _ = try await client.write("INSERT INTO slow VALUES (1)", groupCommit: .allowed)
                }
                try await insertSlowly()
                #expect(client.statistics.groupCommits.failedGroups == 1)
                #expect(client.statistics.slowShapes == 1)
                try await withThrowingTaskGroup { group in
                    for row in 0..<20 {
                        group.addTask { try await insertSlowly() }
                        group.addTask { try await update(row, client, groupCommit: .allowed) }
                    }
                    try await group.waitForAll()
                }
                // The first ran twice, in a group and by itself; no other was in a group.
                #expect(try await database.psql("SELECT last_value FROM runs") == "22")
                #expect(try await database.psql("SELECT count(*) FROM slow") == "21")
            }
        }
    }

    @Test func aGroupIsEndedWhenItsTimeIsOver() async throws {
        try await withTemporaryDatabaseAndPsql { database in
            try await database.psql(Self.table)
            let (outcomes, statistics) = try await withWaitingClient(
                database.url,
                waiting: 20,
                configure: { $0.groupCommitTimeout = .milliseconds(200) },
                // None of them takes as long as a statement may.
                statements: (0..<20).map { id in
                    { client in
                        try await client.write(
                            "INSERT INTO note SELECT \(Int32(id)) FROM (SELECT pg_sleep(0.05)) AS nap",
                            groupCommit: .allowed
                        ).affectedRows
                    }
                }
            )
            #expect(outcomes.allSucceeded())
            #expect(statistics.groupCommits.failedGroups >= 1)
            #expect(try await database.psql("SELECT count(*) FROM note") == "20")
        }
    }

    @Test func surplusConnectionsAreClosed() async throws {
        try await withTemporaryDatabaseAndPsql { database in
            func limit(_ configuration: inout PostgresConfiguration) {
                configuration.idleConnectionTimeout = .milliseconds(300)
            }
            try await withPostgresClient(database.url, configure: limit) { client in
                try await database.psql("CREATE TABLE gate ()")
                try await withThrowingTaskGroup { group in
                    try await client.withTransaction { transaction in
                        try await transaction.execute("LOCK TABLE gate")
                        for _ in 0..<10 {
                            group.addTask { _ = try await client.write("SELECT count(*) FROM gate") }
                            group.addTask { _ = try await client.withTransaction { try await $0.execute("SELECT 1") } }
                            group.addTask { _ = try await client.read("SELECT 1") }
                        }
                        try await waiting(until: "several writes run") { client.statistics.writes.busyConnections > 1 }
                    }
                    try await group.waitForAll()
                }
                #expect(client.statistics.writes.connects > 1)
                try await waiting(until: "only the readers that are always there have connections") {
                    let statistics = client.statistics
                    return statistics.reads.connections == client.configuration.readConnections
                        && statistics.writes.connections == 0 && statistics.transactionConnections == 0
                }
                try await waiting(until: "PostgreSQL has closed the others, too") {
                    let open = try await database.psql(
                        """
                        SELECT count(*) FROM pg_stat_activity
                        WHERE datname = current_database() AND application_name = 'skyrow'
                        """
                    )
                    return open == "\(client.configuration.readConnections)"
                }
                // What comes afterwards finds connections again.
                _ = try await client.write("SELECT 1")
                _ = try await client.withTransaction { try await $0.execute("SELECT 1") }
            }
        }
    }
}
