/// Which statement may be taken, and which worker is woken or added for it.
extension ConnectionQueue {
    /// Whether a worker with a connection may take this bounded statement now.
    func admits(_ request: PostgresRequest) -> Bool {
        hasRoom(beside: 0, needsConnection: true) && leavesConnections(request)
    }

    /// The index of the oldest bounded statement that may be taken now.
    func admittedPlace() -> Int? {
        guard hasRoom(beside: 0, needsConnection: true) else { return nil }
        var refused: PostgresContention?
        return bounded.place { request in
            // Many consecutive statements may wait for the same lock.
            if let refused, request.contention == refused { return false }
            if leavesConnections(request) { return true }
            refused = request.contention
            return false
        }
    }

    /// Whether one more bounded statement may run.
    ///
    /// - Parameter needsConnection: Whether a connection must be available for it now. If there are several, at least one stays
    ///   free, and `reservedWorkers` of them if possible.
    private func hasRoom(beside others: Int, needsConnection: Bool) -> Bool {
        let running = boundedCount + others
        guard running < limits.boundedWorkers else { return false }
        return !needsConnection
            || connectedCount - running - 1 >= min(limits.reservedWorkers, connectedCount - 1)
    }

    /// - Parameter others: Statements that count as already taken.
    func leavesConnections(_ request: PostgresRequest, beside others: [PostgresRequest] = []) -> Bool {
        guard let contention = request.contention, boundedCount + others.count >= limits.rowWorkers else { return true }
        var ofTable = 0
        var ofRow = 0
        func count(_ other: PostgresContention?) {
            guard let other, other.table == contention.table else { return }
            ofTable += 1
            if let row = contention.row, row == other.row { ofRow += 1 }
        }
        for worker in workers where worker.isBounded { count(worker.contention) }
        for other in others { count(other.contention) }
        return ofTable < limits.tableWorkers && ofRow < limits.rowWorkers
    }

    /// Whether the bounded statement of a worker exceeds the limits, given those of the other workers.
    func isOneTooMany(_ slot: Int) -> Bool {
        if boundedCount > limits.boundedWorkers { return true }
        guard let contention = workers[slot].contention else { return false }
        return workers.count { $0.isBounded && $0.contention?.table == contention.table } > limits.tableWorkers
    }

    /// The number of bounded statements that could be taken one after another, given enough workers.
    ///
    /// - Parameter needsConnection: Whether to count only statements for which a connection is available.
    private func admissible(upTo limit: Int, needsConnection: Bool) -> Int {
        guard limit > 0, !bounded.isEmpty else { return 0 }
        var taken: [PostgresRequest] = []
        var refused: PostgresContention?
        bounded.visit { request in
            guard hasRoom(beside: taken.count, needsConnection: needsConnection) else { return false }
            if let refused, request.contention == refused { return true }
            if leavesConnections(request, beside: taken) {
                taken.append(request)
            } else {
                refused = request.contention
            }
            return taken.count < limit
        }
        return taken.count
    }

    /// The number of statements that wait only because others of their table or row, or slow ones, must end first.
    var heldBackCount: Int {
        var waiting = 0
        bounded.visit { _ in
            waiting += 1
            return true
        }
        return waiting - admissible(upTo: waiting, needsConnection: false)
    }

    mutating func hasWaiting() -> Bool { free.peek() != nil || bounded.peek() != nil }

    /// Wakes or adds a worker for a statement that was just queued and that any worker may take.
    mutating func cover() -> Effect? {
        if lookingCount < count, let slot = idle.last { return wake(slot) }
        guard !limits.mayRetry, workerCount < limits.maximumWorkers, isStarted, backingOffCount == 0 else {
            return nil
        }
        return lookingCount + connectingCount == 0 ? addWorker() : nil
    }

    /// Wakes or adds workers for all waiting statements.
    ///
    /// - Parameter limit: Upper bound on the workers that are woken or added.
    mutating func dispatch(upTo limit: Int = .max) -> [Effect] {
        var effects: [Effect] = []
        guard phase != .closed, isStarted else { return effects }
        // Any worker takes free statements; only a limited number take bounded ones.
        if !idle.isEmpty {
            let wanted = waitingFree(upTo: idle.count + lookingCount)
            let takeable = wanted + admissible(upTo: idle.count + lookingCount - wanted, needsConnection: true)
            while effects.count < limit, lookingCount < takeable, let slot = idle.last { effects.append(wake(slot)) }
        }
        guard backingOffCount == 0 else { return effects }
        while effects.count < limit, workerCount < min(limits.maximumWorkers, wantedWorkers()) {
            effects.append(addWorker())
        }
        return effects
    }

    private mutating func waitingFree(upTo limit: Int) -> Int {
        free.peek() == nil ? 0 : min(limit, free.count)
    }

    /// The number of workers that the waiting and running statements need.
    private mutating func wantedWorkers() -> Int {
        guard workerCount < limits.maximumWorkers else { return workerCount }
        let rest = limits.maximumWorkers - workerCount
        guard limits.mayRetry else {
            let coming = lookingCount + connectingCount
            let waiting =
                limits.boundsEveryStatement
                ? admissible(upTo: coming + rest, needsConnection: false) : min(1, waitingFree(upTo: 1))
            return max(phase == .running ? limits.minimumWorkers : 0, workerCount + waiting - coming)
        }
        // A read connection runs many statements, so only slow ones justify more connections.
        let isWanted = phase == .running || hasWaiting()
        let waiting = admissible(upTo: limits.boundedWorkers, needsConnection: false)
        return isWanted ? limits.minimumWorkers + min(limits.boundedWorkers, boundedCount + waiting) : 0
    }
}
