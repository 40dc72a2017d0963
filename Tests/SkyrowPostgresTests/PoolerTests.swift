import SkyrowTestSupport
import Testing

@testable import SkyrowPostgres

/// A client behind PgBouncer, which hands each transaction another session.
@Suite(.timeLimit(.minutes(60))) struct PoolerTests {
    private func behindPooler(
        _ preparedStatements: PreparedStatements = .whereKept,
        listensDirectly: Bool = false,
        _ body: (PostgresClient, TemporaryPooler, TemporaryDatabase) async throws -> Void
    ) async throws {
        try await withTemporaryDatabaseAndPsql { database in
            try await withTemporaryPooler(of: database.cluster) { pooler in
                func configure(_ configuration: inout PostgresConfiguration) {
                    configuration.preparedStatements = preparedStatements
                    configuration.searchPath = ["app"]
                    // A slow machine moves no write out of its group.
                    configuration.groupCommitTimeout = .seconds(60)
                    configuration.notificationProbeInterval = .milliseconds(50)
                    // What does arrive may be late.
                    configuration.notificationProbeTimeout = listensDirectly ? patience : .milliseconds(500)
                    if listensDirectly { configuration.listenConnection = database.url }
                }
                let url = pooler.url(database: database.name)
                try await withPostgresClient(url, configure: configure) { try await body($0, pooler, database) }
            }
        }
    }

    private func next(_ events: PostgresNotifications) async throws -> PostgresNotificationEvent? {
        try await waiting(for: "a notification") {
            var iterator = events.makeAsyncIterator()
            return await iterator.next()
        }
    }

    @Test func thatNotificationsDoNotArriveIsNoticed() async throws {
        try await behindPooler { client, _, _ in
            let events = client.listen("changed")
            let heard = [try await next(events), try await next(events)]
            #expect(heard == [.connected, .silent])
            #expect(!client.notificationsArrive)
        }
    }

    @Test func withAnAddressOfItsOwnForListeningTheyArrive() async throws {
        try await behindPooler(listensDirectly: true) { client, _, database in
            let events = client.listen("changed")
            let first = try await next(events)
            #expect(first == .connected)
            try await waiting(until: "the client has heard itself") { client.probe.verdict != .unknown }
            #expect(client.probe.verdict == .arriving)
            try await database.psql("NOTIFY changed, 'x'")
            let second = try await next(events)
            guard case .notification("changed", "x", _) = second else {
                Issue.record("The notification did not arrive")
                return
            }
            #expect(client.notificationsArrive)
        }
    }

    /// Clients that prepare other statements than each other, in the sessions that they share.
    @Test(arguments: [PreparedStatements.whereKept, .always, .never])
    func everyStatementGetsItsOwnAnswer(preparedStatements: PreparedStatements) async throws {
        try await behindPooler(preparedStatements) { first, pooler, database in
            func configure(_ configuration: inout PostgresConfiguration) {
                configuration.preparedStatements = preparedStatements
                configuration.maximumPreparedStatements = 8
                configuration.groupCommitTimeout = .seconds(60)
            }
            try await withPostgresClient(pooler.url(database: database.name), configure: configure) { second in
                try await withThrowingTaskGroup { group in
                    for (place, client) in [first, second].enumerated() {
                        for number in 0..<300 {
                            group.addTask {
                                let shape = (number * 7 + place) % 20
                                let statement = SQL(trustedText: "SELECT \(shape), ") + "\(Int64(number))"
                                let results = [
                                    try await client.read(statement), try await client.write(statement),
                                    try await client.write(statement, groupCommit: .allowed),
                                ]
                                for result in results {
                                    #expect(try result.decode(row: 0, column: 0, as: Int32.self) == Int32(shape))
                                    #expect(try result.decode(row: 0, column: 1, as: Int64.self) == Int64(number))
                                }
                            }
                        }
                    }
                    try await group.waitForAll()
                }
            }
            guard preparedStatements != .always else { return }
            for _ in 0..<10 {
                let left = try await database.cluster.psql(
                    "SELECT count(*) FROM pg_prepared_statements",
                    url: pooler.url(database: database.name)
                )
                #expect(left == "0")
            }
        }
    }

    /// A pooler that prepares statements by itself is found and used, whichever statements others have prepared.
    @Test func statementsThatAPoolerKeepsArePrepared() async throws {
        try await withTemporaryDatabaseAndPsql { database in
            try await withRenamingPooler(of: database.cluster) { pooler in
                func configure(_ configuration: inout PostgresConfiguration) {
                    configuration.readConnections = 1
                    configuration.maximumReadConnections = 1
                    configuration.searchPath = ["app"]
                    configuration.maximumPreparedStatements = 2
                }
                try await withPostgresClient(pooler.url(database: database.name), configure: configure) { client in
                    for number in 0..<5 {
                        let result = try await client.read("SELECT \(number) + 1, current_setting('search_path')")
                        #expect(try result.decode(row: 0, column: 0, as: Int.self) == number + 1)
                        #expect(try result.decode(row: 0, column: 1, as: String.self) == "\"app\"")
                    }
                    let names: SQL =
                        "SELECT name FROM pg_catalog.pg_prepared_statements WHERE statement LIKE 'SELECT $1 + 1%'"
                    #expect(
                        try await client.read(names).decodeColumn(0, as: String.self).map { $0.hasPrefix("POOLED_") }
                            == [true]
                    )
                    // More than are kept: none is taken from the pooler, and at some time the connection is another.
                    for number in 0..<50 {
                        let statement = SQL(trustedText: "SELECT \(number), ") + "\(number)"
                        #expect(
                            try await client.read(statement).decode(row: 0, column: 0, as: Int32.self) == Int32(number)
                        )
                    }
                    #expect(client.statistics.reads.connects > 1)
                    #expect(!client.hasSessions)
                }
            }
        }
    }

    /// What would go wrong in a session that comes and goes is refused, where no address of PostgreSQL itself is given.
    @Test(arguments: [(PreparedStatements.whereKept, false), (.always, true), (.never, false)])
    func aPoolerHasNoSessions(preparedStatements: PreparedStatements, hasSessions: Bool) async throws {
        try await behindPooler(preparedStatements) { client, _, _ in
            _ = try await client.read("SELECT 1")
            #expect(client.hasSessions == hasSessions)
        }
        try await behindPooler(preparedStatements, listensDirectly: true) { client, _, _ in
            _ = try await client.read("SELECT 1")
            #expect(client.hasSessions)
        }
    }

    @Test(arguments: [PreparedStatements.whereKept, .never])
    func settingsHoldForTheTransactionAndReachNobodyElse(preparedStatements: PreparedStatements) async throws {
        try await behindPooler(preparedStatements) { client, pooler, database in
            let query: SQL = "SELECT current_setting('search_path'), current_setting('lock_timeout')"
            func settings(_ result: PostgresResult) throws -> [String] {
                try (0..<result.columnCount).map { try result.decode(row: 0, column: $0) }
            }
            try await withThrowingTaskGroup { group in
                for _ in 0..<20 {
                    group.addTask {
                        #expect(try settings(await client.read(query)) == ["\"app\"", "0"])
                        #expect(try settings(await client.write(query, groupCommit: .allowed)) == ["\"app\"", "100ms"])
                        let transaction = try await client.withTransaction { try await $0.query(query) }
                        #expect(try settings(transaction) == ["\"app\"", "0"])
                    }
                }
                try await group.waitForAll()
            }
            for _ in 0..<10 {
                let left = try await database.cluster.psql(
                    "SHOW search_path; SHOW lock_timeout",
                    url: pooler.url(database: database.name)
                )
                #expect(left == "\"$user\", public\n0")
            }
        }
    }
}

/// What is made of notifications to oneself that arrive, or do not; no server is needed to decide it.
@Suite struct NotificationHealthTests {
    @Test(
        arguments: [
            ([true, true], [.none, .none], .arriving),
            // One that is late at the start is no reason for a warning.
            ([false, true], [.none, .none], .arriving),
            ([false, false, false], [.none, .fallSilent, .none], .silent),
            ([true, false, false], [.none, .reconnect, .fallSilent], .silent),
            ([true, false, true, false], [.none, .reconnect, .none, .reconnect], .arriving),
            ([false, false, true, true], [.none, .fallSilent, .arriveAgain, .none], .arriving),
        ] as [([Bool], [NotificationHealth.Step], NotificationHealth.Verdict)]
    )
    func theVerdict(arrivals: [Bool], steps: [NotificationHealth.Step], verdict: NotificationHealth.Verdict) {
        var health = NotificationHealth()
        #expect(arrivals.map { health.probed(hasArrived: $0) } == steps)
        #expect(health.verdict == verdict)
    }
}
