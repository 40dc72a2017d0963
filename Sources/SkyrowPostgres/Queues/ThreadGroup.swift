internal import CLibpq
internal import Glibc
internal import SkyrowConcurrency

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
    /// - Throws: ``PostgresError`` with the code `overloaded` when the system cannot start another thread.
    func start(named name: String, _ body: @escaping @Sendable () -> Void) throws(PostgresError) {
        state.withLock { $0.running += 1 }
        let thread = Unmanaged.passRetained(
            Thread(name: name) { [self] in
                body()
                finish()
            }
        )
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        pthread_attr_setstacksize(&attributes, 1 << 20)
        defer { pthread_attr_destroy(&attributes) }
        var handle = pthread_t()
        let status = pthread_create(
            &handle,
            &attributes,
            { argument in
                guard let argument else { return nil }
                let thread = Unmanaged<Thread>.fromOpaque(argument).takeRetainedValue()
                pthread_setname_np(pthread_self(), thread.name)
                ThreadGroup.blockBrokenPipes()
                thread.body()
                return nil
            },
            thread.toOpaque()
        )
        guard status != 0 else { return }
        thread.release()
        finish()
        throw PostgresError(code: .overloaded, message: "A thread could not be started: error \(status)")
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

private final class Thread: Sendable {
    /// At most 15 bytes, the system's limit.
    let name: String
    let body: @Sendable () -> Void

    init(name: String, body: @escaping @Sendable () -> Void) {
        self.name = name
        self.body = body
    }
}
