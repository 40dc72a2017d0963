internal import SkyrowModel
internal import SkyrowPostgres
internal import Synchronization

/// Whether the rules of types that this process goes by are those of the tables, asked again and again: notices of changes may
/// get lost on the way.
final class RulesWatch: Sendable {
    private struct State {
        /// How often the rules had changed when the catalogue was read.
        var version: Int64?
        /// When that was last found to be so; nil while nothing is watched.
        var knownAt: ContinuousClock.Instant?
        /// Whether the question waits for its answer, or the rules are being read, or neither came to an end since too much else was asked.
        var isHeldUp = false
        /// Whether there may be users with a list of their own for new records.
        var hasDefaultLists = false
    }

    private let client: PostgresClient
    private let schema: SQLIdentifier
    private let interval: Duration?
    private let patience: Duration
    private let state = Mutex(State())

    /// - Parameters:
    ///   - interval: how often they are asked for; nil for never.
    ///   - patience: after how long without an answer they count as unknown.
    init(client: PostgresClient, schema: SQLIdentifier, interval: Duration?, patience: Duration) {
        self.client = client
        self.schema = schema
        self.interval = interval
        self.patience = patience
    }

    /// Notes how often the rules have changed, before the catalogue is read.
    func begin() async throws {
        guard let found = try await found() else { return }
        state.withLock {
            $0.version = found.version
            $0.hasDefaultLists = $0.hasDefaultLists || found.hasDefaultLists
        }
    }

    /// Whether there may be users with a list of their own for new records: there was one since the database was made.
    var hasDefaultLists: Bool { state.withLock { $0.hasDefaultLists } }

    func noteDefaultLists() {
        state.withLock { $0.hasDefaultLists = true }
    }

    /// Asks until the task is cancelled.
    ///
    /// - Parameter reload: reads the catalogue again; false when that failed, which is then tried again.
    func run(_ reload: () async -> Bool) async {
        guard let interval else { return }
        state.withLock { $0.knownAt = .now }
        defer { state.withLock { $0.knownAt = nil } }
        while (try? await Task.sleep(for: interval)) != nil { await look(reload) }
    }

    /// Asks once; false where there was no answer.
    ///
    /// - Parameter reload: reads the catalogue again; false when that failed.
    @discardableResult
    func look(_ reload: () async -> Bool) async -> Bool {
        let start = ContinuousClock.now
        state.withLock { $0.isHeldUp = true }
        let answer: (version: Int64, hasDefaultLists: Bool)?
        do {
            answer = try await found()
        } catch {
            state.withLock { $0.isHeldUp = (error as? PostgresError)?.isOfLoad ?? false }
            return false
        }
        var isRead = answer != nil && state.withLock({ $0.version }) == answer?.version
        if answer != nil, !isRead { isRead = await reload() }
        guard let found = answer, isRead else {
            state.withLock { $0.isHeldUp = false }
            return false
        }
        state.withLock {
            $0.isHeldUp = false
            $0.version = found.version
            // Another look may have begun later and ended earlier.
            $0.knownAt = $0.knownAt.map { max($0, start) }
            $0.hasDefaultLists = $0.hasDefaultLists || found.hasDefaultLists
        }
        return true
    }

    /// How long ago it was found that they are; nil while nothing is watched.
    var age: Duration? { state.withLock { $0.knownAt }.map { ContinuousClock.now - $0 } }

    /// Throws `10002 UnexpectedUnableToOpenDatabase` where it has not been known for a while what the rules are: old ones may
    /// show what is hidden by now; `135 Overloaded` where PostgreSQL is there and too busy to say.
    func requireKnown() throws(SkyrowError) {
        let (knownAt, isHeldUp) = state.withLock { ($0.knownAt, $0.isHeldUp) }
        guard let knownAt, .now - knownAt > patience else { return }
        if isHeldUp, client.isReady { throw .databaseBusy }
        throw SkyrowError(
            .unexpectedUnableToOpenDatabase,
            "The rules of access cannot be read at the moment; try again."
        )
    }

    /// nil where the number is gone, which is as if it could not be read.
    private func found() async throws -> (version: Int64, hasDefaultLists: Bool)? {
        let result = try await client.readUrgently(
            """
            SELECT value, EXISTS (SELECT FROM \(schema)._version WHERE name = 'default_lists')
            FROM \(schema)._version WHERE name = 'rules'
            """
        )
        guard !result.isEmpty else { return nil }
        return (try result.decode(row: 0, column: 0), try result.decode(row: 0, column: 1))
    }
}

extension PostgresError {
    /// Whether it is due to what else PostgreSQL is asked.
    fileprivate var isOfLoad: Bool {
        switch code {
        case .acquireTimeout, .overloaded, .statementTimeout: true
        default: false
        }
    }
}
