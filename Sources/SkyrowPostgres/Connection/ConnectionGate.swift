internal import CLibpq
internal import Glibc

/// What threads other than its own may do to a connection: cancel what it runs, cut it off, look whether it died.
///
/// It outlives the connection it guards, which the thread may close and open again.
///
/// `@unchecked` is not needed: all state is inside the monitor, and the pointer of libpq's cancel object never leaves
/// it while the object may be freed (`cancelsUnderway` holds ``close()`` back).
final class ConnectionGate: Sendable {
    private struct State: @unchecked Sendable {
        var descriptor: Int32 = -1
        var cancel: OpaquePointer?
        var cancelsUnderway = 0
        /// What runs now; nil while the connection is idle.
        var running: ObjectIdentifier?
        var deadline = MonotonicTime.distantFuture
        /// Something arrived while the connection was idle.
        var isSuspect = false
        /// It cannot be used any more.
        var isBroken = false
        var wasCancelled = false
    }

    private let state = Monitor(State())

    func open(descriptor: Int32, cancel: OpaquePointer?) {
        state.withLock { state in
            state = State()
            state.descriptor = descriptor
            state.cancel = cancel
        }
    }

    /// Waits for cancels that are under way, then forgets the connection.
    func close() {
        let cancel = state.wait { state -> OpaquePointer?? in
            guard state.cancelsUnderway == 0 else { return nil }
            defer { state = State() }
            return .some(state.cancel)
        }
        if let cancel { PQfreeCancel(cancel) }
    }

    /// Whether something arrived on the idle connection that has not been looked at.
    var isSuspect: Bool { state.withLock(\.isSuspect) }

    /// Whether the connection is known to be of no more use.
    var isBroken: Bool { state.withLock(\.isBroken) }

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

    /// Says that nothing runs any more; returns whether a cancel was sent meanwhile. Waits for one that is under way,
    /// since it could hit the next statement otherwise.
    func end() -> Bool {
        state.wait { state -> Bool? in
            state.running = nil
            state.deadline = .distantFuture
            return state.cancelsUnderway == 0 ? state.wasCancelled : nil
        } ?? false
    }

    /// Asks the server to cancel the statement if it is this work that runs; blocks for a round trip. Returns whether
    /// it was running.
    @discardableResult
    func cancel(_ work: ObjectIdentifier) -> Bool {
        let cancel = state.withLock { state -> OpaquePointer? in
            guard state.running == work, let cancel = state.cancel else { return nil }
            state.cancelsUnderway += 1
            state.wasCancelled = true
            return cancel
        }
        guard let cancel else { return false }
        var message = [CChar](repeating: 0, count: 256)
        PQcancel(cancel, &message, Int32(message.count))
        state.withLock { $0.cancelsUnderway -= 1 }
        state.broadcast()
        return true
    }

    /// Cuts the connection off when its statement should have ended long ago, so that its thread wakes up.
    func severIfOverdue(at time: MonotonicTime) {
        state.withLock { state in
            guard state.descriptor >= 0, state.running != nil, state.deadline < time else { return }
            shutdown(state.descriptor, Int32(SHUT_RDWR))
        }
    }

    /// Cuts the connection off whatever it does.
    func sever() {
        state.withLock { state in
            guard state.descriptor >= 0 else { return }
            shutdown(state.descriptor, Int32(SHUT_RDWR))
        }
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
