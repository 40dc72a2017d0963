import NIOCore

extension HTTP1Connection {
    /// Looks at the clock on behalf of this connection, a few times a second.
    func checkDeadlines(now: NIODeadline) {
        if let shutdown, now >= shutdown.all {
            close()
            return
        }
        if let channel = context?.channel, stall?.isOver(now: now, patience: loop.patience, on: channel) == true {
            close()
            return
        }
        switch phase {
        case .open:
            checkRequests(now: now)
        case .lingering(let until):
            if now >= until { close() }
        case .finishing, .closed:
            break
        }
    }

    private func checkRequests(now: NIODeadline) {
        if let shutdown, isIdle, now >= shutdown.idle {
            // A request that comes even now meets a closed connection, not a reset.
            finish(lingeringFor: loop.limits.lastRequest)
            return
        }
        if bodyIsLate(now: now) { refuse(.requestTimeout, head: nil) }
        if let current, now >= current.deadline {
            if current.isCancelled {
                abandonCurrent()
            } else {
                self.current?.isCancelled = true
                self.current?.deadline = now + loop.limits.cancellation
                current.task?.cancel()
            }
        } else if isIdle, now >= headDeadline {
            close()
        }
    }

    /// Starts the clock for a client that has bytes to read.
    func expectProgress() {
        stall = context.map { Stall(of: $0.channel) }
    }
}
