package import Logging
internal import SkyrowSystem
internal import Synchronization

/// Runs statements on PostgreSQL over a few connections.
///
/// ```swift
/// let client = PostgresClient(configuration: configuration, logger: logger)
/// // elsewhere, for as long as the client is used: try await client.run()
/// let result = try await client.read("SELECT title FROM note WHERE _id = \(id)")
/// ```
///
/// Each connection has a thread, which sends all waiting statements in one pipeline; the calling tasks are resumed
/// from there (Documentation/Decisions/postgres-client.md). Statements that were accepted before `run()` wait
/// for it. Cancelling a task takes its statement out of the queue, or cancels it on the server.
package final class PostgresClient: Sendable {
    package let configuration: PostgresConfiguration
    private let logger: Logger
    private let threads = ThreadGroup()
    private let canceller = StatementCanceller()
    private let signal = ShutdownSignal()
    private let times = StatementTimes()
    let control: BackendControl
    private let reads: ConnectionPool
    private let writes: ConnectionPool
    private let groupCommits: ConnectionPool
    let transactions: TransactionPool
    let sessions: SessionPool
    let changeStreams: ChangeStreamPool
    private let listener: NotificationListener
    let probe: NotificationProbe

    package init(configuration: PostgresConfiguration, logger: Logger) {
        self.configuration = configuration
        self.logger = logger
        let (threads, canceller, times) = (threads, canceller, times)
        let control = BackendControl(configuration: configuration, logger: logger, threads: threads)
        self.control = control
        func pool(_ role: ConnectionRole, fallback: ConnectionPool? = nil) -> ConnectionPool {
            ConnectionPool(
                role: role,
                configuration: configuration,
                logger: logger,
                threads: threads,
                canceller: canceller,
                times: times,
                control: control,
                fallback: fallback
            )
        }
        reads = pool(.read)
        writes = pool(.write)
        groupCommits = pool(.groupCommit, fallback: writes)
        transactions = TransactionPool(
            configuration: configuration,
            threads: threads,
            canceller: canceller,
            control: control
        )
        sessions = SessionPool(configuration: configuration, threads: threads, canceller: canceller, control: control)
        changeStreams = ChangeStreamPool(
            configuration: configuration,
            threads: threads,
            control: control,
            logger: logger
        )
        let listener = NotificationListener(configuration: configuration, logger: logger)
        self.listener = listener
        probe = NotificationProbe(configuration: configuration, listener: listener, logger: logger)
    }

    /// Runs the client, which owns its threads and connections.
    ///
    /// It returns after ``shutDown()``, when everything that had been accepted is done or the drain timeout has
    /// passed, or soon after its task is cancelled; a silent server does not hold it up. A client runs once.
    package func run() async throws {
        try threads.start(named: "pg-listen") { [listener] in listener.run() }
        let monitor = ThreadGroup()
        try monitor.start(named: "pg-monitor") { [self] in
            var shutdown = ShutdownDeadlines(drain: configuration.drainTimeout)
            var connects = 0
            canceller.run { time in
                enforceTimeLimits(at: time, &shutdown)
                endBackOffs(after: &connects)
            }
        }
        for pool in [reads, writes, groupCommits] { pool.start() }
        transactions.start()
        await withTaskGroup { group in
            group.addTask { await self.probe.run { _ = try await self.read($0) } }
            await withTaskCancellationHandler {
                await signal.wait()
                drain()
                await threads.wait()
            } onCancel: {
                signal.raise(atOnce: true)
                close()
            }
            group.cancelAll()
        }
        canceller.stop()
        await monitor.wait()
    }

    /// Has ``run()`` end when everything that was accepted is done; what comes later is refused.
    package func shutDown() { signal.raise() }

    /// Runs a statement that changes nothing, and returns its rows.
    ///
    /// The statement may share a pipeline with other reads, and may run more than once: after a lost connection, or when a slow
    /// statement of the same pipeline delays it.
    ///
    /// - Parameters:
    ///   - limit: Bounds the rows in memory.
    ///   - contention: The table whose lock the statement may have to wait for.
    ///   - prelude: What runs before the statement. With it the statement counts as one that runs long, so that it leaves
    ///     connections to others.
    /// - Throws: ``PostgresError``, or `CancellationError`.
    package func read(
        _ sql: SQL,
        limit: PostgresRowLimit? = nil,
        contention: PostgresContention? = nil,
        prelude: PostgresPrelude? = nil
    ) async throws -> PostgresResult {
        try await run(read(sql, limit: limit, contention: contention, prelude: prelude, at: .now), in: reads)
    }

    /// Runs a quick read ahead of all waiting ones. It is for the service's own queries and ignores the queue's length limit.
    ///
    /// - Throws: as ``read(_:limit:contention:)``.
    package func readUrgently(_ sql: SQL) async throws -> PostgresResult {
        try await run(read(sql, limit: nil, contention: nil, isUrgent: true, at: .now), in: reads)
    }

    private func read(
        _ sql: SQL,
        limit: PostgresRowLimit?,
        coalescing: CoalescedStatement? = nil,
        contention: PostgresContention?,
        prelude: PostgresPrelude? = nil,
        isUrgent: Bool = false,
        at time: MonotonicTime
    ) -> PostgresRequest {
        let request = PostgresRequest(
            sql: sql,
            groupCommit: .never,
            limit: limit,
            coalescing: coalescing,
            contention: contention,
            prelude: prelude,
            queuedAt: time,
            queueDeadline: time + configuration.acquireTimeout,
            isUrgent: isUrgent
        )
        guard prelude == nil else {
            request.pace = .slow
            return request
        }
        // An urgent read does not queue behind slow ones, even when its shape was slow before, as on a busy machine.
        if !isUrgent { request.pace = times.pace(of: sql, at: time) }
        return request
    }

    /// Runs a read-only statement that returns at most one row. Waiting reads of the
    /// same coalesced statement are sent as one statement.
    ///
    /// - Throws: as ``read(_:limit:contention:)``.
    package func readOne(
        _ sql: SQL,
        coalescing: CoalescedStatement,
        limit: PostgresRowLimit? = nil,
        contention: PostgresContention? = nil
    ) async throws -> PostgresRow? {
        let request = read(sql, limit: limit, coalescing: coalescing, contention: contention, at: .now)
        let result = try await run(request, in: reads)
        guard let row = request.row, row < result.rowCount else { return nil }
        return PostgresRow(result: result, index: row)
    }

    /// Runs one statement that writes, and returns after its commit.
    ///
    /// - Parameters:
    ///   - groupCommit: Whether the write may be committed together with others, which is much cheaper. The statement must then
    ///     be independent of all others, in any order, and must not manage transactions.
    ///   - limit: Bounds the rows in memory; it must be a limit that keeps columns, since the write takes effect either way.
    ///   - contention: The table and row whose lock the statement may have to wait for.
    ///   - prelude: What runs before the statement, which then cannot be part of a group commit.
    /// - Throws: ``PostgresError``, or `CancellationError`. The code `indeterminateCommit` means that the connection was lost
    ///   when the statement may or may not have been committed; such a statement is never retried. With every other code the
    ///   statement had no effect.
    package func write(
        _ sql: SQL,
        groupCommit: PostgresGroupCommit = .never,
        limit: PostgresRowLimit? = nil,
        contention: PostgresContention? = nil,
        prelude: PostgresPrelude? = nil
    ) async throws -> PostgresResult {
        let now = MonotonicTime.now
        let request = PostgresRequest(
            sql: sql,
            groupCommit: prelude == nil ? groupCommit : .never,
            limit: limit,
            contention: contention,
            prelude: prelude,
            queuedAt: now,
            queueDeadline: now + configuration.acquireTimeout
        )
        switch request.groupCommit {
        case .never:
            return try await run(request, in: writes)
        case .allowed, .allowedExcept:
            // A write that would delay its group is committed alone.
            let isQuick = times.pace(of: sql, at: now) == .quick && !times.isHeld(contention, at: now)
            return try await run(request, in: isQuick ? groupCommits : writes)
        }
    }

    /// Runs `body` in a transaction, commits when it returns and rolls back when it throws.
    ///
    /// ```swift
    /// try await client.withTransaction(isolation: .serializable) { transaction in
    ///     try await transaction.execute("UPDATE account SET balance = balance - \(sum) WHERE _id = \(from)")
    ///     try await transaction.execute("UPDATE account SET balance = balance + \(sum) WHERE _id = \(to)")
    /// }
    /// ```
    ///
    /// - Parameter retries: How often `body` is run again, from the start and in a new transaction, after a
    ///   serialization failure, a deadlock, or a connection that was lost before the commit.
    /// - Parameter isTimed: Whether the statements have the configured time limit. Schema changes at startup have none, since
    ///   they take longer the larger the tables are.
    /// - Throws: The error of `body` unchanged; otherwise as ``write(_:groupCommit:contention:)``.
    package func withTransaction<Success>(
        isolation: PostgresIsolation = .readCommitted,
        retries: Int = 3,
        isTimed: Bool = true,
        _ body: (PostgresTransaction) async throws -> Success
    ) async throws -> Success {
        var random = SystemRandomNumberGenerator()
        var backoff = ReconnectBackoff()
        while true {
            let worker = try await transactions.acquire()
            let transaction = PostgresTransaction(worker: worker, isolation: isolation, isTimed: isTimed)
            do {
                let success = try await body(transaction)
                try await transaction.commit()
                transactions.release(worker)
                return success
            } catch {
                await transaction.rollBack()
                transactions.release(worker)
                guard transaction.hasTransientFailure, backoff.failures < retries else { throw error }
                // The pause keeps colliding transactions from colliding again at once.
                try await ServiceTimer.sleep(for: backoff.next(using: &random))
            }
        }
    }

    /// Feeds `COPY … FROM STDIN` in its own transaction, and returns the number of rows; on an error no row is stored.
    package func copyIn<Chunks: AsyncSequence>(_ statement: SQL, chunks: Chunks) async throws -> Int
    where Chunks.Element == [UInt8] {
        try await withTransaction(retries: 0) { try await $0.copyIn(statement, chunks: chunks) }
    }

    /// The notifications that other sessions send on a channel with NOTIFY; the first event is `connected`.
    package func listen(_ channel: SQLIdentifier) -> PostgresNotifications {
        probe.begin()
        return listener.subscribe(to: channel)
    }

    /// Whether statements can be expected to run now. Cheap to read; it may lag slightly behind.
    package var isReady: Bool { reads.isConnected }

    /// The number of reads and of writes that wait for a lock held by others, while
    /// free connections are reserved for other statements.
    package var heldBack: (reads: Int, writes: Int) {
        (reads.heldBackCount, writes.heldBackCount + groupCommits.heldBackCount)
    }

    /// Whether notifications arrive, as far as is known. When they do not, caches of database contents must be revalidated.
    package var notificationsArrive: Bool { probe.verdict != .silent }

    package var statistics: PostgresStatistics {
        var statistics = PostgresStatistics()
        statistics.abandonedStatements = control.abandonedCount
        statistics.reads = reads.statistics
        statistics.writes = writes.statistics
        statistics.groupCommits = groupCommits.statistics
        statistics.slowShapes = times.slowShapes
        transactions.addStatistics(to: &statistics)
        return statistics
    }

    private func run(_ request: PostgresRequest, in pool: ConnectionPool) async throws -> PostgresResult {
        do {
            let result = try await withTaskCancellationHandler {
                try await withUnsafeThrowingContinuation { continuation in
                    request.continuation = continuation
                    pool.submit(request)
                }
            } onCancel: {
                cancelRunning(request, in: pool)
            }
            report(request, queue: pool.role)
            return result
        } catch {
            report(request, queue: pool.role, failure: error)
            throw error
        }
    }

    private func report(_ request: PostgresRequest, queue: ConnectionRole, failure: (any Error)? = nil) {
        guard let reporting = configuration.reporting else { return }
        reporting.note(
            request.sql.text,
            queue: queue,
            queuedAt: request.queuedAt,
            timing: request.timing,
            failure: failure
        )
    }

    private func cancelRunning(_ request: PostgresRequest, in pool: ConnectionPool) {
        guard request.cancel() else { return }
        let places: [ConnectionPool]
        var patience: Duration?
        switch pool.role {
        case .read:
            // The outcome of a cancelled read does not matter to the caller.
            request.finish(.failure(CancellationError()))
            places = [reads]
            patience = configuration.cancellationTimeout
        case .write, .transaction, .listen, .groupCommit:
            // A group commit is not cancelled for one member: the time limit of the group ends it soon enough.
            places = [writes]
        }
        canceller.submit { [patience] in
            for place in places {
                guard let (gate, batch) = place.runningPlace(of: request) else { continue }
                gate.cancel(ObjectIdentifier(batch), patience: patience)
                return true
            }
            return false
        }
    }

    /// Ends the reconnect back-off of all workers after any connection was opened.
    private func endBackOffs(after connects: inout Int) {
        let pools = [reads, writes, groupCommits]
        let count = pools.reduce(0) { $0 + $1.connects }
        guard count > connects else { return }
        connects = count
        for pool in pools { pool.endBackOffs() }
    }

    /// Enforces the time limits of what has no thread for that, ten times a second.
    private func enforceTimeLimits(at now: MonotonicTime, _ shutdown: inout ShutdownDeadlines) {
        for pool in [reads, writes, groupCommits] { pool.enforceTimeLimits(at: now) }
        transactions.enforceTimeLimits(at: now)
        sessions.enforceTimeLimits(at: now)
        listener.enforceTimeLimits(at: now)
        control.enforceTimeLimits(at: now)
        times.forget(at: now)
        switch shutdown.step(at: now, signal.level) {
        case .none: break
        case .close: close()
        case .leave:
            let threads = threads.abandon()
            if threads > 0 {
                logger.warning(
                    "The database does not respond; shutting down without it",
                    metadata: ["threads": "\(threads)"]
                )
            }
        }
    }

    private func drain() {
        for pool in [groupCommits, writes, reads] { pool.drain() }
        transactions.drain()
        sessions.drain()
        changeStreams.stop()
        listener.stop()
        control.drain()
    }

    private func close() {
        for pool in [groupCommits, writes, reads] { pool.close() }
        transactions.close()
        sessions.close()
        changeStreams.stop()
        listener.close()
        control.close()
    }
}
