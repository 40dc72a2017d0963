import SkyrowModel
import SkyrowPostgres
import SkyrowProtocol
import SkyrowTestSupport
import Synchronization
import Testing

@testable import SkyrowStore

/// A client of the change feed has a token of what the database has lost: the database is in an earlier state.
@Suite(.timeLimit(.minutes(60))) struct PutBackTests {
    enum Way: CaseIterable, Sendable {
        // Nothing is lost.
        case restart
        case crash
        // The data directory is put back to what it was.
        case coldCopy
        case snapshot
        /// A dump is read into the server that it came from, by other means than `skyrow restore`.
        case dump

        var losesWrites: Bool { self != .restart && self != .crash }
    }

    @Test(arguments: Way.allCases) func aTokenOfWhatWasLostIsOfAnotherHistory(_ way: Way) async throws {
        // A later checkpoint than that of the start would come with time alone.
        let cluster = try await TemporaryCluster.start(settings: ["autovacuum": "off", "checkpoint_timeout": "1d"])
        try await withRecords(on: cluster) { f in
            var reader = FeedReader(f.store, .anonymous)
            try await f.psql("INSERT INTO note (_id, title) VALUES ('1', 'kept'), ('2', 'kept')")
            try await reader.catchUp()
            // One that stays away until all is over.
            var early = reader
            let dump = try await copy(way, cluster, f)
            try await catchUp(&reader)
            // Of one transaction each, so that they would have the same revisions.
            try await f.psql("UPDATE note SET title = 'lost' WHERE _id = '1'")
            try await f.psql("INSERT INTO note (_id, title) VALUES ('3', 'lost')")
            try await reader.catchUp()
            #expect(reader.ids == ["1", "2", "3"] && reader.last.reset == nil)

            let resets = Mutex<[String]>([])
            let moments = Mutex(0)
            let source = PollingChangeSource(f.store, interval: .milliseconds(20), rowLimit: 100) {
                [type("note"): [.everyone]]
            }
            try await withRunning {
                await source.run { event in
                    switch event {
                    case .interrupted(let interruption): resets.withLock { $0.append(interruption.reason) }
                    case .moment: moments.withLock { $0 += 1 }
                    default: break
                    }
                }
            } while: {
                try await waiting(until: "the source has begun") { moments.withLock { $0 } > 0 }
                try await putBack(way, dump, cluster, f)
                try await f.psql("UPDATE note SET title = 'new' WHERE _id = '1'")
                try await f.psql("INSERT INTO note (_id, title) VALUES ('4', 'new')")
                let before = moments.withLock { $0 }
                try await waiting(until: "the source goes on") { moments.withLock { $0 } > before + 1 }
            }
            #expect(resets.withLock { $0 } == (way.losesWrites ? ["branch"] : []))

            try await readPage(&reader)
            #expect(reader.last.reset == (way.losesWrites ? .branch : nil))
            if way.losesWrites { try await reader.compare() }
            try await reader.catchUp()
            let expected = try await f.psql("SELECT string_agg(_id || ' ' || title, ', ' ORDER BY _id) FROM note")
            #expect(held(by: reader) == expected)
            try await early.readPage()
            #expect(early.last.reset == (way == .dump ? .branch : nil))
            if way == .dump { try await early.compare() }
            try await early.catchUp()
            #expect(held(by: early) == expected)

            // From here on it is one history, over further starts.
            try await cluster.restart()
            try await f.psql("INSERT INTO note (_id, title) VALUES ('5', 'later')")
            try await readPage(&reader)
            #expect(reader.last.reset == nil && reader.ids.contains("5"))
        }
    }

    /// Where the start of PostgreSQL was noticed too late to say where the log had ended before, clients compare.
    @Test func aStartThatIsNoticedAfterACheckpointEndsTheHistory() async throws {
        let cluster = try await TemporaryCluster.start(settings: ["checkpoint_timeout": "1d"])
        try await withRecords(on: cluster) { f in
            var reader = FeedReader(f.store, .anonymous)
            try await reader.catchUp()
            try await cluster.restart()
            try await f.psql("INSERT INTO note (_id) VALUES ('1'); CHECKPOINT")
            try await readPage(&reader)
            #expect(reader.last.reset == .branch)
            try await reader.compare()
            #expect(reader.ids == ["1"])
            // In time.
            try await cluster.restart()
            try await retrying { try await f.store.followStart() }
            try await f.psql("INSERT INTO note (_id) VALUES ('2'); CHECKPOINT")
            try await reader.catchUp()
            #expect(reader.last.reset == nil && reader.ids == ["1", "2"])
        }
    }

    private func held(by reader: FeedReader) -> String {
        reader.held.sorted { $0.key < $1.key }.map { id, record in
            guard case .string(let title)? = record["title"] else { return id }
            return "\(id.dropFirst(5)) \(title)"
        }.joined(separator: ", ")
    }

    private func copy(_ way: Way, _ cluster: TemporaryCluster, _ f: RecordsFixture) async throws -> String? {
        switch way {
        case .restart, .crash: break
        case .coldCopy: try await cluster.copyData(.cold)
        case .snapshot: try await cluster.copyData(.running)
        case .dump: return try await cluster.dump(schemas: ["app", "app_internal"], of: f.database.name)
        }
        return nil
    }

    private func putBack(_ way: Way, _ dump: String?, _ cluster: TemporaryCluster, _ f: RecordsFixture) async throws {
        switch way {
        case .restart:
            try await cluster.stop()
            try await cluster.launch()
        case .crash: try await cluster.restart()
        case .coldCopy, .snapshot: try await cluster.putBack()
        case .dump:
            try await f.database.psql("DROP SCHEMA app, app_internal CASCADE;\n\(try #require(dump))")
            try await f.store.cache.reload()
        }
    }

    // Once the client has connections again.

    private func catchUp(_ reader: inout FeedReader) async throws {
        var copy = reader
        try await retrying { try await copy.catchUp() }
        reader = copy
    }

    private func readPage(_ reader: inout FeedReader) async throws {
        var copy = reader
        try await retrying { try await copy.readPage() }
        reader = copy
    }

    @discardableResult
    private func retrying<Success>(_ body: () async throws -> Success) async throws -> Success {
        let deadline = ContinuousClock.now + testPatience
        while true {
            do {
                return try await body()
            } catch let error as SkyrowError where error.code == .overloaded && ContinuousClock.now < deadline {
                try await Task.sleep(for: .milliseconds(20))
            } catch let error as PostgresError where ContinuousClock.now < deadline {
                guard error.code != .server else { throw error }
                try await Task.sleep(for: .milliseconds(20))
            }
        }
    }
}
