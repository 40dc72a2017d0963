extension Lane {
    /// How long the statements of a batch wait behind a slow one before other connections take them over.
    static let rescueDelay: Duration = .milliseconds(100)

    /// What has to be looked at from time to time: requests that waited too long, connections that died while idle or
    /// hang, and reads stuck behind a slow one.
    func watch(at time: MonotonicTime) {
        expire(at: time)
        let workers = monitor.withLock(\.workers)
        var suspects = false
        for worker in workers {
            worker.gate.severIfOverdue(at: time)
            if worker.gate.suspectIfReadable() { suspects = true }
        }
        if suspects { monitor.broadcast() }
        switch role {
        case .read: rescue(at: time)
        case .write, .shared, .transaction, .listen: break
        }
    }

    private func expire(at time: MonotonicTime) {
        let (expired, isConnected) = monitor.withLock { state in
            guard let first = state.queue.peek(), first.queueDeadline <= time else {
                return ([PostgresRequest](), true)
            }
            let expired = state.queue.removeAll { $0.isFinished || $0.queueDeadline <= time }
            return (expired, state.connectedWorkers > 0)
        }
        for request in expired {
            request.finish(.failure(PostgresError(code: isConnected ? .acquireTimeout : .cannotConnect)))
        }
    }

    /// Reads can be run twice, so those stuck behind a slow one are queued again for the other connections, of which
    /// one more is opened when all of them are stuck. The first answer counts.
    private func rescue(at time: MonotonicTime) {
        monitor.withLock { state in
            let stuck = state.workers.filter { !$0.taken.isEmpty && $0.takenAt + Self.rescueDelay < time }
            guard !stuck.isEmpty else { return }
            let rescued = heldUp(by: stuck, state)
            for request in rescued { request.copies += 1 }
            state.queue.prepend(rescued)
            state.statistics.rescued += rescued.count
            guard !state.queue.isEmpty else { return }
            if stuck.count == state.workers.count, stuck.count < maximumWorkers, state.connectedWorkers == stuck.count {
                addWorker(&state)
            }
            monitor.broadcast()
        }
    }

    /// The requests that only slow neighbours keep from being run: those that no server works on, that do not wait in
    /// the queue anyway, and that are not in a batch which gets on.
    private func heldUp(by stuck: [LaneWorker], _ state: State) -> [PostgresRequest] {
        var served: Set<ObjectIdentifier> = []
        for worker in state.workers {
            let remaining = worker.taken.dropFirst(worker.progress)
            let isStuck = stuck.contains { $0 === worker }
            for request in isStuck ? remaining.prefix(1) : remaining { served.insert(ObjectIdentifier(request)) }
        }
        var heldUp: [PostgresRequest] = []
        for worker in stuck {
            for request in worker.taken.dropFirst(worker.progress) where !request.isQueued && !request.isFinished {
                if served.insert(ObjectIdentifier(request)).inserted { heldUp.append(request) }
            }
        }
        return heldUp
    }
}
