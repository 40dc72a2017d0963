internal import Synchronization

/// Tells one waiting task, once, that the client has to end.
final class ShutdownSignal: Sendable {
    private struct State: Sendable {
        var isRaised = false
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    var isRaised: Bool { state.withLock(\.isRaised) }

    func raise() {
        let waiter = state.withLock { state in
            state.isRaised = true
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume()
    }

    func wait() async {
        await withCheckedContinuation { continuation in
            let isRaised = state.withLock { state in
                if !state.isRaised { state.waiter = continuation }
                return state.isRaised
            }
            if isRaised { continuation.resume() }
        }
    }
}
