import SkyrowModel
import SkyrowPostgres
import SkyrowProtocol
import SkyrowTestSupport
import Testing

@testable import SkyrowStore

/// Transactions that overlap, stay open, and end in another order than they began.
@Suite(.timeLimit(.minutes(60))) struct ChangeOverlapTests {
    /// T2 takes its id, T1 takes a later one, updates the record and commits, T2 updates the same record and commits.
    @Test func aRevisionThatGoesBackwardsIsSeen() async throws {
        try await withRecords { f in
            try await f.psql("INSERT INTO note (_id, title) VALUES ('1', 'old')")
            var reader = FeedReader(f.store, .anonymous)
            try await reader.catchUp()
            try await f.client.withTransaction { second in
                _ = try await second.query("SELECT pg_current_xact_id()")
                try await f.psql("UPDATE note SET title = 'first' WHERE _id = '1'")
                try await reader.catchUp()
                #expect(reader.held["note/1"]?["title"] == .string("first"))
                try await second.execute("UPDATE app.note SET title = 'second' WHERE _id = '1'")
            }
            let highest = try #require(reader.revisions["note/1"])
            try await reader.catchUp()
            #expect(reader.held["note/1"]?["title"] == .string("second"))
            #expect(try #require(reader.revisions["note/1"]) < highest)
            // Who reads what is greater than the last number misses it.
            #expect(try await f.psql("SELECT count(*) FROM note WHERE _revision > \(highest)") == "0")
        }
    }

    @Test func aWriterThatStaysOpenHoldsNobodyUp() async throws {
        try await withRecords { f in
            var reader = FeedReader(f.store, .anonymous)
            try await reader.catchUp()
            try await f.client.withTransaction { open in
                try await open.execute("INSERT INTO app.note (_id) VALUES ('open')")
                for number in 1...5 {
                    try await f.psql("INSERT INTO note (_id) VALUES ('\(number)')")
                    try await reader.catchUp()
                    #expect(reader.last.changed.count == 1)
                }
            }
            try await reader.catchUp()
            #expect(reader.ids == ["1", "2", "3", "4", "5", "open"])
            #expect(reader.last.changed.count == 1)
        }
    }

    @Test func anIdThatIsGivenOutASecondTimeIsSeen() async throws {
        let cluster = try await TemporaryCluster.start()
        try await withRecords(on: cluster) { f in
            try await f.psql("INSERT INTO note (_id) VALUES ('1')")
            var reader = FeedReader(f.store, .anonymous)
            // As after a crash that took ids back which a token has: the next start counts from lower ones.
            try await reader.catchUp()
            let token = try #require(reader.token.flatMap { ChangeToken(text: $0) })
            var ahead = token
            ahead.transactions = TransactionSet(end: token.transactions.end + 1000)
            reader.go(to: .since(ahead.text))
            try await f.psql("INSERT INTO note (_id) VALUES ('lost')")
            try await reader.catchUp()
            #expect(reader.ids == ["1"], "Without another start the token has seen that revision.")
            reader.go(to: .since(ahead.text))
            // Another start than the one of the offset.
            try await cluster.restart()
            try await f.psql("INSERT INTO note (_id) VALUES ('found')")
            try await readAfterCrash(&reader)
            #expect(reader.ids == ["1", "found"])
            #expect(try await f.psql("SELECT started_at = pg_postmaster_start_time() FROM _meta") == "t")
            try await f.psql("INSERT INTO note (_id) VALUES ('after')")
            try await reader.catchUp()
            #expect(reader.ids == ["1", "after", "found"])
            #expect(
                try await f.psql(
                    "SELECT max(_revision) - min(_revision) < 1000 FROM note WHERE _id IN ('found', 'after')"
                )
                    == "t"
            )
        }
    }

    enum Crash: CaseIterable, Sendable {
        case ofAll
        /// PostgreSQL goes on by itself, with the same start.
        case ofOneProcess
    }

    /// A transaction ends, and its id is taken back by a crash and given out again.
    @Test(arguments: Crash.allCases) func anIdThatACrashTakesBackIsSeenAgain(_ crash: Crash) async throws {
        let cluster = try await TemporaryCluster.start(settings: ["autovacuum": "off"])
        @Sendable func fail() async throws {
            switch crash {
            case .ofAll: try await cluster.restart()
            case .ofOneProcess: try await cluster.killOneProcess()
            }
        }
        try await withRecords(on: cluster) { f in
            func number(_ question: String) async throws -> Int64 {
                try #require(try await Int64(f.psql(question).split(separator: "\n").last.map(String.init) ?? ""))
            }
            try await f.psql("INSERT INTO note (_id) VALUES ('1')")
            var reader = FeedReader(f.store, .anonymous)
            try await reader.catchUp()
            try await cluster.stopLogWriter()
            // What is not on the disk is lost, and a reader by number has seen its number.
            let lost = try await number(
                "SET synchronous_commit = off; INSERT INTO note (_id) VALUES ('lost') RETURNING pg_current_xact_id()"
            )
            try await fail()
            let again = try await number("INSERT INTO note (_id) VALUES ('again') RETURNING pg_current_xact_id()")
            #expect(again == lost)
            #expect(try await f.psql("SELECT count(*) FROM note WHERE _id = 'lost'") == "0")
            try await readAfterCrash(&reader)
            #expect(reader.ids == ["1", "again"])
            // A transaction rolls back, and a token of then has it where there is something new. Otherwise it stays as it was.
            var expected = ["1", "again"]
            for isNew in [false, true] {
                try await cluster.stopLogWriter()
                let undone = try await number(
                    "BEGIN; INSERT INTO note (_id) VALUES ('undone'); SELECT pg_current_xact_id(); ROLLBACK"
                )
                if isNew {
                    try await f.psql("SET synchronous_commit = off; INSERT INTO note (_id) VALUES ('new')")
                    expected.append("new")
                }
                try await reader.catchUp()
                let token = try #require(reader.token.flatMap { ChangeToken(text: $0) })
                let offset = try await number("SELECT revision_offset FROM _meta")
                #expect((token.transactions.end - offset > undone) == isNew)
                try await fail()
                try await f.psql("INSERT INTO note (_id) VALUES ('after \(isNew)')")
                expected.append("after \(isNew)")
                try await readAfterCrash(&reader)
                #expect(reader.ids == expected.sorted())
            }
        }
    }

    /// Reads once the client has connections again.
    private func readAfterCrash(_ reader: inout FeedReader) async throws {
        let deadline = ContinuousClock.now + patience
        while true {
            do {
                try await reader.catchUp()
                return
            } catch let error as SkyrowError where error.code == .overloaded && ContinuousClock.now < deadline {
                try await Task.sleep(for: .milliseconds(20))
            }
        }
    }

    @Test func aPreparedTransactionIsSeenWhenItIsCommitted() async throws {
        let cluster = try await TemporaryCluster.start(settings: ["max_prepared_transactions": "10"])
        try await withRecords(on: cluster) { f in
            var reader = FeedReader(f.store, .anonymous)
            try await reader.catchUp()
            try await f.psql("BEGIN; INSERT INTO note (_id) VALUES ('prepared'); PREPARE TRANSACTION 'p'")
            try await reader.catchUp()
            // Revisions are moved while it waits, twice: it has stamped with the first offset.
            for _ in 0..<2 {
                try await f.psql("SELECT _set_revision_offset(revision_offset + (1::bigint << 32)) FROM _meta")
                try await f.psql("INSERT INTO note DEFAULT VALUES")
                try await reader.catchUp()
            }
            #expect(!reader.ids.contains("prepared"))
            try await f.psql("COMMIT PREPARED 'p'")
            try await reader.catchUp()
            #expect(reader.ids.contains("prepared") && reader.ids.count == 3)
            #expect(reader.last.changed.count == 1)
        }
    }
}
