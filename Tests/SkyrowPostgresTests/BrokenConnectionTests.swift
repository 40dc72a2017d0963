import SkyrowPostgres
import SkyrowTestSupport
import Testing

/// Connections that break at every stage of a statement.
@Suite struct BrokenConnectionTests {
    /// Two connections are refused after each that broke, so the pauses between attempts are part of the test.
    private func throughProxy(
        _ database: TemporaryDatabase,
        _ body: (PostgresClient, FaultyProxy) async throws -> Void
    ) async throws {
        let proxy = try FaultyProxy(server: database.cluster.directory)
        defer { proxy.close() }
        let url = "postgresql:///\(database.name)?host=\(proxy.directory)&user=postgres"
        func limit(_ configuration: inout PostgresConfiguration) {
            configuration.readConnections = 1
            configuration.maximumReadConnections = 1
            configuration.maximumWriteConnections = 1
            // On a slow machine the attempts to connect must not outlast what waits for them.
            configuration.acquireTimeout = patience
        }
        try await withPostgresClient(url, configure: limit) { try await body($0, proxy) }
    }

    /// A long statement is broken while it is being sent, a short one when it is.
    @Test(arguments: FaultyProxy.Fault.allCases, [10, 4_000_000])
    func aReadIsDoneAgain(fault: FaultyProxy.Fault, length: Int) async throws {
        try await withTemporaryDatabaseAndPsql { database in
            try await throughProxy(database) { client, proxy in
                let text = String(repeating: "x", count: length)
                for _ in 0..<2 {
                    _ = try await client.read("SELECT length(\(text))")
                    proxy.arm(fault)
                    let result = try await client.read("SELECT length(\(text))")
                    #expect(try result.decode(row: 0, column: 0, as: Int.self) == length)
                    #expect(proxy.hasHit)
                }
            }
        }
    }

    @Test(arguments: FaultyProxy.Fault.allCases, [10, 4_000_000])
    func aWriteIsDoneOnceOrItsFateIsUnknown(fault: FaultyProxy.Fault, length: Int) async throws {
        try await withTemporaryDatabaseAndPsql { database in
            try await database.psql("CREATE TABLE note (id int, title text)")
            try await throughProxy(database) { client, proxy in
                let text = String(repeating: "x", count: length)
                for (id, groupCommit) in [(1, PostgresGroupCommit.never), (2, .allowed)] {
                    _ = try await client.write("SELECT 1", groupCommit: groupCommit)
                    proxy.arm(fault)
                    var code: PostgresError.Code?
                    do {
                        _ = try await client.write(
                            "INSERT INTO note VALUES (\(Int32(id)), \(text))",
                            groupCommit: groupCommit
                        )
                    } catch let error as PostgresError {
                        code = error.code
                    }
                    #expect(proxy.hasHit)
                    // What was under way has come to its end when the server has no other session of the client's.
                    let others = """
                        SELECT count(*) FROM pg_stat_activity
                        WHERE datname = current_database() AND query LIKE 'INSERT%' AND state = 'active'
                        """
                    try await waiting(until: "the insert has ended") { try await database.psql(others) == "0" }
                    let count = try await database.psql("SELECT count(*) FROM note WHERE id = \(id)")
                    switch code {
                    case nil: #expect(count == "1")
                    case .indeterminateCommit: #expect(["0", "1"].contains(count))
                    case .some(let code): Issue.record("A lost connection was taken for \(code)")
                    }
                }
            }
        }
    }

    @Test(arguments: FaultyProxy.Fault.allCases)
    func aTransactionIsRunAgainFromItsStart(fault: FaultyProxy.Fault) async throws {
        try await withTemporaryDatabaseAndPsql { database in
            try await database.psql("CREATE TABLE note (id int)")
            try await throughProxy(database) { client, proxy in
                try await client.withTransaction { transaction in
                    try await transaction.execute("INSERT INTO note VALUES (1)")
                    if !proxy.hasHit { proxy.arm(fault) }
                    try await transaction.execute("INSERT INTO note VALUES (2)")
                }
                #expect(proxy.hasHit)
                let count = try await database.psql("SELECT count(*) FROM note")
                #expect(count == "2")
            }
        }
    }
}
