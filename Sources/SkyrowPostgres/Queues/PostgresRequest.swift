internal import Synchronization

/// One statement in a pool, and the task that waits for its result.
///
/// It holds the task's continuation itself, because a `Deferred` would be one more object and lock per statement.
///
/// `@unchecked Sendable`: `continuation` is set once before ``begin()`` and used by the one caller for which
/// ``finish(_:timing:)`` succeeds, which sets `timing` and `row` first; the counters are accessed under the lock of the pool that
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
    /// The lock that the statement may have to wait for, if known.
    let contention: PostgresContention?
    private let family: CoalescedStatement?
    /// What runs before the statement; nil for nothing.
    let prelude: PostgresPrelude?
    let queuedAt: MonotonicTime
    /// When the request leaves the queue with an error at the latest.
    let queueDeadline: MonotonicTime
    /// Whether the request goes ahead of all others.
    let isUrgent: Bool
    var continuation: UnsafeContinuation<PostgresResult, any Error>?

    /// The row of the result that belongs to this finished request; nil when it has none.
    private(set) var row: Int?

    /// The number of queues and batches that hold the request; more than one when a slow statement held it up.
    var copies = 1
    var isQueued = false
    /// How many connections were lost while the request ran, and how often it had a transient error.
    var losses = 0
    var conflicts = 0
    /// How often it ran by name and the session had no such statement, or a stale one.
    var stales = 0
    /// Whether it runs in a batch or alone, given the known times of statements of its shape.
    var pace = StatementPace.quick
    /// When it ran, once it is finished; nil when it never ran.
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
        prelude: PostgresPrelude? = nil,
        queuedAt: MonotonicTime = .now,
        queueDeadline: MonotonicTime,
        isUrgent: Bool = false
    ) {
        self.sql = sql
        self.groupCommit = groupCommit
        self.limit = limit
        family = coalescing
        self.contention = contention
        self.prelude = prelude
        self.queuedAt = queuedAt
        self.queueDeadline = queueDeadline
        self.isUrgent = isUrgent
    }

    /// The statement under which the request may be coalesced; nil when it runs alone.
    var coalescing: CoalescedStatement? { alone.load(ordering: .relaxed) ? nil : family }

    /// The row limit of the request when it runs alone.
    ///
    /// A request that may be coalesced has at most one row, which is bounded only after such rows were found to be long.
    var rowLimit: PostgresRowLimit? { family == nil || alone.load(ordering: .relaxed) ? limit : nil }

    /// Makes the request run alone from now on, because the statement it was coalesced into failed.
    func separate() {
        alone.store(true, ordering: .relaxed)
    }

    var isFinished: Bool { phase.load(ordering: .acquiring) == Phase.finished }

    var isCancelled: Bool { cancelRequested.load(ordering: .sequentiallyConsistent) }

    /// Lets workers take the request, now that its continuation is set; returns false when its task was cancelled before.
    func begin() -> Bool {
        phase.store(Phase.waiting, ordering: .sequentiallyConsistent)
        return !isCancelled
    }

    /// Marks the request as running; returns false when its task was cancelled meanwhile.
    func take() -> Bool {
        let (_, phase) = phase.compareExchange(
            expected: Phase.waiting,
            desired: Phase.running,
            ordering: .acquiringAndReleasing
        )
        return phase != Phase.finished
    }

    /// Lets workers take the request again; returns false when it is finished or was cancelled.
    func release() -> Bool {
        _ = phase.compareExchange(expected: Phase.running, desired: Phase.waiting, ordering: .sequentiallyConsistent)
        if isCancelled { finish(.failure(CancellationError())) }
        return !isFinished
    }

    /// Marks the request as cancelled, and resumes its task at once unless the request is running; returns whether it is running.
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

    /// Resumes the waiting task. Only the first result counts.
    ///
    /// - Parameter row: The row of this result that belongs to the request; a read that was held up may get two results.
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
