internal import CLibpq
internal import Glibc
internal import Synchronization

/// What other threads may do to a connection: cancel its statement, abort it, check whether it died.
///
/// A gate outlives the connection that it guards, which the connection's thread may close and reopen. No call blocks longer than
/// ``cancelPatience``, even when the server does not respond.
final class ConnectionGate: Sendable {
    /// The progress of a cancel.
    private enum CancelPhase: Sendable {
        case none
        /// Waits for a thread that sends it; it can still be withdrawn.
        case queued(id: UInt64)
        /// A thread sends it, for as long as the server takes.
        case sending(id: UInt64)
    }

    private struct State: Sendable {
        var descriptor: Int32 = -1
        var handle: CancelHandle?
        var cancel = CancelPhase.none
        /// The batch or statement that runs now; nil while the connection is idle.
        var running: ObjectIdentifier?
        var deadline = MonotonicTime.distantFuture
        /// Data arrived while the connection was idle.
        var isSuspect = false
        /// The connection is unusable.
        var isBroken = false
        var wasCancelled = false
        /// The connection was aborted because its statement exceeded the deadline.
        var wasOverdue = false

        // These are kept when the connection is replaced.
        var lastCancel: UInt64 = 0
        var isAborted = false

        /// Resets everything that belongs to the connection.
        mutating func reset() {
            let (lastCancel, isAborted) = (lastCancel, isAborted)
            self = State()
            self.lastCancel = lastCancel
            self.isAborted = isAborted
        }
    }

    /// How long the end of a statement waits for a cancel that is being sent; after that the connection is abandoned.
    static let cancelPatience: Duration = .seconds(3)

    /// Controls the server process of the connection; nil for a connection whose statements are never cancelled.
    let control: BackendControl?
    private let state = Monitor(State())

    init(control: BackendControl? = nil) {
        self.control = control
    }

    /// Attaches a connection. One that was opened after ``abort()`` is aborted at once.
    func open(descriptor: Int32, handle: CancelHandle?) {
        state.withLock { state in
            state.reset()
            state.descriptor = descriptor
            state.handle = handle
            if state.isAborted { shutdown(descriptor, Int32(SHUT_RDWR)) }
        }
    }

    /// Detaches the connection; returns whether its statement was still running when it was aborted.
    func close() -> Bool {
        state.withLock { state in
            defer { state.reset() }
            return state.wasOverdue
        }
    }

    /// Whether unread data arrived on the idle connection.
    var isSuspect: Bool { state.withLock(\.isSuspect) }

    /// Whether the connection is known to be unusable.
    var isBroken: Bool { state.withLock(\.isBroken) }

    /// Whether the connection was aborted because its statement exceeded the deadline.
    var wasOverdue: Bool { state.withLock(\.wasOverdue) }

    /// Whether this side has aborted the connection for good.
    var isAborted: Bool { state.withLock(\.isAborted) }

    func markBroken() {
        state.withLock { $0.isBroken = true }
    }

    func clearSuspicion() {
        state.withLock { $0.isSuspect = false }
    }

    var isOpen: Bool { state.withLock { $0.descriptor >= 0 } }

    /// Notes what runs from now on, and its deadline.
    func begin(_ work: AnyObject, deadline: MonotonicTime) {
        state.withLock { state in
            state.running = ObjectIdentifier(work)
            state.deadline = deadline
            state.wasCancelled = false
        }
    }

    /// Extends the deadline of the running batch, because a part of it has ended.
    func extend(to deadline: MonotonicTime) {
        state.withLock { state in
            if state.running != nil { state.deadline = deadline }
        }
    }

    /// Notes that nothing runs any more; returns whether a cancel was sent meanwhile. Waits for a cancel that is being sent,
    /// since it could hit the next statement; when that takes too long, the connection is marked broken.
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

    /// Requests the server to cancel the statement if this work is running; does not
    /// wait for the server. Returns whether it was running.
    ///
    /// - Parameter patience: How long the statement may run on before the connection is aborted.
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

    /// Cancels the last statement of the connection; nothing else may run on it afterwards. The cancel is sent even when the
    /// connection is closed meanwhile.
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

    /// Aborts the connection when its statement has exceeded the deadline, so that its thread wakes up.
    func abortIfOverdue(at time: MonotonicTime) {
        state.withLock { state in
            guard state.descriptor >= 0, state.running != nil, state.deadline < time else { return }
            state.wasOverdue = true
            shutdown(state.descriptor, Int32(SHUT_RDWR))
        }
    }

    /// Aborts the connection unconditionally.
    func cutOff() {
        state.withLock { state in
            guard state.descriptor >= 0 else { return }
            shutdown(state.descriptor, Int32(SHUT_RDWR))
        }
    }

    /// Aborts the connection unconditionally, and all that are opened after it.
    func abort() {
        state.withLock { state in
            state.isAborted = true
            guard state.descriptor >= 0 else { return }
            shutdown(state.descriptor, Int32(SHUT_RDWR))
        }
        state.broadcast()
    }

    /// Checks whether data arrived on an idle connection, which usually means that the server closed it.
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

/// The handle by which libpq cancels the statement of a connection; it may outlive the connection.
final class CancelHandle: Sendable {
    private let cancel: Mutex<OpaquePointer>

    /// Takes ownership of the result of PQgetCancel; returns nil for nil.
    init?(_ cancel: OpaquePointer?) {
        guard let cancel else { return nil }
        // libpq copies what it needs of the connection, so nothing else refers to this object.
        nonisolated(unsafe) let object = cancel
        self.cancel = Mutex(object)
    }

    deinit {
        cancel.withLock { PQfreeCancel($0) }
    }

    /// Blocks, without a time limit, until the server has closed the connection that this call opens.
    func send() {
        var message = [CChar](repeating: 0, count: 256)
        _ = cancel.withLock { PQcancel($0, &message, Int32(message.count)) }
    }
}
