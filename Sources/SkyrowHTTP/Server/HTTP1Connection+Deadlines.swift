import NIOCore
import NIOHTTP1

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
        if let nextDepartureCheck, now >= nextDepartureCheck {
            self.nextDepartureCheck = now + loop.limits.departureCheck
            checkDeparture()
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

    /// Sends the client of the current request an interim response. A client that closed its side and waits takes no
    /// notice of it (RFC 9110, 15.2); the system of one that is gone sends a reset, which closes the connection
    /// and cancels the request. Nothing else distinguishes the two.
    private func checkDeparture() {
        guard let current, current.head.version.major == 1, current.head.version.minor > 0, stall == nil, let context
        else { return }
        var buffer = context.channel.allocator.buffer(capacity: 32)
        buffer.writeStaticString("HTTP/1.1 102 Processing\r\n\r\n")
        context.writeAndFlush(wrapOutboundOut(buffer), promise: nil)
    }

    /// Starts the clock for a client that has bytes to read.
    func expectProgress() {
        stall = context.map { Stall(of: $0.channel) }
    }
}
