/// The thread that triggers cancels, and triggers them again while their statements run; it also runs the periodic checks of the
/// client. It never waits for a server.
final class StatementCanceller: Sendable {
    /// Triggers a cancel; returns whether the statement still runs, so that the cancel must be sent again. The server ignores a
    /// cancel that overtakes its statement on the way.
    typealias Job = @Sendable () -> Bool

    /// A job and its next attempt; the pause doubles each time.
    private struct RepeatedCancel {
        static let first: Duration = .milliseconds(50)
        static let longest: Duration = .seconds(1)

        let job: Job
        var pause = RepeatedCancel.first
        var next: MonotonicTime

        /// Returns the next attempt, if any.
        func performed(at time: MonotonicTime) -> RepeatedCancel? {
            guard next <= time else { return self }
            guard job() else { return nil }
            return RepeatedCancel(job: job, pause: min(pause * 2, Self.longest), next: time + pause)
        }
    }

    private struct State: Sendable {
        var jobs: [Job] = []
        var isStopped = false
    }

    static let tick: Duration = .milliseconds(100)

    private let monitor = Monitor(State())

    /// Queues a cancel.
    func submit(_ job: @escaping Job) {
        monitor.withLock { $0.jobs.append(job) }
        monitor.signal()
    }

    func stop() {
        monitor.withLock { $0.isStopped = true }
        monitor.broadcast()
    }

    /// The thread's work, until ``stop()``; calls `look` ten times a second.
    func run(look: (MonotonicTime) -> Void) {
        var unfinished: [RepeatedCancel] = []
        var nextLook = MonotonicTime.now
        while true {
            let deadline = unfinished.map(\.next).reduce(nextLook) { min($0, $1) }
            let (new, isStopped) =
                monitor.wait(until: deadline) { state -> ([Job], Bool)? in
                    guard !state.jobs.isEmpty || state.isStopped else { return nil }
                    defer { state.jobs = [] }
                    return (state.jobs, state.isStopped)
                } ?? ([], false)
            if isStopped { return }
            let now = MonotonicTime.now
            unfinished += new.map { RepeatedCancel(job: $0, next: now) }
            unfinished = unfinished.compactMap { $0.performed(at: now) }
            if nextLook <= now {
                look(now)
                nextLook = now + Self.tick
            }
        }
    }
}
