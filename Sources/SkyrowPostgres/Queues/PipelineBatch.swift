/// Runs a batch of requests as one pipeline with one sync.
///
/// The arrays are scratch memory that is reused from batch to batch.
struct PipelineBatch {
    private let worker: PoolWorker
    private let connection: PostgresConnection
    private var steps: [PipelineStep] = []
    private var outcomes: [StatementOutcome] = []
    /// For each request, its row in the result; nil when it has none.
    private var rows: [Int?] = []
    private var finished: [(PostgresRequest, Result<PostgresResult, any Error>, row: Int?, StatementTiming)] = []
    /// The statements of the batch; each may run several coalesced requests.
    private var statements: [CoalescingPlan.Run] = []
    private var runs: [Int64] = []
    /// When the results that were read last arrived; nil before any are read that needed no wait.
    private var arrival: MonotonicTime?

    init(worker: PoolWorker, connection: PostgresConnection) {
        self.worker = worker
        self.connection = connection
    }

    mutating func run(_ requests: [PostgresRequest], takenAt: MonotonicTime) {
        guard isStillConnected(for: requests) else {
            worker.pool.finished(worker)
            worker.pool.resubmit(requests.map { ($0, .unrelated) })
            return
        }
        connection.gate.begin(requests[0], deadline: hangDeadline(requests, requests.count))
        steps.removeAll(keepingCapacity: true)
        outcomes.removeAll(keepingCapacity: true)
        outcomes.append(contentsOf: repeatElement(.none, count: requests.count))
        rows.removeAll(keepingCapacity: true)
        rows.append(contentsOf: repeatElement(0, count: requests.count))
        runs.removeAll(keepingCapacity: true)
        arrival = nil
        let wasSent = send(requests)
        let outcome = wasSent ? receive(requests, takenAt: takenAt) : BatchOutcome.notSent
        let timing = StatementTiming(takenAt: takenAt, completedAt: arrival ?? .now, pipelined: requests.count)
        if wasSent { runs.append(contentsOf: repeatElement(timing.run, count: requests.count - runs.count)) }
        let wasCancelled = connection.gate.end()
        worker.pool.finished(worker, runs: runs)
        if !wasCancelled, connection.isUsable { noteTimes(requests, timing) }
        settle(requests, outcome: outcome, wasCancelled: wasCancelled, timing: timing)
        resumeFinished()
        // The outcomes would keep the rows in memory until the next batch, which may come late.
        outcomes.removeAll(keepingCapacity: true)
        if connection.isSwollen { connection.gate.markBroken() }
    }

    /// Returns whether the connection is still usable before a write is sent, since a write on a connection that died while idle
    /// has an indeterminate outcome. Reads are checked only after they lost a connection: a server that shuts down closes all of
    /// them, and a connection that was already dead should not count as another loss.
    private func isStillConnected(for requests: [PostgresRequest]) -> Bool {
        switch worker.pool.role {
        case .read:
            guard requests.contains(where: { $0.losses > 0 }) else { break }
            if connection.gate.suspectIfReadable() { connection.checkWhileIdle() }
        case .write, .groupCommit, .transaction, .listen:
            if connection.gate.suspectIfReadable() { connection.checkWhileIdle() }
        }
        return connection.isUsable
    }

    /// The deadline after which an unresponsive server's connection is aborted. A read batch gets a new deadline when the result
    /// of a read has arrived.
    private func hangDeadline(_ requests: [PostgresRequest], _ count: Int) -> MonotonicTime {
        let configuration = worker.pool.configuration
        if let prelude = requests[0].prelude { return .now + prelude.timeLimit + configuration.cancellationTimeout }
        let role = worker.pool.role
        guard let limit = configuration.statementTimeout(of: role) else { return .distantFuture }
        return .now + limit * (role == .read ? 1 : min(count, 4)) + configuration.cancellationTimeout
    }

    /// Returns whether the sync was sent; without it nothing can have been committed.
    private mutating func send(_ requests: [PostgresRequest]) -> Bool {
        statements = CoalescingPlan.runs(of: requests.map(\.coalescing))
        guard (try? connection.sendTransactionSettings(steps: &steps)) != nil else { return false }
        // A request with a prelude is alone in its batch.
        if let prelude = requests[0].prelude {
            do throws(PostgresError) {
                try connection.sendPrelude(prelude.sql, steps: &steps)
            } catch {
                guard error.code != .connectionLost else { return false }
                record(.failure(error, wasRun: false), requests, 0..<1)
                return connection.sync()
            }
        }
        for (index, run) in statements.enumerated() {
            do throws(PostgresError) {
                let isNamed = requests[run.members].allSatisfy { $0.stales < StatementOutcome.maximumRetries }
                try connection.send(statement(of: run, requests), index: index, named: isNamed, steps: &steps)
            } catch {
                guard error.code != .connectionLost else { return false }
                record(.failure(error, wasRun: false), requests, run.members)
            }
        }
        return connection.sync()
    }

    private func statement(of run: CoalescingPlan.Run, _ requests: [PostgresRequest]) throws(PostgresError) -> SQL {
        guard let statement = run.statement else { return requests[run.members.lowerBound].sql }
        guard let bindings = PostgresBindings.coalesced(requests[run.members].map(\.sql.bindings)) else {
            throw PostgresError(code: .misuse, message: "These statements cannot be coalesced")
        }
        return statement.many.binding(bindings)
    }

    /// Records the outcome of a statement for its requests. When a coalesced statement fails, none of its requests fails: each is
    /// retried alone.
    private mutating func record(_ outcome: StatementOutcome, _ requests: [PostgresRequest], _ members: Range<Int>) {
        guard members.count > 1 else {
            outcomes[members.lowerBound] = outcome
            return
        }
        switch outcome {
        case .success(let result):
            for member in members { rows[member] = nil }
            for row in 0..<result.rowCount {
                guard let place = try? result.decode(row: row, column: result.columnCount - 1, as: Int64.self),
                    (1...Int64(members.count)).contains(place)
                else { continue }
                rows[members.lowerBound + Int(place) - 1] = row
            }
            for member in members { outcomes[member] = outcome }
        case .failure:
            for member in members {
                requests[member].separate()
                outcomes[member] = .aborted
            }
        case .none, .stale, .aborted:
            for member in members { outcomes[member] = outcome }
        }
    }

    /// Fills `outcomes` and returns the outcome of the whole batch.
    private mutating func receive(_ requests: [PostgresRequest], takenAt: MonotonicTime) -> BatchOutcome {
        var preparationFailure: PostgresError?
        for (place, step) in steps.enumerated() {
            let limit = rowLimit(of: step, requests)
            if limit != nil { connection.expectSingleRows() }
            if place > 0, worker.pool.role == .read, connection.wouldBlock {
                resumeFinished()
                connection.gate.extend(to: hangDeadline(requests, 1))
            }
            let result = connection.receive(step, limit: limit) { event in
                switch event {
                case .waiting:
                    if !finished.isEmpty { resumeFinished() }
                case .excess:
                    // The remaining rows are useless. The cancel may hit the next statement, which is then retried.
                    connection.gate.cancel(ObjectIdentifier(requests[0]))
                }
            }
            if case .lost(let error) = result { return .lost(error) }
            switch step {
            case .deallocate:
                break
            case .prepare, .settings:
                if case .failure(let error) = result { preparationFailure = error }
            case .prelude:
                if case .failure(var error) = result {
                    error.isOfPrelude = true
                    preparationFailure = error
                }
            case .execute(let index, _, let isFresh):
                let members = statements[index].members
                let outcome = StatementOutcome(result, isFresh: isFresh, preparationFailure: preparationFailure)
                record(outcome, requests, members)
                preparationFailure = nil
                if worker.pool.role == .read, case .success(let result) = outcome {
                    // Results that arrived together have one arrival time, so the clock is read once for all of them.
                    let now = arrival ?? .now
                    arrival = now
                    let timing = StatementTiming(takenAt: takenAt, completedAt: now, pipelined: requests.count)
                    for member in members {
                        finished.append((requests[member], .success(result), rows[member], timing))
                        runs.append(timing.run)
                        // The rest of the batch need not keep the rows in memory.
                        outcomes[member] = .success(.empty)
                    }
                }
                worker.progress = members.upperBound
                if index + 1 < statements.count, statements[index + 1].members.count == 1,
                    requests[members.upperBound].isCancelled
                {
                    // The request was cancelled before the server ran it; the server runs it now.
                    connection.gate.cancel(ObjectIdentifier(requests[0]))
                }
            }
        }
        switch connection.receiveSync() {
        case nil: return .committed
        case .lost(let error): return .lost(error)
        case .failure(let error): return .commitFailed(error)
        case .success, .aborted: return .lost(PostgresError(code: .connectionLost))
        }
    }

    /// The row limit of the response to a step.
    private func rowLimit(of step: PipelineStep, _ requests: [PostgresRequest]) -> PostgresRowLimit? {
        guard case .execute(let index, _, _) = step else { return nil }
        let members = statements[index].members
        guard members.count == 1 else { return PostgresRowLimit(budget: CoalescedRowBudget(), excess: .fails) }
        return requests[members.lowerBound].rowLimit
    }

    /// Decides what happens to each request (``StatementOutcome/disposition(in:)``), and does it.
    private mutating func settle(
        _ requests: [PostgresRequest],
        outcome: BatchOutcome,
        wasCancelled: Bool,
        timing: StatementTiming
    ) {
        let pool = worker.pool
        let failure = pool.role == .groupCommit ? groupFailure(requests, outcome: outcome, timing: timing) : nil
        let overdue = connection.gate.wasOverdue ? current : nil
        var retried: [(request: PostgresRequest, reason: ConnectionQueue.RetryReason)] = []
        var alone: [PostgresRequest] = []
        for (place, (request, statement)) in zip(requests, outcomes).enumerated() {
            let situation = StatementOutcome.Situation(
                role: pool.role,
                outcome: outcome,
                groupFailed: failure != nil,
                isOnlyOne: requests.count == 1,
                wasCancelled: wasCancelled,
                isCancelled: request.isCancelled,
                isReadOnly: request.prelude != nil && pool.role == .read,
                overdue: overdue.map { $0.contains(place) ? .itself : .neighbour } ?? .none,
                losses: request.losses,
                conflicts: request.conflicts
            )
            switch statement.disposition(in: situation) {
            case .alreadyFinished: break
            case .succeed(let result): finished.append((request, .success(result), 0, timing))
            case .fail(let error): finished.append((request, .failure(error), nil, timing))
            case .cancelled: finished.append((request, .failure(CancellationError()), nil, timing))
            case .retry where failure != nil && isBetterAlone(request, at: timing.completedAt): alone.append(request)
            case .retry(let reason): retried.append((request, reason))
            case .reconnectAndRetry:
                connection.gate.markBroken()
                retried.append((request, .conflict))
            case .alone: alone.append(request)
            }
        }
        if !retried.isEmpty { pool.resubmit(retried) }
        if !alone.isEmpty { (pool.fallback ?? pool).resubmit(alone.map { ($0, .unrelated) }) }
    }

    /// The requests of the statement that the server is running.
    private var current: Range<Int> { statements.first { $0.members.contains(worker.progress) }?.members ?? 0..<0 }

    /// Finds the statement that failed the group commit, if it failed, and records the consequences for the next groups and for
    /// statements of the same shape.
    private func groupFailure(
        _ requests: [PostgresRequest],
        outcome: BatchOutcome,
        timing: StatementTiming
    ) -> GroupFailure? {
        let pool = worker.pool
        let failure = GroupFailure(outcomes, outcome: outcome)
        let limit = pool.configuration.groupCommitTimeout.nanoseconds
        switch failure {
        case nil:
            pool.noteGroup({ $0.groupSucceeded(isQuick: timing.run <= limit / 2) }, hasFailed: false)
        case .commit:
            pool.noteGroup({ $0.groupFailed(at: nil) }, hasFailed: true)
        case .statement(let place, .queryCanceled?):
            if !requests[place].isCancelled { pool.times.suspect([requests[place].sql], at: timing.completedAt) }
            pool.noteGroup({ $0.groupTookTooLong(at: place) }, hasFailed: true)
        case .statement(let place, let sqlState):
            if sqlState == .lockNotAvailable, let contention = requests[place].contention {
                pool.times.waited(for: contention, at: timing.completedAt)
            }
            pool.noteGroup({ $0.groupFailed(at: place) }, hasFailed: true)
        }
        return failure
    }

    /// Whether a write would delay its group.
    private func isBetterAlone(_ request: PostgresRequest, at time: MonotonicTime) -> Bool {
        let times = worker.pool.times
        return times.pace(of: request.sql, at: time) != .quick || times.isHeld(request.contention, at: time)
    }

    /// Records the time of a statement that ran alone, and of a pipeline that took long.
    private func noteTimes(_ requests: [PostgresRequest], _ timing: StatementTiming) {
        let times = worker.pool.times
        switch worker.pool.role {
        case .read:
            if requests.count == 1 {
                let isLong = timing.run >= StatementTimes.slowRead.nanoseconds
                times.ran(requests[0].sql, isLong: isLong, at: timing.completedAt)
            } else if timing.run >= StatementTimes.slowPipeline.nanoseconds {
                times.suspect(statements.map { requests[$0.members.lowerBound].sql }, at: timing.completedAt)
            }
        case .write:
            // A write that is not suspected may have waited for a row lock, which is no property of its shape.
            guard times.pace(of: requests[0].sql, at: timing.completedAt) != .quick else { return }
            let isLong = timing.run >= StatementTimes.slowWrite.nanoseconds
            times.ran(requests[0].sql, isLong: isLong, at: timing.completedAt)
        case .groupCommit, .transaction, .listen:
            break
        }
    }

    private mutating func resumeFinished() {
        for (request, outcome, row, timing) in finished { request.finish(outcome, row: row, timing: timing) }
        finished.removeAll(keepingCapacity: true)
        arrival = nil
    }
}
