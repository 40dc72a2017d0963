internal import CLibpq
internal import Glibc
internal import Synchronization

/// What threads other than its own may do to a connection: cancel what it runs, cut it off, look whether it died.
///
/// It outlives the connection it guards, which the thread may close and open again. No call blocks for longer than
/// ``cancelPatience``, however silent the server is.
final class ConnectionGate: Sendable {
    /// Where a cancel is on its way.
    private enum CancelPhase: Sendable {
        case none
        /// It waits for a thread that sends it; it can still be taken back.
        case queued(id: UInt64)
        /// A thread sends it, for as long as the server takes.
        case sending(id: UInt64)
    }

    private struct State: Sendable {
        var descriptor: Int32 = -1
        var handle: CancelHandle?
        var cancel = CancelPhase.none
        /// What runs now; nil while the connection is idle.
        var running: ObjectIdentifier?
        var deadline = MonotonicTime.distantFuture
        /// Something arrived while the connection was idle.
        var isSuspect = false
        /// It cannot be used any more.
        var isBroken = false
        var wasCancelled = false
        /// It was cut off because its statement had not ended in time.
        var wasOverdue = false

        // These survive the connection.
        var lastCancel: UInt64 = 0
        var isAborted = false

        /// Forgets the connection.
        mutating func reset() {
            let (lastCancel, isAborted) = (lastCancel, isAborted)
            self = State()
            self.lastCancel = lastCancel
            self.isAborted = isAborted
        }
    }

    /// How long the end of a statement waits for a cancel that is being sent; then the connection is given up instead.
    static let cancelPatience: Duration = .seconds(3)

    /// What is done about the connection's server process; nil for a connection whose statements are never cancelled.
    let control: BackendControl?
    private let state = Monitor(State())

    init(control: BackendControl? = nil) {
        self.control = control
    }

    /// Takes up a connection. One that was opened after ``abort()`` is cut off at once.
    func open(descriptor: Int32, handle: CancelHandle?) {
        state.withLock { state in
            state.reset()
            state.descriptor = descriptor
            state.handle = handle
            if state.isAborted { shutdown(descriptor, Int32(SHUT_RDWR)) }
        }
    }

    /// Forgets the connection; returns whether its statement was still running when it was cut off.
    func close() -> Bool {
        state.withLock { state in
            defer { state.reset() }
            return state.wasOverdue
        }
    }

    /// Whether something arrived on the idle connection that has not been looked at.
    var isSuspect: Bool { state.withLock(\.isSuspect) }

    /// Whether the connection is known to be of no more use.
    var isBroken: Bool { state.withLock(\.isBroken) }

    /// Whether the connection was cut off because its statement had not ended in time.
    var wasOverdue: Bool { state.withLock(\.wasOverdue) }

    /// Whether this side has cut the connection off for good.
    var isAborted: Bool { state.withLock(\.isAborted) }

    func markBroken() {
        state.withLock { $0.isBroken = true }
    }

    func clearSuspicion() {
        state.withLock { $0.isSuspect = false }
    }

    var isOpen: Bool { state.withLock { $0.descriptor >= 0 } }

    /// Says what runs from now on, and until when it must have ended.
    func begin(_ work: AnyObject, deadline: MonotonicTime) {
        state.withLock { state in
            state.running = ObjectIdentifier(work)
            state.deadline = deadline
            state.wasCancelled = false
        }
    }

    /// Gives the rest of what runs more time, because a part of it has ended.
    func extend(to deadline: MonotonicTime) {
        state.withLock { state in
            if state.running != nil { state.deadline = deadline }
        }
    }

    /// Says that nothing runs any more; returns whether a cancel was sent meanwhile. Waits for one that is under way,
    /// since it could hit the next statement otherwise; when that takes too long, there is no next statement.
    func end() -> Bool {
        let wasCancelled = state.withLock { Self.settle(&$0) }
        if let wasCancelled { return wasCancelled }
        return state.wait(until: .now + Self.cancelPatience) { Self.settle(&$0) } ?? giveUp()
    }

    private static func settle(_ state: inout State) -> Bool? {
        state.running = nil
        state.deadline = .distantFuture
        switch state.cancel {
        case .none:
            return state.wasCancelled
        case .queued:
            state.cancel = .none
            return state.wasCancelled
        case .sending:
            return state.isBroken || state.isAborted || state.wasOverdue ? state.wasCancelled : nil
        }
    }

    private func giveUp() -> Bool {
        markBroken()
        return true
    }

    /// Asks the server to cancel the statement if it is this work that runs; does not wait for the server. Returns
    /// whether it was running.
    ///
    /// - Parameter patience: how long the statement may go on after that, until the connection is cut off.
    @discardableResult
    func cancel(_ work: ObjectIdentifier, patience: Duration? = nil) -> Bool {
        let (isRunning, id) = state.withLock { state -> (Bool, UInt64?) in
            guard state.running == work, state.handle != nil else { return (false, nil) }
            if let patience { state.deadline = min(state.deadline, .now + patience) }
            guard case .none = state.cancel else { return (true, nil) }
            state.lastCancel += 1
            state.cancel = .queued(id: state.lastCancel)
            return (true, state.lastCancel)
        }
        if let id, control?.send({ [self] in sendCancel(id) }) != true { endCancel(id) }
        return isRunning
    }

    /// Has the server give up what the connection runs last: nothing else may run on it. The cancel is sent though the connection is
    /// closed before that.
    func cancelFinally() {
        guard let handle = state.withLock(\.handle) else { return }
        _ = control?.send { handle.send() }
    }

    private func sendCancel(_ id: UInt64) {
        let handle = state.withLock { state -> CancelHandle? in
            guard case .queued(id) = state.cancel, state.running != nil else { return nil }
            state.cancel = .sending(id: id)
            state.wasCancelled = true
            return state.handle
        }
        handle?.send()
        endCancel(id)
    }

    private func endCancel(_ id: UInt64) {
        state.withLock { state in
            switch state.cancel {
            case .queued(id), .sending(id): state.cancel = .none
            case .queued, .sending, .none: break
            }
        }
        state.broadcast()
    }

    /// Cuts the connection off when its statement should have ended long ago, so that its thread wakes up.
    func abortIfOverdue(at time: MonotonicTime) {
        state.withLock { state in
            guard state.descriptor >= 0, state.running != nil, state.deadline < time else { return }
            state.wasOverdue = true
            shutdown(state.descriptor, Int32(SHUT_RDWR))
        }
    }

    /// Cuts the connection off whatever it does.
    func cutOff() {
        state.withLock { state in
            guard state.descriptor >= 0 else { return }
            shutdown(state.descriptor, Int32(SHUT_RDWR))
        }
    }

    /// Cuts the connection off whatever it does, and every one that is opened after it.
    func abort() {
        state.withLock { state in
            state.isAborted = true
            guard state.descriptor >= 0 else { return }
            shutdown(state.descriptor, Int32(SHUT_RDWR))
        }
        state.broadcast()
    }

    /// Looks whether something arrived on an idle connection, which is its end more often than not.
    func suspectIfReadable() -> Bool {
        state.withLock { state in
            guard state.descriptor >= 0, state.running == nil, !state.isSuspect else { return false }
            var entry = pollfd(fd: state.descriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&entry, 1, 0) > 0 else { return false }
            state.isSuspect = true
            return true
        }
    }
}

/// What libpq needs to cancel the statement of a connection; it may outlive the connection.
final class CancelHandle: Sendable {
    private let cancel: Mutex<OpaquePointer>

    /// Takes over what PQgetCancel returned; nil for nil.
    init?(_ cancel: OpaquePointer?) {
        guard let cancel else { return nil }
        // libpq copies what it needs of the connection, so nothing else refers to this object.
        nonisolated(unsafe) let object = cancel
        self.cancel = Mutex(object)
    }

    deinit {
        cancel.withLock { PQfreeCancel($0) }
    }

    /// Blocks until the server has closed the connection that this opens, without any limit.
    func send() {
        var message = [CChar](repeating: 0, count: 256)
        _ = cancel.withLock { PQcancel($0, &message, Int32(message.count)) }
    }
}
