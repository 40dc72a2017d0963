import Dispatch
import Glibc
import SkyrowSystem
import Synchronization

/// A bounded number of threads with a lower priority than all others of the process.
///
/// They start when there is work for them, and end with the object.
final class LowPriorityThreads: Sendable {
    private struct State {
        var work: [@Sendable () -> Void] = []
        var threads = 0
        var busy = 0
    }

    /// The state that threads hold, so that they don't retain the object itself.
    private final class Shared: Sendable {
        let state = Mutex(State())
        /// Signalled once for each piece of work, and at the end once for each thread.
        let signal = DispatchSemaphore(value: 0)

        func run() {
            while true {
                signal.wait()
                let work = state.withLock { state -> (@Sendable () -> Void)? in
                    guard !state.work.isEmpty else { return nil }
                    state.busy += 1
                    return state.work.removeFirst()
                }
                guard let work else { return }
                work()
                state.withLock { $0.busy -= 1 }
            }
        }
    }

    private let shared = Shared()
    private let limit: Int
    private let name: String

    /// - Parameters:
    ///   - limit: upper bound on the threads.
    ///   - name: the name in "top -H", at most 15 characters.
    init(limit: Int, name: String) {
        self.limit = limit
        self.name = name
    }

    deinit {
        for _ in 0..<shared.state.withLock({ $0.threads }) { shared.signal.signal() }
    }

    /// Runs work on a thread; returns false if there is no thread and the system cannot create one.
    func run(_ work: @escaping @Sendable () -> Void) -> Bool {
        let shared = shared
        let isTaken = shared.state.withLock { state in
            state.work.append(work)
            guard state.work.count > state.threads - state.busy, state.threads < limit else { return true }
            let failure = DetachedThread.start { [name] in
                // On Linux the nice value belongs to a thread: event loops and database threads come first.
                setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 3)
                LowPriorityThreads.nameThisThread(name)
                shared.run()
            }
            if failure == 0 {
                state.threads += 1
                return true
            }
            // The existing threads will run it.
            guard state.threads == 0 else { return true }
            state.work.removeLast()
            return false
        }
        if isTaken { shared.signal.signal() }
        return isTaken
    }

    /// Sets the name that "top -H" shows.
    private static func nameThisThread(_ name: String) {
        guard let file = fopen("/proc/thread-self/comm", "w") else { return }
        fputs(name, file)
        fclose(file)
    }
}
