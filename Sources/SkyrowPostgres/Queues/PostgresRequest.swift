internal import Synchronization

/// One statement on its way through a pool, and the task that waits for its result.
///
/// It keeps the continuation of that task itself. A `Deferred` would be one more object and lock for each statement.
///
/// `@unchecked Sendable`: `continuation` is set once before ``begin()`` and used by the one who wins
/// ``finish(_:timing:)``, who sets `timing` and `row` before; the counters are touched under the lock of the pool that
/// holds the request.
final class PostgresRequest: @unchecked Sendable {
    private enum Phase {
        static let new: UInt8 = 0
        static let waiting: UInt8 = 1
        static let running: UInt8 = 2
        static let finished: UInt8 = 3
    }

    let sql: SQL
    let groupCommit: PostgresGroupCommit
    private let limit: PostgresRowLimit?
    /// What it may have to wait for inside PostgreSQL, where that is known.
    let contention: PostgresContention?
    private let family: CoalescedStatement?
    let queuedAt: MonotonicTime
    /// When it leaves the queue with an error at the latest.
    let queueDeadline: MonotonicTime
    /// Whether it goes before all others.
    let isUrgent: Bool
    var continuation: UnsafeContinuation<PostgresResult, any Error>?

    /// Its row of the result, once it is finished; nil when it has none.
    private(set) var row: Int?

    /// In how many places it is: a queue or a batch, or several of them when a slow statement held it up.
    var copies = 1
    var isQueued = false
    /// How many connections were lost under it, and how often it met a transient error.
    var losses = 0
    var conflicts = 0
    /// How often it was prepared and the session did not have it, or had it in another form.
    var stales = 0
    /// How it travels, by what is known of the time that statements like it take.
    var pace = StatementPace.quick
    /// When it ran, once it is finished; nil when it never did.
    private(set) var timing: StatementTiming?

    private let phase = Atomic<UInt8>(Phase.new)
    private let cancelRequested = Atomic<Bool>(false)
    private let alone = Atomic<Bool>(false)

    init(
        sql: SQL,
        groupCommit: PostgresGroupCommit,
        limit: PostgresRowLimit? = nil,
        coalescing: CoalescedStatement? = nil,
        contention: PostgresContention? = nil,
        queuedAt: MonotonicTime = .now,
        queueDeadline: MonotonicTime,
        isUrgent: Bool = false
    ) {
        self.sql = sql
        self.groupCommit = groupCommit
        self.limit = limit
        family = coalescing
        self.contention = contention
        self.queuedAt = queuedAt
        self.queueDeadline = queueDeadline
        self.isUrgent = isUrgent
    }

    /// With which others it may be asked in one statement; nil for one that goes by itself.
    var coalescing: CoalescedStatement? { alone.load(ordering: .relaxed) ? nil : family }

    /// What bounds its rows where it goes by itself.
    ///
    /// One that may be coalesced has a row at most, which is counted only once such rows have been found to be long.
    var rowLimit: PostgresRowLimit? { family == nil || alone.load(ordering: .relaxed) ? limit : nil }

    /// Lets it go by itself from now on, because a statement it was coalesced into failed.
    func separate() {
        alone.store(true, ordering: .relaxed)
    }

    var isFinished: Bool { phase.load(ordering: .acquiring) == Phase.finished }

    var isCancelled: Bool { cancelRequested.load(ordering: .sequentiallyConsistent) }

    /// Lets it be taken, now that its continuation is in place; false when its task was cancelled before.
    func begin() -> Bool {
        phase.store(Phase.waiting, ordering: .sequentiallyConsistent)
        return !isCancelled
    }

    /// Marks it as running; false when its task gave up meanwhile.
    func take() -> Bool {
        let (_, phase) = phase.compareExchange(
            expected: Phase.waiting,
            desired: Phase.running,
            ordering: .acquiringAndReleasing
        )
        return phase != Phase.finished
    }

    /// Lets it be taken once more; false when there is no need, or its task was cancelled.
    func release() -> Bool {
        _ = phase.compareExchange(
            expected: Phase.running,
            desired: Phase.waiting,
            ordering: .sequentiallyConsistent
        )
        if isCancelled { finish(.failure(CancellationError())) }
        return !isFinished
    }

    /// Notes that its task was cancelled and resumes it at once if it does not run; returns whether it runs.
    func cancel() -> Bool {
        cancelRequested.store(true, ordering: .sequentiallyConsistent)
        let (exchanged, phase) = phase.compareExchange(
            expected: Phase.waiting,
            desired: Phase.finished,
            ordering: .sequentiallyConsistent
        )
        if exchanged { resume(.failure(CancellationError())) }
        return phase == Phase.running
    }

    /// Resumes the waiting task; the first result counts, later ones are dropped.
    ///
    /// - Parameter row: The row of the result that is meant, which belongs to this result and no other: a read that was
    ///   held up may get two.
    func finish(_ outcome: Result<PostgresResult, any Error>, row: Int? = 0, timing: StatementTiming? = nil) {
        guard phase.exchange(Phase.finished, ordering: .acquiringAndReleasing) != Phase.finished else { return }
        self.timing = timing
        self.row = row
        resume(outcome)
    }

    private func resume(_ outcome: Result<PostgresResult, any Error>) {
        continuation?.resume(with: outcome)
        continuation = nil
    }
}
