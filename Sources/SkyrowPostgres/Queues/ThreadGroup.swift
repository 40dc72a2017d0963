internal import CLibpq
internal import Glibc
internal import SkyrowConcurrency
internal import SkyrowSystem

/// The threads of one client, so that its `run()` can wait for all of them to end.
final class ThreadGroup: Sendable {
    private struct State {
        var running = 0
        var isAbandoned = false
        var waiter: Deferred<Void>?
    }

    private let state = Monitor(State())

    /// Starts a thread.
    ///
    /// - Parameter name: at most 15 bytes, the system's limit.
    /// - Throws: ``PostgresError`` with the code `overloaded` when the system cannot start another thread.
    func start(named name: String, _ body: @escaping @Sendable () -> Void) throws(PostgresError) {
        state.withLock { $0.running += 1 }
        let failure = DetachedThread.start(stackSize: 1 << 20) { [self] in
            pthread_setname_np(pthread_self(), name)
            ThreadGroup.blockBrokenPipes()
            body()
            finish()
        }
        guard failure != 0 else { return }
        finish()
        throw PostgresError(code: .overloaded, message: "A thread could not be started: error \(failure)")
    }

    /// Returns once no thread is running, or after ``abandon()``.
    func wait() async {
        let waiter = state.withLock { state in
            guard state.running > 0, !state.isAbandoned else { return nil as Deferred<Void>? }
            let waiter = state.waiter ?? Deferred()
            state.waiter = waiter
            return waiter
        }
        await waiter?.value()
    }

    /// Lets ``wait()`` return while threads still run; returns their number.
    @discardableResult
    func abandon() -> Int {
        let (running, waiter) = state.withLock { state in
            state.isAbandoned = true
            return (state.running, state.waiter.take())
        }
        waiter?.settle()
        return running
    }

    /// Turns a write to a connection that the server has closed into an error instead of the end of the process: PQcancel sends
    /// without MSG_NOSIGNAL, and the signal goes to the writing thread (pipe(7), pthread_sigmask(3)).
    private static func blockBrokenPipes() {
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
    }

    private func finish() {
        let waiter = state.withLock { state in
            state.running -= 1
            return state.running == 0 ? state.waiter.take() : nil
        }
        waiter?.settle()
    }
}
