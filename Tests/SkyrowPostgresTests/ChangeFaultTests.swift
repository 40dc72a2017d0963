import SkyrowTestSupport
import Testing

@testable import SkyrowPostgres

/// Streams of changes whose server, slot or role is not as it should be; none leaves a slot behind.
@Suite struct ChangeFaultTests {
    private static let killSender = """
        SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE backend_type = 'walsender' AND datname = current_database()
        """

    @Test func aStreamThatIsEndedByTheServerBeginsAnew() async throws {
        try await withChanges { reader in
            for number in 1...3 {
                try await reader.connected()
                try await reader.database.psql("INSERT INTO note VALUES ('\(number)', 'a')")
                #expect(try await reader.transaction().lines == ["insert note \(number)|a"])
                try await reader.database.psql(Self.killSender)
                let failure = try await reader.interruption()
                #expect(failure.reason == .connectionLost)
            }
            try await reader.connected()
            #expect(try await reader.database.slots() == "1 1")
        }
    }

    @Test func aPublicationThatIsDroppedIsNamedAndAwaited() async throws {
        try await withChanges { reader in
            try await reader.connected()
            try await reader.database.psql("DROP PUBLICATION p; INSERT INTO note VALUES ('1', 'a')")
            #expect(try await reader.interruption().reason == .missingPublication)
            try await reader.database.psql("CREATE PUBLICATION p FOR TABLE note")
            try await reader.connected()
            try await reader.database.psql("INSERT INTO note VALUES ('2', 'b')")
            #expect(try await reader.transaction().lines == ["insert note 2|b"])
        }
    }

    @Test func aStreamSurvivesTheDeathOfPostgreSQL() async throws {
        let cluster = try await TemporaryCluster.start()
        try await withChanges(on: cluster) { reader in
            try await reader.connected()
            try await cluster.kill()
            // An attempt to connect again may have failed before the loss was read.
            #expect([.connectionLost, .cannotConnect].contains(try await reader.interruption().reason))
            try await cluster.launch()
            // A server that starts refuses connections, which is another reason.
            var isConnected = false
            while !isConnected, let event = try await reader.nextNews() {
                if case .connected = event { isConnected = true }
            }
            try await reader.database.psql("INSERT INTO note VALUES ('1', 'a')")
            #expect(try await reader.transaction().lines == ["insert note 1|a"])
            // An orderly shutdown waits for this side to say that it has everything.
            try await waiting(for: "the server's shutdown") { try await cluster.stop() }
            #expect([.connectionLost, .cannotConnect].contains(try await reader.interruption().reason))
            try await cluster.launch()
        }
    }

    @Test func aSlotWaitsForWritersThatAreOpen() async throws {
        try await withTemporaryDatabaseAndPsql { database in
            try await database.psql("CREATE TABLE note (_id text PRIMARY KEY); CREATE PUBLICATION p FOR TABLE note")
            try await withPostgresClient(database.url) { client in
                let reader = try await client.withTransaction(retries: 0) { writer in
                    try await writer.execute("INSERT INTO note VALUES ('before')")
                    let reader = try ChangeReader(client: client, database: database)
                    guard case .delayed? = try await reader.nextNews() else {
                        Issue.record("The slot was made beside a writer")
                        return reader
                    }
                    return reader
                }
                try await reader.connected()
                try await database.psql("INSERT INTO note VALUES ('after')")
                #expect(try await reader.transaction().lines == ["insert note after"])
                reader.changes.stop()
            }
            try await database.waitUntilNoSlotIsLeft()
        }
    }

    enum Ending: CaseIterable, Sendable {
        case stop
        case release
        case shutdown
    }

    /// The session of a slot that waits for a writer sees by itself neither that its client is gone.
    @Test(arguments: Ending.allCases)
    func aSlotThatWaitsIsGivenUpWhileTheWriterIsOpen(_ ending: Ending) async throws {
        try await withTemporaryDatabaseAndPsql { database in
            try await database.psql("CREATE TABLE note (_id text PRIMARY KEY); CREATE PUBLICATION p FOR TABLE note")
            try await withPostgresClient(database.url) { other in
                try await other.withTransaction(retries: 0) { writer in
                    try await writer.execute("INSERT INTO note VALUES ('before')")
                    try await withPostgresClient(database.url) { client in
                        var reader: ChangeReader? = try ChangeReader(client: client, database: database)
                        guard case .delayed? = try await reader?.nextNews() else {
                            Issue.record("The slot was made beside a writer")
                            return
                        }
                        #expect(try await database.slots() == "1 1")
                        switch ending {
                        case .stop:
                            reader?.changes.stop()
                            #expect(try await reader?.next() == nil as ChangeEvent?)
                        case .release: reader = nil
                        case .shutdown: return
                        }
                        try await database.waitUntilNoSlotIsLeft()
                    }
                    try await database.waitUntilNoSlotIsLeft()
                }
            }
        }
    }

    struct Refusal: Sendable, CustomTestStringConvertible {
        var settings: [String: String] = [:]
        var preparation = "SELECT 1"
        var user = "postgres"
        var reason: ReplicationFailure.Reason
        /// What makes it work; nil for what takes a restart.
        var remedy: String?

        var testDescription: String { reason.rawValue }
    }

    @Test(arguments: [
        Refusal(settings: ["wal_level": "replica"], reason: .walLevel),
        Refusal(
            preparation: "CREATE ROLE plain LOGIN",
            user: "plain",
            reason: .missingPrivilege,
            remedy: "ALTER ROLE plain REPLICATION"
        ),
        Refusal(
            settings: ["max_replication_slots": "1"],
            preparation: "SELECT pg_create_physical_replication_slot('other')",
            reason: .slotsExhausted,
            remedy: "SELECT pg_drop_replication_slot('other')"
        ),
        Refusal(settings: ["max_wal_senders": "0"], reason: .sendersExhausted),
        Refusal(
            preparation: "DROP PUBLICATION p",
            reason: .missingPublication,
            remedy: "CREATE PUBLICATION p FOR TABLE note"
        ),
    ])
    func aRefusalSaysWhyAndIsTriedAgain(_ refusal: Refusal) async throws {
        let cluster = try await TemporaryCluster.start(settings: refusal.settings)
        try await withTemporaryDatabaseAndPsql(on: cluster) { database in
            try await database.psql(
                """
                CREATE TABLE note (_id text PRIMARY KEY); CREATE PUBLICATION p FOR TABLE note; \(refusal.preparation)
                """
            )
            let url = "postgresql:///\(database.name)?host=\(cluster.directory)&user=\(refusal.user)"
            try await withPostgresClient(database.url, configure: { $0.replicationConnection = url }) { client in
                let reader = try ChangeReader(client: client, database: database)
                let failure = try await reader.interruption()
                #expect(failure.reason == refusal.reason)
                #expect(failure.isLasting)
                if let remedy = refusal.remedy {
                    try await database.psql(remedy)
                    try await reader.connected()
                }
                reader.changes.stop()
            }
            try await database.waitUntilNoSlotIsLeft()
        }
    }

    @Test func aPoolerThatRefusesReplicationIsNamed() async throws {
        try await withTemporaryDatabaseAndPsql { database in
            try await withTemporaryPooler(of: database.cluster) { pooler in
                try await database.psql("CREATE PUBLICATION p")
                let url = pooler.url(database: database.name)
                try await withPostgresClient(database.url, configure: { $0.replicationConnection = url }) { client in
                    let reader = try ChangeReader(client: client, database: database)
                    #expect(try await reader.interruption().reason == .pooler)
                }
            }
        }
    }

    /// What a stream does when it is ended.
    enum Moment: CaseIterable, Sendable {
        case connecting
        case streaming
        case retrying
        case heldUp
    }

    @Test(arguments: Moment.allCases)
    func aStreamEndsAtAnyMoment(_ moment: Moment) async throws {
        try await withTemporaryDatabaseAndPsql { database in
            try await database.psql(
                "CREATE TABLE note (_id text PRIMARY KEY, title text); CREATE PUBLICATION p FOR TABLE note"
            )
            let silent = try FaultyProxy(server: database.cluster.directory)
            defer { silent.close() }
            silent.fallSilent()
            let silentURL = "postgresql:///\(database.name)?host=\(silent.directory)&user=postgres"
            let configure = { @Sendable (configuration: inout PostgresConfiguration) in
                // Longer than any wait of a test.
                configuration.connectTimeout = .seconds(3600)
                configuration.changeReaderTimeout = .seconds(3600)
                switch moment {
                case .connecting: configuration.replicationConnection = silentURL
                case .retrying: configuration.replicationConnection = "postgresql:///x?host=/nonexistent"
                case .heldUp: configuration.maximumChangeBytes = 1
                case .streaming: break
                }
            }
            try await withPostgresClient(database.url, configure: configure) { client in
                let reader = try ChangeReader(client: client, database: database)
                switch moment {
                case .connecting:
                    try await waiting(until: "the server was connected to") { silent.connections > 0 }
                case .retrying:
                    #expect(try await reader.interruption().reason == .cannotConnect)
                case .streaming:
                    try await reader.connected()
                case .heldUp:
                    try await reader.connected()
                    try await database.psql("INSERT INTO note VALUES ('1', 'a'); INSERT INTO note VALUES ('2', 'b')")
                    try await waiting(until: "a change waits") { reader.changes.heldBytes > 0 }
                }
                reader.changes.stop()
                #expect(try await reader.next() == nil as ChangeEvent?)
                try await waiting(until: "the thread has ended") { client.changeStreams.count == 0 }
            }
            try await database.waitUntilNoSlotIsLeft()
        }
    }

    @Test func aClientThatHasShutDownStreamsNothing() async throws {
        try await withTemporaryDatabaseAndPsql { database in
            let client = try await withPostgresClient(database.url) { client in
                _ = try await client.read("SELECT 1")
                return client
            }
            #expect(throws: PostgresError(code: .shutDown)) { try client.changes(publication: "p") }
        }
    }

    @Test func aReaderWhoseTaskIsCancelledEnds() async throws {
        try await withChanges { reader in
            try await reader.connected()
            let changes = reader.changes
            let task = Task {
                for await _ in changes {}
                return true
            }
            task.cancel()
            #expect(try await waiting(for: "the reader's end") { await task.value })
        }
    }
}

extension ChangeEvent? {
    /// Events are compared with the end only.
    fileprivate static func == (left: ChangeEvent?, right: ChangeEvent?) -> Bool {
        if case .none = left, case .none = right { true } else { false }
    }
}
