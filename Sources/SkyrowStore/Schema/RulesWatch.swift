internal import SkyrowConcurrency
internal import SkyrowModel
internal import SkyrowPostgres
internal import SkyrowSystem
internal import Synchronization

/// Whether the rules of types that this process goes by are those of the tables, asked again and again: notices of changes may
/// get lost on the way.
final class RulesWatch: Sendable {
    private struct State {
        /// How often the rules had changed when the catalogue was read.
        var version: Int64?
        /// When that was last found to be so; nil while nothing is watched.
        var knownAt: ContinuousClock.Instant?
        /// Why the last look found nothing out; nil where it did, or is the first.
        var failure: RulesFailure?
        /// Whether there may be users with a list of their own for new records.
        var hasDefaultLists = false
    }

    private let client: PostgresClient
    private let schema: SQLIdentifier
    private let interval: Duration?
    private let patience: Duration
    private let state = Mutex(State())
    private let waiting = WaitingTasks<OneKey>()

    /// How long a request waits for a look that is under way or overdue, as after a moment at which the machine stood still.
    private static let pause: Duration = .seconds(2)

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
    /// - Parameter reload: reads the catalogue again.
    func run(_ reload: () async throws -> Void) async {
        guard let interval else { return }
        state.withLock { $0.knownAt = .now }
        defer {
            state.withLock { $0.knownAt = nil }
            waiting.wake()
        }
        while (try? await ServiceTimer.sleep(for: interval)) != nil { await look(reload) }
    }

    /// Asks once; false where there was no answer.
    ///
    /// - Parameter reload: reads the catalogue again.
    @discardableResult
    func look(_ reload: () async throws -> Void) async -> Bool {
        let start = ContinuousClock.now
        defer { waiting.wake() }
        do {
            guard let found = try await found() else { throw SkyrowError.rulesUnreadable }
            if state.withLock({ $0.version }) != found.version { try await reload() }
            state.withLock {
                $0.failure = nil
                $0.version = found.version
                // Another look may have begun later and ended earlier.
                $0.knownAt = $0.knownAt.map { max($0, start) }
                $0.hasDefaultLists = $0.hasDefaultLists || found.hasDefaultLists
            }
            return true
        } catch {
            state.withLock { $0.failure = RulesFailure(error) }
            return false
        }
    }

    /// How long ago it was found that they are; nil while nothing is watched.
    var age: Duration? { state.withLock { $0.knownAt }.map { ContinuousClock.now - $0 } }

    /// Throws where it has not been known for a while what the rules are, since old ones may show what is hidden by now: `135
    /// Overloaded` for what passes by itself, and `10002 UnexpectedUnableToOpenDatabase` where PostgreSQL has no rules to show.
    func requireKnown() async throws(SkyrowError) {
        guard isOverdue else { return }
        await waiting.wait {
            try await ServiceTimer.sleep(for: Self.pause)
        } unless: {
            !isOverdue || failure != nil
        }
        guard isOverdue else { return }
        throw (failure ?? .passing(.databaseBusy)).refusal
    }

    private var isOverdue: Bool { age.map { $0 > patience } ?? false }
    private var failure: RulesFailure? { state.withLock { $0.failure } }

    /// nil where the number is gone, which is as if it could not be read.
    private func found() async throws -> (version: Int64, hasDefaultLists: Bool)? {
        let result = try await client.readUrgently(
            """
            SELECT value, EXISTS (SELECT FROM \(schema.internal)._version WHERE name = 'default_lists')
            FROM \(schema.internal)._version WHERE name = 'rules'
            """
        )
        guard !result.isEmpty else { return nil }
        return (try result.decode(row: 0, column: 0), try result.decode(row: 0, column: 1))
    }
}

/// Why it could not be found out what the rules are.
enum RulesFailure: Hashable, Sendable {
    /// PostgreSQL is busy, stands still or is away.
    case passing(SkyrowError)
    /// It answers, and not with rules.
    case lasting

    init(_ error: any Error) {
        switch error {
        case is CancellationError: self = .passing(.databaseUnavailable)
        case let error as PostgresError: self.init(SkyrowError(error))
        case let error as SkyrowError: self.init(error)
        default: self = .lasting
        }
    }

    private init(_ error: SkyrowError) {
        switch error.code {
        case .overloaded: self = .passing(error)
        case .responseTimeout, .outcomeUnknown: self = .passing(.databaseBusy)
        default: self = .lasting
        }
    }

    /// What a request gets.
    var refusal: SkyrowError {
        switch self {
        case .passing(let error): error
        case .lasting: .rulesUnreadable
        }
    }
}

extension SkyrowError {
    fileprivate static let rulesUnreadable = SkyrowError(
        .unexpectedUnableToOpenDatabase,
        "The rules of access cannot be read at the moment; try again."
    )
}
