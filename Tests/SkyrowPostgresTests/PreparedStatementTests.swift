import SkyrowPostgres
import SkyrowTestSupport
import Testing

@Suite struct PreparedStatementTests {
    private func oneConnectionEach(_ configuration: inout PostgresConfiguration) {
        configuration.readConnections = 1
        configuration.maximumReadConnections = 1
        configuration.maximumWriteConnections = 1
    }

    @Test(arguments: [PostgresGroupCommit.never, .allowed])
    func aSchemaChangeIsNotSeenByCallers(groupCommit: PostgresGroupCommit) async throws {
        try await withTemporaryDatabaseAndPsql { database in
            try await database.psql("CREATE TABLE note (id int, stars int); INSERT INTO note VALUES (1, 5)")
            try await withPostgresClient(database.url, configure: oneConnectionEach) { client in
                let statement: SQL = "SELECT * FROM note WHERE id = \(Int32(1))"
                let update: SQL = "UPDATE note SET id = id WHERE id = \(Int32(1)) RETURNING *"
                for change in ["ALTER TABLE note ADD COLUMN title text", "ALTER TABLE note DROP COLUMN stars", ""] {
                    for _ in 0..<2 {
                        let read = try await client.read(statement)
                        let written = try await client.write(update, groupCommit: groupCommit)
                        #expect(read.columnCount == written.columnCount)
                    }
                    try await database.psql(change)
                }
                let last = try await client.read(statement)
                #expect(last.columnName(1) == "title")
            }
        }
    }

    @Test(arguments: [PostgresGroupCommit.never, .allowed])
    func aStatementTheServerForgotIsPreparedAgain(groupCommit: PostgresGroupCommit) async throws {
        try await withTemporaryDatabase { url in
            try await withPostgresClient(url, configure: oneConnectionEach) { client in
                for _ in 0..<3 {
                    let read = try await client.read("SELECT \(1) + 1")
                    #expect(try read.decode(row: 0, column: 0, as: Int.self) == 2)
                    let written = try await client.write("SELECT \(1) + 2", groupCommit: groupCommit)
                    #expect(try written.decode(row: 0, column: 0, as: Int.self) == 3)
                    _ = try await client.read("DISCARD ALL")
                    _ = try await client.write("DEALLOCATE ALL", groupCommit: groupCommit)
                }
            }
        }
    }

    @Test func theLeastRecentlyUsedStatementsAreGivenUp() async throws {
        try await withTemporaryDatabase { url in
            func limit(_ configuration: inout PostgresConfiguration) {
                oneConnectionEach(&configuration)
                configuration.maximumPreparedStatements = 4
            }
            try await withPostgresClient(url, configure: limit) { client in
                for number in 0..<20 {
                    let shape = SQL(trustedText: "SELECT \(number), ") + "\(number)"
                    let result = try await client.read(shape)
                    #expect(try result.decode(row: 0, column: 1, as: Int.self) == number)
                }
                let left = try await client.read("SELECT count(*) FROM pg_prepared_statements WHERE NOT from_sql")
                #expect(try left.decode(row: 0, column: 0, as: Int.self) == 4)
            }
        }
    }

    @Test func oneTextWithValuesOfTwoTypesIsTwoStatements() async throws {
        try await withTemporaryDatabase { url in
            try await withPostgresClient(url, configure: oneConnectionEach) { client in
                for _ in 0..<3 {
                    let number = try await client.read("SELECT \(5)")
                    #expect(try number.decode(row: 0, column: 0, as: Int.self) == 5)
                    let text = try await client.read("SELECT \("five")")
                    #expect(try text.decode(row: 0, column: 0, as: String.self) == "five")
                }
            }
        }
    }

    @Test func withoutNamedStatementsNothingIsLeftInTheSession() async throws {
        try await withTemporaryDatabase { url in
            func limit(_ configuration: inout PostgresConfiguration) {
                oneConnectionEach(&configuration)
                configuration.preparedStatements = .never
            }
            try await withPostgresClient(url, configure: limit) { client in
                for number in 0..<3 {
                    let result = try await client.read("SELECT \(number)")
                    #expect(try result.decode(row: 0, column: 0, as: Int.self) == number)
                    _ = try await client.write("SELECT \(number)", groupCommit: .allowed)
                    _ = try await client.write("SELECT \(number)")
                }
                let left = try await client.read("SELECT count(*) FROM pg_prepared_statements")
                #expect(try left.decode(row: 0, column: 0, as: Int.self) == 0)
            }
        }
    }

    @Test func aStatementThatCannotBePreparedFailsAlone() async throws {
        try await withTemporaryDatabase { url in
            let good: @Sendable (PostgresClient) async throws -> Int = { client in
                try await client.read("SELECT \(1)").decode(row: 0, column: 0)
            }
            let bad: @Sendable (PostgresClient) async throws -> Int = { client in
                try await client.read("SELECT nonsense FROM \(1)").decode(row: 0, column: 0)
            }
            let (outcomes, _) = try await withWaitingClient(
                url,
                waiting: 4,
                configure: oneConnectionEach,
                statements: [good, bad, good, bad]
            )
            #expect(outcomes.map(\.succeeded) == [true, false, true, false])
            #expect(outcomes[1].failureCode == .server)
        }
    }
}
