import SkyrowPostgres
import SkyrowTestSupport
import Testing

private struct SourceError: Error {}

@Suite struct CopyTests {
    private static let table = "CREATE TABLE movie (title text NOT NULL, year int)"

    /// CSV lines cut into chunks of any size, failing at some point if asked to.
    private func chunks(rows: Int, size: Int, failAfter: Int? = nil) -> AsyncThrowingStream<[UInt8], any Error> {
        let text = Array((0..<rows).map { "\"title, \($0)\",\(1900 + $0 % 100)\n" }.joined().utf8)
        return AsyncThrowingStream { continuation in
            var sent = 0
            for start in stride(from: 0, to: text.count, by: size) {
                if let failAfter, sent >= failAfter { return continuation.finish(throwing: SourceError()) }
                continuation.yield(Array(text[start..<min(start + size, text.count)]))
                sent += 1
            }
            continuation.finish()
        }
    }

    @Test(arguments: [1 << 20, 1000, 7])
    func rowsGoInHoweverTheyAreCut(size: Int) async throws {
        try await withTemporaryDatabaseAndPsql { database in
            try await database.psql(Self.table)
            try await withPostgresClient(database.url) { client in
                let count = try await client.copyIn(
                    "COPY movie FROM STDIN (FORMAT csv)",
                    chunks: chunks(rows: 500, size: size)
                )
                #expect(count == 500)
                let found = try await database.psql("SELECT count(*), max(title) FROM movie WHERE year = 1907")
                #expect(found == "5|title, 7")
            }
        }
    }

    @Test func aBadRowKeepsAllOut() async throws {
        try await withTemporaryDatabaseAndPsql { database in
            try await database.psql(Self.table)
            try await withPostgresClient(database.url) { client in
                let error = try await #require(throws: PostgresError.self) {
                    try await client.copyIn(
                        "COPY movie (title) FROM STDIN (FORMAT csv)",
                        chunks: chunks(rows: 500, size: 1000)
                    )
                }
                #expect(error.sqlState == "22P04")
                let found = try await database.psql("SELECT count(*) FROM movie")
                #expect(found == "0")
                #expect(
                    try await client.copyIn("COPY movie FROM STDIN (FORMAT csv)", chunks: chunks(rows: 1, size: 9)) == 1
                )
            }
        }
    }

    @Test func aSourceThatFailsKeepsAllOut() async throws {
        try await withTemporaryDatabaseAndPsql { database in
            try await database.psql(Self.table)
            try await withPostgresClient(database.url) { client in
                await #expect(throws: SourceError.self) {
                    try await client.copyIn(
                        "COPY movie FROM STDIN (FORMAT csv)",
                        chunks: chunks(rows: 500, size: 1000, failAfter: 3)
                    )
                }
                let found = try await database.psql("SELECT count(*) FROM movie")
                #expect(found == "0")
            }
        }
    }

    @Test func aCancelledImportKeepsAllOut() async throws {
        try await withTemporaryDatabaseAndPsql { database in
            try await database.psql(Self.table)
            try await withPostgresClient(database.url) { client in
                let (stream, continuation) = AsyncStream<[UInt8]>.makeStream()
                continuation.yield(Array("a,1\n".utf8))
                let task = Task { try await client.copyIn("COPY movie FROM STDIN (FORMAT csv)", chunks: stream) }
                try await waiting(until: "the copy runs") { client.statistics.transactionsInUse > 0 }
                // An AsyncStream ends without an error when its reader is cancelled.
                task.cancel()
                await #expect(throws: CancellationError.self) { try await task.value }
                let found = try await database.psql("SELECT count(*) FROM movie")
                #expect(found == "0")
            }
        }
    }

    @Test func anImportIsPartOfItsTransaction() async throws {
        try await withTemporaryDatabaseAndPsql { database in
            try await database.psql(Self.table)
            try await withPostgresClient(database.url) { client in
                try await client.withTransaction { transaction in
                    try await transaction.execute("INSERT INTO movie VALUES ('first', 1)")
                    let count = try await transaction.copyIn(
                        "COPY movie FROM STDIN (FORMAT csv)",
                        chunks: chunks(rows: 10, size: 50)
                    )
                    #expect(count == 10)
                    try await transaction.execute("DELETE FROM movie WHERE year > 1905")
                }
                let found = try await database.psql("SELECT count(*), count(DISTINCT xmin::text) FROM movie")
                #expect(found == "7|1")
            }
        }
    }

    @Test(arguments: ["SELECT 1", "COPY movie TO STDOUT", "COPY nothing FROM STDIN"])
    func anythingButACopyFromStandardInputIsRefused(statement: String) async throws {
        try await withTemporaryDatabaseAndPsql { database in
            try await database.psql(Self.table)
            try await withPostgresClient(database.url) { client in
                await #expect(throws: PostgresError.self) {
                    try await client.copyIn(SQL(trustedText: statement), chunks: chunks(rows: 1, size: 10))
                }
                let count = try await client.copyIn(
                    "COPY movie FROM STDIN (FORMAT csv)",
                    chunks: chunks(rows: 2, size: 9)
                )
                #expect(count == 2)
            }
        }
    }
}

@Suite struct CopyOutputTests {
    private static func lines(_ count: Int) -> SQL {
        // In the list of SELECT the numbers are made one by one; in FROM, all of them before the first line.
        "COPY (SELECT generate_series(1, \(SQL(trustedText: "\(count)"))), repeat('x', 90)) TO STDOUT"
    }

    private func withTransaction(_ body: (PostgresTransaction) async throws -> Void) async throws {
        try await withTemporaryDatabase { url in
            // How long the reader takes is part of the statement's time.
            try await withPostgresClient(url, configure: { $0.statementTimeout = patience }) { client in
                try await client.withTransaction(retries: 0, body)
            }
        }
    }

    @Test(arguments: [0, 1, 100_000])
    func allRowsComeOutInChunksThatEndWithARow(count: Int) async throws {
        try await withTransaction { transaction in
            try await transaction.copyOut(Self.lines(count)) { output in
                var chunks = 0
                var rows = 0
                for try await chunk in output {
                    chunks += 1
                    rows += chunk.count { $0 == UInt8(ascii: "\n") }
                    #expect(chunk.last == UInt8(ascii: "\n"))
                    #expect(chunk.count < 300_000)
                }
                #expect(rows == count)
                #expect(output.rowCount == count)
                #expect(chunks == 0 || chunks > count / 4000)
            }
            // The transaction goes on.
            #expect(try await transaction.query("SELECT 1").rowCount == 1)
        }
    }

    @Test func aReaderThatStopsEndsTheCopyAndTheTransaction() async throws {
        try await withTemporaryDatabase { url in
            try await withPostgresClient(url) { client in
                struct Enough: Error {}
                await #expect(throws: Enough.self) {
                    try await client.withTransaction { transaction in
                        try await transaction.copyOut(Self.lines(100_000_000)) { output in
                            for try await _ in output { throw Enough() }
                        }
                    }
                }
                let result = try await client.withTransaction { try await $0.query("SELECT 1") }
                #expect(result.rowCount == 1)
            }
        }
    }

    @Test func anErrorInTheMiddleIsTheServers() async throws {
        try await withTemporaryDatabase { url in
            try await withPostgresClient(url) { client in
                let error = await #expect(throws: PostgresError.self) {
                    try await client.withTransaction { transaction in
                        try await transaction.copyOut(
                            "COPY (SELECT 1 / (50000 - n) FROM generate_series(1, 60000) AS n) TO STDOUT"
                        ) { output in
                            for try await _ in output {}
                        }
                    }
                }
                #expect(error?.sqlState == "22012")
            }
        }
    }

    @Test(arguments: ["SELECT 1", "COPY movie FROM STDIN", "COPY nothing TO STDOUT"])
    func anythingButACopyToStandardOutputIsRefused(statement: String) async throws {
        try await withTemporaryDatabaseAndPsql { database in
            try await database.psql("CREATE TABLE movie (title text)")
            try await withPostgresClient(database.url) { client in
                await #expect(throws: PostgresError.self) {
                    try await client.withTransaction { transaction in
                        try await transaction.copyOut(SQL(trustedText: statement)) { _ in }
                    }
                }
                let result = try await client.read("SELECT 1")
                #expect(result.rowCount == 1)
            }
        }
    }

    @Test func aSnapshotSeesOneMomentAndChangesNothing() async throws {
        try await withTemporaryDatabaseAndPsql { database in
            try await database.psql("CREATE TABLE movie (title text)")
            try await withPostgresClient(database.url) { client in
                try await client.withTransaction(isolation: .snapshot) { transaction in
                    _ = try await transaction.query("SELECT count(*) FROM movie")
                    try await database.psql("INSERT INTO movie VALUES ('later')")
                    try await transaction.copyOut("COPY movie TO STDOUT") { output in
                        for try await _ in output { Issue.record("A later row was seen.") }
                    }
                }
                let error = await #expect(throws: PostgresError.self) {
                    try await client.withTransaction(isolation: .snapshot) {
                        try await $0.execute("INSERT INTO movie VALUES ('x')")
                    }
                }
                #expect(error?.sqlState == .readOnlyTransaction)
            }
        }
    }
}
