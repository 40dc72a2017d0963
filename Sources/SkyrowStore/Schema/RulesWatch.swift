internal import SkyrowConcurrency
internal import SkyrowModel
internal import SkyrowPostgres
internal import SkyrowSystem
internal import Synchronization

/// Checks regularly that the rules of types in this process are those of the tables, since notifications of changes may get lost.
final class RulesWatch: Sendable {
    private struct State {
        /// The version of the rules when the catalog was read.
        var version: Int64?
        /// When the version was last found to be current; nil while the watch is not running.
        var knownAt: ContinuousClock.Instant?
        /// Why the last check failed; nil after a success and before the first check.
        var failure: RulesFailure?
        /// Whether users may have default access lists for new records.
        var hasDefaultLists = false
    }

    private let client: PostgresClient
    private let schema: SQLIdentifier
    private let interval: Duration?
    private let patience: Duration
    private let state = Mutex(State())
    private let waiting = WaitingTasks<OneKey>()

    /// How long a request waits for a check that is running or overdue, for example after the machine was suspended.
    private static let pause: Duration = .seconds(2)

    /// - Parameters:
    ///   - interval: the time between checks; nil for no checks.
    ///   - patience: the time without a successful check after which the rules count as unknown.
    init(client: PostgresClient, schema: SQLIdentifier, interval: Duration?, patience: Duration) {
        self.client = client
        self.schema = schema
        self.interval = interval
        self.patience = patience
    }

    /// Records the version of the rules, before the catalog is read.
    func begin() async throws {
        guard let found = try await found() else { return }
        state.withLock {
            $0.version = found.version
            $0.hasDefaultLists = $0.hasDefaultLists || found.hasDefaultLists
        }
    }

    /// Whether users may have default access lists for new records: a user has had one since the database was created.
    var hasDefaultLists: Bool { state.withLock { $0.hasDefaultLists } }

    func noteDefaultLists() {
        state.withLock { $0.hasDefaultLists = true }
    }

    /// Checks the rules until the task is cancelled.
    ///
    /// - Parameter reload: reads the catalog again.
    func run(_ reload: () async throws -> Void) async {
        guard let interval else { return }
        state.withLock { $0.knownAt = .now }
        defer {
            state.withLock { $0.knownAt = nil }
            waiting.wake()
        }
        while (try? await ServiceTimer.sleep(for: interval)) != nil { await look(reload) }
    }

    /// Checks once; returns false if the check failed.
    ///
    /// - Parameter reload: reads the catalog again.
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
                // Another check may have started later and ended earlier.
                $0.knownAt = $0.knownAt.map { max($0, start) }
                $0.hasDefaultLists = $0.hasDefaultLists || found.hasDefaultLists
            }
            return true
        } catch {
            state.withLock { $0.failure = RulesFailure(error) }
            return false
        }
    }

    /// The time since the rules were last found to be current; nil while the watch is not running.
    var age: Duration? { state.withLock { $0.knownAt }.map { ContinuousClock.now - $0 } }

    /// Throws if the rules have been unknown for a while, since old rules may show what is hidden by now: `135 Overloaded` for a
    /// transient failure, and `10002 UnexpectedUnableToOpenDatabase` if PostgreSQL responds without rules.
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

    /// Returns nil if the version is missing, which counts as unreadable.
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

/// Why the rules could not be checked.
enum RulesFailure: Hashable, Sendable {
    /// PostgreSQL is busy, hangs or is unavailable.
    case passing(SkyrowError)
    /// PostgreSQL responds, but without rules.
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

    /// The error for a request.
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
        "The access rules cannot be read at the moment; try again."
    )
}
