import SkyrowPostgres
import SkyrowTestSupport
import Testing

@Suite struct StatementTests {
    @Test func aReadReturnsItsRows() async throws {
        try await withTemporaryDatabase { url in
            try await withPostgresClient(url) { client in
                let result = try await client.read("SELECT g AS number, 'x' || g FROM generate_series(1, \(3)) g")
                #expect(result.rowCount == 3)
                #expect(result.columnCount == 2)
                #expect(result.columnName(0) == "number")
                #expect(result.columnType(0) == .int8)
                #expect(result.commandTag == "SELECT 3")
                #expect(try result.decodeColumn(1, as: String.self) == ["x1", "x2", "x3"])
                #expect(client.isReady)
            }
        }
    }

    @Test(arguments: [PostgresGroupCommit.never, .allowed, .allowedExcept(key: 1)])
    func aWriteIsCommittedWhenItReturns(groupCommit: PostgresGroupCommit) async throws {
        try await withTemporaryDatabaseAndPsql { database in
            try await database.psql("CREATE TABLE note (title text PRIMARY KEY)")
            try await withPostgresClient(database.url) { client in
                let result = try await client.write(
                    "INSERT INTO note VALUES (\("a")), (\("b"))",
                    groupCommit: groupCommit
                )
                #expect(result.affectedRows == 2)
                let count = try await database.psql("SELECT count(*) FROM note")
                #expect(count == "2")
            }
        }
    }

    @Test(arguments: [PostgresGroupCommit.never, .allowed])
    func aRefusedWriteSaysWhyInNames(groupCommit: PostgresGroupCommit) async throws {
        try await withTemporaryDatabaseAndPsql { database in
            try await database.psql("CREATE TABLE note (title text PRIMARY KEY); INSERT INTO note VALUES ('secret')")
            try await withPostgresClient(database.url) { client in
                let error = try await #require(throws: PostgresError.self) {
                    try await client.write("INSERT INTO note VALUES (\("secret"))", groupCommit: groupCommit)
                }
                #expect(error.code == .server)
                #expect(error.sqlState == .uniqueViolation)
                #expect(error.table == "note")
                #expect(error.schema == "public")
                #expect(error.constraint == "note_pkey")
                #expect(error.detail?.contains("secret") == true)
                #expect(!error.description.contains("secret"))
                #expect(!"\(error)".contains("secret"))
            }
        }
    }

    @Test(arguments: [PostgresGroupCommit.never, .allowed])
    func aConstraintCheckedAtTheCommitRefusesTheWrite(groupCommit: PostgresGroupCommit) async throws {
        try await withTemporaryDatabaseAndPsql { database in
            try await database.psql(
                """
                CREATE TABLE parent (id int PRIMARY KEY);
                CREATE TABLE child (parent int REFERENCES parent DEFERRABLE INITIALLY DEFERRED);
                """
            )
            try await withPostgresClient(database.url) { client in
                let error = try await #require(throws: PostgresError.self) {
                    try await client.write("INSERT INTO child VALUES (\(Int32(1)))", groupCommit: groupCommit)
                }
                #expect(error.sqlState == .foreignKeyViolation)
                _ = try await client.write("INSERT INTO parent VALUES (\(Int32(1)))", groupCommit: groupCommit)
                _ = try await client.write("INSERT INTO child VALUES (\(Int32(1)))", groupCommit: groupCommit)
                let count = try await database.psql("SELECT count(*) FROM child")
                #expect(count == "1")
            }
        }
    }

    @Test func aFailedReadDoesNotHarmItsNeighbours() async throws {
        try await withTemporaryDatabase { url in
            func limit(_ configuration: inout PostgresConfiguration) {
                configuration.readConnections = 1
                configuration.maximumReadConnections = 1
            }
            try await withPostgresClient(url, configure: limit) {
                client in
                try await withThrowingTaskGroup(of: (Int, Int?).self) { group in
                    for index in 0..<200 {
                        group.addTask {
                            let divisor = index % 10 == 3 ? 0 : 1
                            let result = try? await client.read("SELECT \(index) / \(divisor)")
                            return (index, try result?.decode(row: 0, column: 0))
                        }
                    }
                    for try await (index, value) in group {
                        #expect(value == (index % 10 == 3 ? nil : index))
                    }
                }
                #expect(client.statistics.reads.largestBatch > 1)
            }
        }
    }

    @Test func valuesThatCannotBeSentAreRefusedBeforeTheyAre() async throws {
        try await withTemporaryDatabase { url in
            try await withPostgresClient(url) { client in
                for groupCommit in [PostgresGroupCommit.never, .allowed] {
                    let error = try await #require(throws: PostgresError.self) {
                        try await client.write("SELECT \("a\u{0}b")", groupCommit: groupCommit)
                    }
                    #expect(error.code == .invalidValue)
                }
                let error = try await #require(throws: PostgresError.self) {
                    try await client.read("SELECT \(["a\u{0}b"])")
                }
                #expect(error.code == .invalidValue)
                let shape: SQL = "SELECT \(1)"
                let mismatch = try await #require(throws: PostgresError.self) {
                    try await client.read(shape.binding(PostgresBindings()))
                }
                #expect(mismatch.code == .misuse)
            }
        }
    }

    @Test(arguments: [PostgresGroupCommit.never, .allowed])
    func copyOutsideOfCopyInIsRefused(groupCommit: PostgresGroupCommit) async throws {
        try await withTemporaryDatabase { url in
            try await withPostgresClient(url) { client in
                let error = try await #require(throws: PostgresError.self) {
                    try await client.write("COPY pg_class TO STDOUT", groupCommit: groupCommit)
                }
                #expect(error.code == .misuse || error.code == .server)
                _ = try await client.write("SELECT 1", groupCommit: groupCommit)
            }
        }
    }

    @Test func aStatementWithoutRowsOrTextIsNoError() async throws {
        try await withTemporaryDatabase { url in
            try await withPostgresClient(url) { client in
                let empty = try await client.read("")
                #expect(empty.rowCount == 0)
                let nothing = try await client.read("SELECT 1 WHERE false")
                #expect(nothing.isEmpty)
            }
        }
    }
}
