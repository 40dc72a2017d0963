/// The periodic checks.
extension ConnectionQueue {
    struct Findings {
        var effects: [Effect] = []
        /// Statements that waited too long, and whether others of their table or row blocked them.
        var expired: [(request: PostgresRequest, isHeldBack: Bool)] = []
        /// Single reads that run long.
        var slow: [PostgresRequest] = []
        /// The contention that writes committed alone have been waiting for.
        var held: [PostgresContention] = []
        var isConnected = false
    }

    /// - Parameter progress: The number of results that a worker has received of its batch.
    mutating func enforceTimeLimits(at time: MonotonicTime, progress: (Int) -> Int) -> Findings {
        var findings = Findings()
        findings.expired = expire(at: time).map { ($0, isHeldBack: $0.contention != nil && !leavesConnections($0)) }
        findings.isConnected = connectedCount > 0
        for slot in workers.indices where workers[slot].activity == .working {
            let now = progress(slot)
            if now != workers[slot].progress {
                workers[slot].progress = now
                workers[slot].progressAt = time
            }
            if let groupTimeout = limits.groupTimeout {
                guard workers[slot].takenAt + groupTimeout <= time else { continue }
                findings.effects += evict(slot)
            } else if workers[slot].progressAt + limits.heldUpTimeout <= time {
                if limits.mayRetry {
                    findings.effects += relieve(slot, &findings)
                } else if let contention = workers[slot].contention {
                    findings.held.append(contention)
                }
            }
        }
        findings.effects += retireIdle(at: time)
        findings.effects += dispatch()
        return findings
    }

    private mutating func expire(at time: MonotonicTime) -> [PostgresRequest] {
        func expire(_ queue: inout RequestQueue) -> [PostgresRequest] {
            guard let first = queue.peek(), first.queueDeadline <= time else { return [] }
            return queue.removeAll { $0.isFinished || $0.queueDeadline <= time }
        }
        return expire(&free) + expire(&bounded)
    }

    /// Cancels what a worker runs, at most once per batch.
    private mutating func evict(_ slot: Int) -> [Effect] {
        guard !workers[slot].isEvicted else { return [] }
        workers[slot].isEvicted = true
        return [.cancel(slot, batch: workers[slot].batch)]
    }

    /// Frees reads from waiting behind a slow one.
    ///
    /// The slow statement of a pipeline cannot be identified, because PostgreSQL keeps small results back until the end. The
    /// pipeline is therefore cancelled and each of its statements is tried alone. A statement that runs long alone is slow.
    private mutating func relieve(_ slot: Int, _ findings: inout Findings) -> [Effect] {
        let remaining = workers[slot].taken.dropFirst(workers[slot].progress)
        guard workers[slot].taken.count == 1, let only = workers[slot].taken.first else {
            guard !workers[slot].isEvicted else {
                // PostgreSQL does not stop it. Until it does, the batch counts as slow.
                bind(slot, to: nil)
                return []
            }
            let waiting = remaining.filter { !$0.isQueued && !$0.isFinished }
            for request in waiting {
                request.copies += 1
                if request.pace == .quick { request.pace = .unproven }
            }
            statistics.retried += waiting.count
            return evict(slot) + requeue(waiting)
        }
        if !workers[slot].isBounded {
            bind(slot, to: only.contention)
            markSlow(like: only)
            findings.slow.append(only)
        }
        guard !workers[slot].isEvicted, isOneTooMany(slot) else { return [] }
        guard !only.isFinished, !only.isQueued else { return evict(slot) }
        only.copies += 1
        statistics.retried += 1
        return evict(slot) + requeue([only])
    }

    /// Marks waiting statements with the same text as slow, too.
    private mutating func markSlow(like slow: PostgresRequest) {
        slow.pace = .slow
        let alike = free.removeAll { $0.sql.hasSameText(as: slow.sql) }
        for request in alike { request.pace = .slow }
        for request in alike { bounded.append(request) }
    }

    /// Ends workers above the minimum that have been idle for long; those that worked last stay.
    private mutating func retireIdle(at time: MonotonicTime) -> [Effect] {
        for slot in idle {
            if case .idle(nil) = workers[slot].activity { workers[slot].activity = .idle(since: time) }
        }
        var effects: [Effect] = []
        var surplus = workerCount - workers.count { $0.activity == .retiring } - limits.minimumWorkers
        for slot in idle {
            guard surplus > 0 else { break }
            guard case .idle(let since?) = workers[slot].activity, since + limits.idleTimeout <= time else { continue }
            effects.append(retire(slot))
            surplus -= 1
        }
        return effects
    }
}
