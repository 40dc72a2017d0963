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
            var stuck = 0
            var rescued: [PostgresRequest] = []
            for worker in state.workers {
                guard !worker.taken.isEmpty, worker.takenAt + Self.rescueDelay < time else { continue }
                stuck += 1
                for request in worker.taken.dropFirst(worker.progress + 1)
                where !request.isRescued && !request.isFinished {
                    request.copies += 1
                    rescued.append(request)
                }
            }
            if !rescued.isEmpty {
                state.queue.prepend(rescued)
                state.statistics.rescued += rescued.count
            }
            guard !state.queue.isEmpty else { return }
            if stuck == state.workers.count, stuck < maximumWorkers, state.connectedWorkers == stuck {
                addWorker(&state)
            }
            monitor.broadcast()
        }
    }
}
