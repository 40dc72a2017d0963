/// Which statement may be taken, and who has to be woken or added for it.
extension ConnectionQueue {
    /// Whether a bounded statement may be taken now by a worker with a connection.
    func admits(_ request: PostgresRequest) -> Bool {
        hasRoom(beside: 0, needsConnection: true) && leavesConnections(request)
    }

    /// Where the oldest bounded statement is that may be taken now.
    func admittedPlace() -> Int? {
        guard hasRoom(beside: 0, needsConnection: true) else { return nil }
        var refused: PostgresContention?
        return bounded.place { request in
            // Many in a row may wait for the same.
            if let refused, request.contention == refused { return false }
            if leavesConnections(request) { return true }
            refused = request.contention
            return false
        }
    }

    /// Whether one more bounded statement may run.
    ///
    /// - Parameter needsConnection: Whether a connection has to be there for it now. Of several, one at least stays
    ///   free, and as many as there should be if possible.
    private func hasRoom(beside others: Int, needsConnection: Bool) -> Bool {
        let running = boundedCount + others
        guard running < limits.boundedWorkers else { return false }
        return !needsConnection
            || connectedCount - running - 1 >= min(limits.reservedWorkers, connectedCount - 1)
    }

    /// - Parameter others: Statements that are as good as taken.
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

    /// Whether the statement of a worker is one too many beside those of the others.
    func isOneTooMany(_ slot: Int) -> Bool {
        if boundedCount > limits.boundedWorkers { return true }
        guard let contention = workers[slot].contention else { return false }
        return workers.count { $0.isBounded && $0.contention?.table == contention.table } > limits.tableWorkers
    }

    /// How many of the bounded statements could be taken one after the other, if there were workers enough.
    ///
    /// - Parameter needsConnection: Whether only those count for which there are connections.
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

    /// How many statements wait only because others of their table or row, or others that ran long, have to end first.
    var heldBackCount: Int {
        var waiting = 0
        bounded.visit { _ in
            waiting += 1
            return true
        }
        return waiting - admissible(upTo: waiting, needsConnection: false)
    }

    mutating func hasWaiting() -> Bool { free.peek() != nil || bounded.peek() != nil }

    /// Sees to a statement that was queued just now and that any worker may take.
    mutating func cover() -> Effect? {
        if lookingCount < count, let slot = idle.last { return wake(slot) }
        guard !limits.mayRetry, workerCount < limits.maximumWorkers, isStarted, backingOffCount == 0 else {
            return nil
        }
        return lookingCount + connectingCount == 0 ? addWorker() : nil
    }

    /// Sees to everything that waits.
    ///
    /// - Parameter limit: The most workers that are woken or added.
    mutating func dispatch(upTo limit: Int = .max) -> [Effect] {
        var effects: [Effect] = []
        guard phase != .closed, isStarted else { return effects }
        // What is free goes to any worker; what is bounded to a limited number.
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

    /// How many workers there should be for what waits and runs.
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
        // Reads are many to a connection, so only those that run long ask for more of them.
        let isWanted = phase == .running || hasWaiting()
        let waiting = admissible(upTo: limits.boundedWorkers, needsConnection: false)
        return isWanted ? limits.minimumWorkers + min(limits.boundedWorkers, boundedCount + waiting) : 0
    }
}
