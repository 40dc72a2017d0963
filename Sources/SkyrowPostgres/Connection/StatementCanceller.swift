/// The thread that asks the server to cancel statements, because libpq blocks while it does so and the callers'
/// threads must not.
final class StatementCanceller: Sendable {
    /// Sends a cancel; returns whether the statement still runs, so that it has to be sent again: one that overtakes
    /// its statement on the way to the server is ignored there.
    typealias Job = @Sendable () -> Bool

    private struct State: Sendable {
        var jobs: [Job] = []
        var isStopped = false
    }

    private static let repetitionDelay: Duration = .milliseconds(50)

    private let monitor = Monitor(State())

    /// Has a cancel sent soon.
    func submit(_ job: @escaping Job) {
        monitor.withLock { $0.jobs.append(job) }
        monitor.signal()
    }

    func stop() {
        monitor.withLock { $0.isStopped = true }
        monitor.broadcast()
    }

    func run() {
        var unfinished: [Job] = []
        while true {
            let deadline = unfinished.isEmpty ? nil : MonotonicTime.now + Self.repetitionDelay
            let (new, isStopped) =
                monitor.wait(until: deadline) { state -> ([Job], Bool)? in
                    guard !state.jobs.isEmpty || state.isStopped else { return nil }
                    defer { state.jobs = [] }
                    return (state.jobs, state.isStopped)
                } ?? ([], false)
            if isStopped { return }
            unfinished = (unfinished + new).filter { $0() }
        }
    }
}
