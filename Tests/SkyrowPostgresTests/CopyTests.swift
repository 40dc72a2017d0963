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
                while client.statistics.transactionsInUse == 0 { await Task.yield() }
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
