import NIOCore
import NIOHTTP1

extension HTTP1Connection {
    /// Checks the deadlines of this connection; called a few times a second.
    func checkDeadlines(now: NIODeadline) {
        if let channel = context?.channel, stall?.isOver(now: now, patience: loop.patience, on: channel) == true {
            close()
            return
        }
        perform(sequence.check(now: now, isIdle: isIdle, loop.limits))
        guard sequence.isOpen else { return }
        let isReadHeldBack = heldRead.isHeldBack
        let limits = loop.limits
        let late = arriving?.lifecycle.check(now: now, isReadHeldBack: isReadHeldBack, limits)
        perform(late, isCurrent: false)
        let overdue = current?.exchange.lifecycle.check(now: now, isReadHeldBack: isReadHeldBack, limits)
        perform(overdue, isCurrent: true)
    }

    /// Starts the stall timer of a client that has bytes to read.
    func expectProgress() {
        stall = context.map { Stall(of: $0.channel) }
    }

    // MARK: - Closing

    func perform(_ step: HTTP1Sequence.Step?) {
        guard let step else { return }
        switch step {
        case .finish(let time): finish(lingeringFor: time)
        case .linger: context?.close(mode: .output, promise: nil)
        case .close: close()
        case .probe: probe()
        }
    }

    private func finish(lingeringFor time: TimeAmount?) {
        guard let context else { return }
        let connection = NIOLoopBound(self, eventLoop: loop.eventLoop)
        context.writeAndFlush(wrapOutboundOut(.byteBuffer(ByteBuffer()))).whenComplete { result in
            let connection = connection.value
            let succeeded = if case .success = result { true } else { false }
            connection.perform(connection.sequence.lastWritten(succeeded: succeeded, lingersFor: time, now: .now()))
        }
        hasUnflushedBytes = false
        if sequence.phase == .finishing { expectProgress() }
    }

    /// Checks whether the client of the current request is still there: sends an interim response, or continues its endless
    /// response. A client that only closed its sending side ignores an interim response (RFC 9110, 15.2); the system of a client
    /// that is gone sends a reset, which closes the connection and cancels the request. Without the probe the two cannot be
    /// distinguished.
    private func probe() {
        guard let exchange = current?.exchange, stall == nil else { return }
        if let probe = exchange.probe {
            probe()
            return
        }
        guard exchange.lifecycle.output == .working, exchange.head.version.major == 1, exchange.head.version.minor > 0
        else { return }
        sendInterim("HTTP/1.1 102 Processing\r\n\r\n")
    }

    func inputWasClosed() {
        let now = NIODeadline.now()
        // An incomplete request is dropped; complete ones still get their responses.
        if arriving != nil {
            perform(arriving?.lifecycle.inputClosed(), isCurrent: false)
        } else {
            perform(current?.exchange.lifecycle.inputClosed(), isCurrent: true)
        }
        perform(sequence.inputClosed(isIdle: isIdle, now: now, loop.limits))
    }

    func close() {
        context?.close(promise: nil)
    }

    /// Cleans up after the connection was closed.
    func end() {
        guard sequence.closed() else { return }
        stall = nil
        // A write that has been sent continues in the database.
        _ = current?.exchange.lifecycle.clientLeft()
        endCurrent()
        _ = arriving?.lifecycle.clientLeft()
        arriving?.end()
        arriving = nil
        while let item = queue.popFirst() {
            if case .request(let exchange, _) = item { exchange.end() }
        }
        loop.remove(self)
        onClose()
    }
}
