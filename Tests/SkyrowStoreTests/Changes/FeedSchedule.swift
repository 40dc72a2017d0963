import SkyrowModel
import SkyrowPostgres
import SkyrowTestSupport

@testable import SkyrowStore

/// Transactions of several connections at once, one statement after the other in an order that a seed repeats.
struct FeedSchedule {
    private enum State: Equatable {
        case idle
        case open
        /// A statement was refused.
        case failed
    }

    private struct Writer {
        var connection: OpenWriter
        var state = State.idle
        var savepoints = 0
    }

    private let fixture: RecordsFixture
    private let cluster: TemporaryCluster
    private var random: SeededGenerator
    private var writers: [Writer] = []
    private var prepared: [String] = []
    private var preparedCount = 0
    private let seed: UInt64
    /// How often each kind of step was taken.
    private(set) var taken: [String: Int] = [:]

    init(_ fixture: RecordsFixture, on cluster: TemporaryCluster, writers count: Int, seed: UInt64) async {
        self.fixture = fixture
        self.cluster = cluster
        self.seed = seed
        random = SeededGenerator(seed: seed)
        for _ in 0..<count { writers.append(Writer(connection: await connect())) }
    }

    /// Connects, again where the server is away.
    private func connect() async -> OpenWriter {
        let deadline = ContinuousClock.now + patience
        while true {
            let connection = OpenWriter(fixture.client)
            // A row that is locked fails the statement soon, and mostly its transaction.
            let settings = ["SET search_path = app, app_internal, pg_temp", "SET lock_timeout = '5ms'"]
            var outcome = OpenWriter.Outcome.done
            for setting in settings where outcome == .done { outcome = await connection.run(setting) }
            if outcome == .done || ContinuousClock.now > deadline { return connection }
            try? await Task.sleep(for: .milliseconds(20))
        }
    }

    private mutating func note(_ step: String) { taken[step, default: 0] += 1 }

    /// Takes one step of one connection.
    mutating func step() async throws {
        let place = Int.random(in: writers.indices, using: &random)
        switch writers[place].state {
        case .failed:
            if writers[place].savepoints > 0, Bool.random(using: &random) {
                await run(place, "ROLLBACK TO s", "back to a savepoint")
                if writers[place].state == .failed { writers[place].state = .open }
            } else {
                await end(place, "ROLLBACK", "rollback after a refusal")
            }
        case .idle: try await stepOfIdle(place)
        case .open: await stepOfOpen(place)
        }
    }

    private mutating func stepOfIdle(_ place: Int) async throws {
        switch Int.random(in: 0..<12, using: &random) {
        case 0, 1, 2, 3:
            // In a transaction that stays open it would hold up every reader.
            let truncates = Int.random(in: 0..<60, using: &random) == 0
            await alone(place, truncates ? "TRUNCATE note" : statement(), "statement alone")
        case 4, 5, 6, 7, 8:
            await alone(place, "BEGIN", "begin")
            writers[place].state = .open
            writers[place].savepoints = 0
            // Its id is smaller than those of all that begin before its first change.
            if Bool.random(using: &random) { await run(place, "SELECT pg_current_xact_id()", "id taken") }
        case 9, 10:
            guard let name = prepared.randomElement(using: &random) else { return }
            let ends = Int.random(in: 0..<3, using: &random) > 0
            let outcome = await writers[place].connection.run((ends ? "COMMIT" : "ROLLBACK") + " PREPARED '\(name)'")
            if case .done = outcome {
                prepared.removeAll { $0 == name }
                note(ends ? "commit prepared" : "rollback prepared")
            } else {
                await mend(place, outcome)
            }
        default:
            // As the service itself writes.
            let id = "note/own\(Int.random(in: 0..<3, using: &random))"
            let (deletes, stars) = (Bool.random(using: &random), Int64.random(in: 0..<1_000_000, using: &random))
            do {
                if deletes {
                    _ = try await fixture.store.delete([RecordID(id)], in: .everyone, caller: .ann, atomic: false)
                } else {
                    try await fixture.save(id, ["title": .string("a"), "stars": .integer(stars)])
                }
                note("save")
            } catch let error as SkyrowError {
                // A crash has ended its connections.
                guard [.overloaded, .outcomeUnknown].contains(error.code) else { throw error }
            }
        }
    }

    private mutating func stepOfOpen(_ place: Int) async {
        switch Int.random(in: 0..<20, using: &random) {
        case 0..<9: await run(place, statement(), "statement")
        case 9, 10:
            await run(place, "SAVEPOINT s", "savepoint")
            writers[place].savepoints += 1
        case 11, 12:
            guard writers[place].savepoints > 0 else { return }
            if Bool.random(using: &random) {
                await run(place, "ROLLBACK TO s", "back to a savepoint")
            } else {
                await run(place, "RELEASE s", "release")
                writers[place].savepoints -= 1
            }
        case 13..<17: await end(place, "COMMIT", "commit")
        case 17: await end(place, "ROLLBACK", "rollback")
        case 18:
            guard prepared.count < 4 else { return }
            preparedCount += 1
            let name = "p\(seed)-\(preparedCount)"
            if await end(place, "PREPARE TRANSACTION '\(name)'", "prepare") { prepared.append(name) }
        default: break
        }
    }

    // MARK: Statements

    private mutating func statement() -> String {
        let id = "\(Int.random(in: 1...9, using: &random))"
        let title = ["'a'", "'b'", "NULL"].randomElement(using: &random) ?? "NULL"
        let stars = Int.random(in: 0..<1_000_000, using: &random)
        let owner = ["'ann'", "'bob'", "NULL"].randomElement(using: &random) ?? "NULL"
        let list =
            ["NULL", "'{}'", "'{\"public\": \"read\"}'", "'{\"users\": \"read\"}'", "'{\"user:bob\": \"read\"}'"]
            .randomElement(using: &random) ?? "NULL"
        switch Int.random(in: 0..<40, using: &random) {
        case 0..<12:
            return """
                INSERT INTO note (_id, title, stars, _owner, _access) VALUES ('\(id)', \(title), \(stars), \(owner), \(list))
                ON CONFLICT (_id) DO UPDATE SET title = EXCLUDED.title, stars = EXCLUDED.stars
                """
        case 12..<20: return "UPDATE note SET title = \(title), stars = \(stars) WHERE _id = '\(id)'"
        case 20..<24: return "UPDATE note SET _access = \(list) WHERE _id = '\(id)'"
        case 24..<28: return "UPDATE note SET _owner = \(owner), stars = \(stars) WHERE _id = '\(id)'"
        case 28..<35: return "DELETE FROM note WHERE _id = '\(id)'"
        case 35, 36: return "UPDATE note SET _id = '\(Int.random(in: 1...9, using: &random))' WHERE _id = '\(id)'"
        // Without those that the service itself writes, which does not wait for them.
        case 37, 38: return "UPDATE note SET stars = \(stars) WHERE title = 'a' AND _id < 'a'"
        default: return "DELETE FROM note WHERE title = 'b' AND _id < 'a'"
        }
    }

    // MARK: Connections

    private mutating func alone(_ place: Int, _ statement: String, _ step: String) async {
        note(step)
        let outcome = await writers[place].connection.run(statement)
        if case .lost = outcome { await mend(place, outcome) }
    }

    private mutating func run(_ place: Int, _ statement: String, _ step: String) async {
        note(step)
        await mend(place, await writers[place].connection.run(statement))
    }

    @discardableResult
    private mutating func end(_ place: Int, _ statement: String, _ step: String) async -> Bool {
        note(step)
        let outcome = await writers[place].connection.run(statement)
        if case .refused = outcome { note("end refused") }
        writers[place].state = .idle
        writers[place].savepoints = 0
        if case .lost = outcome { await mend(place, outcome) }
        if case .done = outcome { return true }
        return false
    }

    private mutating func mend(_ place: Int, _ outcome: OpenWriter.Outcome) async {
        switch outcome {
        case .done: break
        case .refused: if writers[place].state == .open { writers[place].state = .failed }
        case .lost:
            note("lost")
            writers[place] = Writer(connection: await connect())
        }
    }

    // MARK: Crashes

    /// Ends the server in one of the ways in which it loses what was not yet on the disk, and starts it again.
    mutating func crash() async throws {
        switch Int.random(in: 0..<3, using: &random) {
        case 0:
            note("immediate stop")
            try await cluster.stop(mode: "immediate")
            try await cluster.launch()
        case 1:
            note("kill")
            try await cluster.restart()
        default:
            // PostgreSQL goes on by itself, with the same start.
            note("kill of one process")
            try await cluster.killOneProcess()
        }
        for place in writers.indices { writers[place] = Writer(connection: await connect()) }
    }

    /// Ends all transactions in one way or the other.
    mutating func finish() async {
        for place in writers.indices where writers[place].state != .idle {
            await end(place, Bool.random(using: &random) ? "COMMIT" : "ROLLBACK", "end")
        }
        for name in prepared {
            let word = Bool.random(using: &random) ? "COMMIT" : "ROLLBACK"
            _ = await writers[0].connection.run("\(word) PREPARED '\(name)'")
        }
        prepared = []
    }
}
