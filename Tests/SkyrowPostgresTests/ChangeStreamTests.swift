import SkyrowTestSupport
import Testing

@testable import SkyrowPostgres

/// What a stream brings of a real PostgreSQL.
@Suite struct ChangeStreamTests {
    @Test func everyRowComesBeforeAndAfterItsChange() async throws {
        try await withChanges { reader in
            try await reader.connected()
            try await reader.database.psql(
                """
                INSERT INTO note VALUES ('1', 'a'), ('2', NULL);
                UPDATE note SET title = 'b' WHERE _id = '1';
                BEGIN; UPDATE note SET _id = '3' WHERE _id = '2'; DELETE FROM note WHERE _id = '1'; COMMIT;
                """
            )
            #expect(try await reader.transaction().lines == ["insert note 1|a", "insert note 2|null"])
            #expect(try await reader.transaction().lines == ["update note old 1|a 1|b"])
            #expect(try await reader.transaction().lines == ["update note old 2|null 3|null", "delete note old 1|b"])
        }
    }

    @Test func aTableWithItsKeyAloneSendsKeys() async throws {
        let tables = "CREATE TABLE note (_id text PRIMARY KEY, title text);"
        try await withChanges(tables: tables) { reader in
            try await reader.connected()
            try await reader.database.psql(
                """
                INSERT INTO note VALUES ('1', 'a'); UPDATE note SET title = 'b'; UPDATE note SET _id = '2';
                DELETE FROM note;
                """
            )
            _ = try await reader.transaction()
            #expect(try await reader.transaction().lines == ["update note 1|b"])
            #expect(try await reader.transaction().lines == ["update note key 1|null 2|b"])
            #expect(try await reader.transaction().lines == ["delete note key 2|null"])
        }
    }

    /// Values in binary form are what a statement returns, so the same code reads both.
    @Test func everyTypeComesInTheFormOfAStatementsResult() async throws {
        let columns = [
            ("bool", "true"), ("int2", "-2"), ("int4", "3"), ("int8", "9007199254740993"), ("float4", "1.5"),
            ("float8", "'NaN'"), ("text", "'äö€🙂'"), ("bytea", "'\\x00ff'"), ("jsonb", "'{\"a\": [1, null]}'"),
            ("json", "'{\"a\":1}'"), ("timestamptz", "'2026-01-02 03:04:05.678901+00'"), ("timestamptz", "'infinity'"),
            ("date", "'2026-01-02'"), ("numeric", "12.50"), ("uuid", "'00000000-0000-0000-0000-000000000001'"),
            ("text[]", "'{a,NULL,\"b c\"}'"), ("int8[]", "'{1,2}'"), ("point", "'(1,2)'"), ("mood", "'sad'"),
            ("positive", "5"), ("pair", "ROW(1, 'x')"), ("text", "NULL"), ("varchar(5)", "'abc'"),
        ]
        let names = columns.indices.map { "c\($0)" }
        let definitions = zip(names, columns).map { "\($0) \($1.0)" }.joined(separator: ", ")
        let tables = """
            CREATE TYPE mood AS ENUM ('sad', 'glad'); CREATE DOMAIN positive AS integer CHECK (VALUE > 0);
            CREATE TYPE pair AS (a integer, b text);
            CREATE TABLE note (\(definitions)); ALTER TABLE note REPLICA IDENTITY FULL;
            """
        try await withChanges(tables: tables) { reader in
            try await reader.connected()
            try await reader.database.psql("INSERT INTO note VALUES (\(columns.map(\.1).joined(separator: ", ")))")
            let transaction = try await reader.transaction()
            let row = try #require(transaction.rows.first)
            let new = try #require(row.new)
            let result = try await reader.client.read("SELECT * FROM note")
            for column in columns.indices {
                let sent = withExtendedLifetime(new) { new.unsafeBytes(column).map { Array($0) } }
                let read = result.withColumn(0, column) { $0.map { Array($0) } }
                #expect(sent == read, "\(columns[column])")
                #expect(new.form(column) == (columns[column].1 == "NULL" ? .null : .binary), "\(columns[column])")
                #expect(row.relation.columns[column].name == names[column])
                // A statement names the type behind a domain.
                #expect(
                    row.relation.columns[column].type == result.columnType(column) || columns[column].0 == "positive"
                )
            }
        }
    }

    @Test func aLargeValueThatStaysIsTakenFromTheOldRow() async throws {
        let tables = """
            CREATE TABLE note (_id text PRIMARY KEY, title text, body text);
            ALTER TABLE note ALTER body SET STORAGE EXTERNAL; ALTER TABLE note REPLICA IDENTITY FULL;
            CREATE TABLE keyed (LIKE note INCLUDING ALL);
            """
        try await withChanges(tables: tables, publication: "CREATE PUBLICATION p FOR TABLE note, keyed") { reader in
            try await reader.connected()
            try await reader.database.psql(
                """
                INSERT INTO note VALUES ('1', 'a', repeat('x', 100000));
                INSERT INTO keyed VALUES ('1', 'a', repeat('x', 100000));
                UPDATE note SET title = 'b'; UPDATE keyed SET title = 'b';
                """
            )
            _ = try await reader.transaction()
            _ = try await reader.transaction()
            for (hasOld, name) in [(true, "note"), (false, "keyed")] {
                let transaction = try await reader.transaction()
                let row = try #require(transaction.rows.first)
                #expect(row.relation.name == name)
                #expect(row.new?.form(2) == .unchanged)
                let length = withExtendedLifetime(row) { row.unsafeNewBytes(2)?.count }
                #expect(length == (hasOld ? 100_000 : nil))
            }
        }
    }

    @Test func truncatesComeInTheirPlace() async throws {
        let tables = "CREATE TABLE note (_id text PRIMARY KEY); CREATE TABLE other (_id text PRIMARY KEY);"
        try await withChanges(tables: tables, publication: "CREATE PUBLICATION p FOR TABLE note, other") { reader in
            try await reader.connected()
            try await reader.database.psql(
                """
                BEGIN; INSERT INTO note VALUES ('1'); TRUNCATE note, other; INSERT INTO note VALUES ('2'); COMMIT;
                """
            )
            let transaction = try await reader.transaction()
            #expect(transaction.lines == ["insert note 1", "insert note 2"])
            #expect(Set(transaction.truncations.map(\.relation.name)) == ["note", "other"])
            #expect(transaction.truncations.map(\.index) == [1, 1])
            #expect(transaction.rowCount == 2)
        }
    }

    @Test func nothingOfWhatWasRolledBackComes() async throws {
        try await withChanges { reader in
            try await reader.connected()
            try await reader.database.psql(
                """
                BEGIN; INSERT INTO note VALUES ('lost', 'x'); ROLLBACK;
                BEGIN; INSERT INTO note VALUES ('1', 'kept'); SAVEPOINT a; INSERT INTO note VALUES ('lost', 'y');
                ROLLBACK TO a; SAVEPOINT b; UPDATE note SET title = 'z'; RELEASE b; COMMIT;
                BEGIN; INSERT INTO note VALUES ('prepared', 'p'); PREPARE TRANSACTION 'q'; ROLLBACK PREPARED 'q';
                BEGIN; INSERT INTO note VALUES ('2', 'p'); PREPARE TRANSACTION 'q'; COMMIT PREPARED 'q';
                """
            )
            let found = try await reader.transactionsUntilNow().map(\.lines)
            #expect(
                found == [
                    ["insert note 1|kept", "update note old 1|kept 1|z"], ["insert note 2|p"],
                ]
            )
        }
    }

    @Test func transactionsThatOverlapComeInTheOrderOfTheirCommits() async throws {
        try await withChanges { reader in
            try await reader.connected()
            try await reader.client.withTransaction(retries: 0) { first in
                try await first.execute("INSERT INTO note VALUES ('first', 'a')")
                try await reader.client.withTransaction(retries: 0) { second in
                    try await second.execute("INSERT INTO note VALUES ('second', 'b')")
                    try await first.execute("INSERT INTO note VALUES ('first again', 'c')")
                }
            }
            let found = try await reader.transactionsUntilNow()
            #expect(
                found.map(\.lines) == [["insert note second|b"], ["insert note first|a", "insert note first again|c"]]
            )
            // The later commit has the lower id, and both are found in full.
            let ids = try await reader.database.psql("SELECT xmin FROM note ORDER BY _id = 'second' DESC, _id")
            #expect(ids.split(separator: "\n").map { UInt32($0) } == [0, 1, 1].map { found[$0].transactionID })
            #expect(found[0].endPosition <= found[1].commitPosition)
        }
    }

    @Test func aTransactionBeyondTheLimitIsCountedAndTheNextOneComes() async throws {
        try await withChanges {
            $0.changeLimits.rows = 1000
        } _: { reader in
            try await reader.connected()
            try await reader.database.psql(
                """
                INSERT INTO note SELECT n, 'x' FROM generate_series(1, 20000) AS n;
                INSERT INTO note SELECT 'y' || n, 'x' FROM generate_series(1, 1000) AS n;
                """
            )
            let large = try await reader.transaction()
            #expect(!large.isComplete)
            #expect(large.rows.isEmpty)
            #expect(large.rowCount == 20_000)
            #expect(large.relations.values.map(\.name) == ["note"])
            let next = try await reader.transaction()
            #expect(next.isComplete)
            #expect(next.rows.count == 1000)
        }
    }

    @Test func changesOfATableAreFollowed() async throws {
        try await withChanges { reader in
            try await reader.connected()
            try await reader.database.psql(
                """
                INSERT INTO note VALUES ('1', 'a');
                ALTER TABLE note ADD stars bigint;
                INSERT INTO note VALUES ('2', 'b', 5);
                BEGIN; ALTER TABLE note DROP title; INSERT INTO note VALUES ('3', 6); ALTER TABLE note RENAME TO memo;
                INSERT INTO memo VALUES ('4', 7); COMMIT;
                CREATE TABLE late (_id text PRIMARY KEY);
                BEGIN; ALTER PUBLICATION p ADD TABLE late; INSERT INTO late VALUES ('5'); COMMIT;
                """
            )
            let found = try await reader.transactionsUntilNow().filter { !$0.rows.isEmpty }
            #expect(found.flatMap { $0.rows.map(\.relation.name) } == ["note", "note", "note", "memo", "late"])
            #expect(
                found.flatMap { $0.rows.map { $0.relation.columns.map(\.name).joined(separator: " ") } }
                    == ["_id title", "_id title stars", "_id stars", "_id stars", "_id"]
            )
        }
    }

    @Test func partitionsComeAsTheTableThatTheyAreOf() async throws {
        let tables = """
            CREATE TABLE note (_id text PRIMARY KEY) PARTITION BY HASH (_id);
            CREATE TABLE note_0 PARTITION OF note FOR VALUES WITH (MODULUS 2, REMAINDER 0);
            CREATE TABLE note_1 PARTITION OF note FOR VALUES WITH (MODULUS 2, REMAINDER 1);
            """
        try await withChanges(tables: tables) { reader in
            try await reader.connected()
            try await reader.database.psql("INSERT INTO note VALUES ('1'), ('2'), ('3'), ('4')")
            let transaction = try await reader.transaction()
            #expect(transaction.rows.map(\.relation.name) == ["note", "note", "note", "note"])
        }
    }

    @Test func aPositionComesWithoutChanges() async throws {
        try await withChanges { reader in
            let start = try await reader.connected()
            try await reader.database.psql("CREATE TABLE elsewhere (n integer); INSERT INTO elsewhere VALUES (1)")
            #expect(try await reader.transactionsUntilNow().allSatisfy { $0.rows.isEmpty })
            let confirmed = try await reader.database.psql(
                "SELECT confirmed_flush_lsn FROM pg_replication_slots WHERE database = current_database()"
            )
            #expect(try #require(PostgresLSN(confirmed)) >= start)
        }
    }

    @Test func aReaderThatIsBehindHoldsTheStreamUpInBoundedMemory() async throws {
        try await withChanges {
            $0.maximumChangeBytes = 4096
        } _: { reader in
            try await reader.connected()
            for number in 0..<40 {
                try await reader.database.psql("INSERT INTO note VALUES ('\(number)', repeat('x', 1000))")
            }
            try await waiting(until: "the stream is held up") { reader.changes.heldBytes >= 3000 }
            #expect(reader.changes.heldBytes <= 4096)
            let found = try await reader.transactionsUntilNow()
            #expect(found.map { $0.rows.first?.new?.line.prefix(2).filter(\.isNumber) } == (0..<40).map { "\($0)" })
        }
    }

    @Test func aReaderThatIsStuckLosesTheStreamAndGetsAnother() async throws {
        try await withChanges {
            $0.maximumChangeBytes = 4096
            $0.changeReaderTimeout = .milliseconds(100)
        } _: { reader in
            try await reader.connected()
            try await reader.database.psql(
                (0..<10).map { "INSERT INTO note VALUES ('\($0)', repeat('x', 1000));" }.joined()
            )
            try await reader.database.waitUntilNoSlotIsLeft()
            var transactions = 0
            var failure: ReplicationFailure?
            while failure == nil, let event = try await reader.nextNews() {
                switch event {
                case .transaction: transactions += 1
                case .interrupted(let found): failure = found
                default: throw UnexpectedEvent(event: "\(event)")
                }
            }
            #expect((1..<10).contains(transactions))
            #expect(failure?.reason == .slowReader)
            try await reader.connected()
            try await reader.database.psql("DELETE FROM note WHERE _id = '1'")
            #expect(try await reader.transaction().rows.map(\.kind) == [.delete])
        }
    }
}
