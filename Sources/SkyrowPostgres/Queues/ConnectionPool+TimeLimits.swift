internal import Synchronization

extension ConnectionPool {
    /// Checks for requests that waited too long, idle connections that died,
    /// connections that hang, and statements that hold up others.
    func enforceTimeLimits(at time: MonotonicTime) {
        let workers = monitor.withLock(\.workers).compactMap(\.self)
        var suspects: [PoolWorker] = []
        for worker in workers {
            worker.gate.abortIfOverdue(at: time)
            if worker.gate.suspectIfReadable() { suspects.append(worker) }
        }
        for worker in suspects { monitor.signal(worker.slot) }
        let findings = change { state in
            let findings = state.queue.enforceTimeLimits(at: time) { [workers = state.workers] in
                workers[$0]?.progress ?? 0
            }
            return (findings, findings.effects)
        }
        for (request, isHeldBack) in findings.expired {
            let sqlState: PostgresSQLState? = isHeldBack ? .lockNotAvailable : nil
            let error =
                findings.isConnected
                ? PostgresError(code: .acquireTimeout, sqlState: sqlState)
                : PostgresError(code: .cannotConnect, message: lastRefusal.withLock { $0 })
            request.finish(.failure(error))
        }
        for request in findings.slow { times.ran(request.sql, isLong: true, at: time) }
        for contention in findings.held { times.waited(for: contention, at: time) }
    }
}
