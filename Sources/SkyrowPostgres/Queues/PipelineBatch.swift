/// Runs the requests that a worker took at once as one pipeline, under one sync.
///
/// The scratch arrays are kept from batch to batch.
struct PipelineBatch {
    private let worker: PoolWorker
    private let connection: PostgresConnection
    private var steps: [PipelineStep] = []
    private var outcomes: [StatementOutcome] = []
    /// The row of the result that belongs to each request; nil for none.
    private var rows: [Int?] = []
    private var finished: [(PostgresRequest, Result<PostgresResult, any Error>, row: Int?, StatementTiming)] = []
    /// The requests that are asked in one statement each.
    private var statements: [CoalescingPlan.Run] = []
    private var runs: [Int64] = []
    /// When the results that were read last arrived; nil once there is nothing to read but to wait.
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
        connection.gate.begin(requests[0], deadline: hangDeadline(requests.count))
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
        // Until the next batch, which may be long in coming, they would keep the rows.
        outcomes.removeAll(keepingCapacity: true)
        if connection.isSwollen { connection.gate.markBroken() }
    }

    /// Looks, before a write is sent, whether the connection died while it was idle: afterwards the write's outcome would
    /// be unknown; and before a read is sent that lost a connection already, since a server that ends takes all of them
    /// along, and a connection that was dead before is none that it lost.
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

    /// A server that does not respond long after its own time limit is cut off. Reads have a limit each, which begins
    /// anew when the result of one has arrived.
    private func hangDeadline(_ count: Int) -> MonotonicTime {
        let configuration = worker.pool.configuration
        let role = worker.pool.role
        guard let limit = configuration.statementTimeout(of: role) else { return .distantFuture }
        return .now + limit * (role == .read ? 1 : min(count, 4)) + configuration.cancellationTimeout
    }

    /// Returns whether the sync was sent, without which nothing can have been committed.
    private mutating func send(_ requests: [PostgresRequest]) -> Bool {
        statements = CoalescingPlan.runs(of: requests.map(\.coalescing))
        guard (try? connection.sendTransactionSettings(steps: &steps)) != nil else { return false }
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

    /// Notes what the statement of these requests came to. One that many were coalesced into fails for none of them:
    /// each is tried alone.
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

    /// Fills `outcomes`; returns what became of the whole.
    private mutating func receive(_ requests: [PostgresRequest], takenAt: MonotonicTime) -> BatchOutcome {
        var preparationFailure: PostgresError?
        for (place, step) in steps.enumerated() {
            let limit = rowLimit(of: step, requests)
            if limit != nil { connection.expectSingleRows() }
            if place > 0, worker.pool.role == .read, connection.wouldBlock {
                resumeFinished()
                connection.gate.extend(to: hangDeadline(1))
            }
            let result = connection.receive(step, limit: limit) { event in
                switch event {
                case .waiting:
                    if !finished.isEmpty { resumeFinished() }
                case .excess:
                    // What is left of the rows would be sent for nothing. It may hit the statement behind it, which is
                    // run again then.
                    connection.gate.cancel(ObjectIdentifier(requests[0]))
                }
            }
            if case .lost(let error) = result { return .lost(error) }
            switch step {
            case .deallocate:
                break
            case .prepare, .settings:
                if case .failure(let error) = result { preparationFailure = error }
            case .execute(let index, _, let isFresh):
                let members = statements[index].members
                let outcome = StatementOutcome(result, isFresh: isFresh, preparationFailure: preparationFailure)
                record(outcome, requests, members)
                preparationFailure = nil
                if worker.pool.role == .read, case .success(let result) = outcome {
                    // What has arrived together has arrived at one time, so the clock is read once for all of it.
                    let now = arrival ?? .now
                    arrival = now
                    let timing = StatementTiming(takenAt: takenAt, completedAt: now, pipelined: requests.count)
                    for member in members {
                        finished.append((requests[member], .success(result), rows[member], timing))
                        runs.append(timing.run)
                        // The rest of the batch need not keep the rows.
                        outcomes[member] = .success(.empty)
                    }
                }
                worker.progress = members.upperBound
                if index + 1 < statements.count, statements[index + 1].members.count == 1,
                    requests[members.upperBound].isCancelled
                {
                    // Its task gave up while it was not its turn; now it is.
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

    /// What bounds the rows of the response to a step.
    private func rowLimit(of step: PipelineStep, _ requests: [PostgresRequest]) -> PostgresRowLimit? {
        guard case .execute(let index, _, _) = step else { return nil }
        let members = statements[index].members
        guard members.count == 1 else { return PostgresRowLimit(budget: CoalescedRowBudget(), excess: .fails) }
        return requests[members.lowerBound].rowLimit
    }

    /// Decides what becomes of each request (``StatementOutcome/disposition(in:)``), and does it.
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

    /// The requests of the statement that the server works on.
    private var current: Range<Int> {
        statements.first { $0.members.contains(worker.progress) }?.members ?? 0..<0
    }

    /// Finds the statement that spoilt the commit of its group, if any was spoilt, and has the next groups and the
    /// statements like it follow from that.
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

    /// Whether a write would hold up the group it was in.
    private func isBetterAlone(_ request: PostgresRequest, at time: MonotonicTime) -> Bool {
        let times = worker.pool.times
        return times.pace(of: request.sql, at: time) != .quick || times.isHeld(request.contention, at: time)
    }

    /// Takes note of a statement that ran by itself, and of a pipeline that took long.
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
            // One that is not suspected may have waited for a row, which says nothing about its shape.
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
