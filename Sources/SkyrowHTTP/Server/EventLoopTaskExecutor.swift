import NIOCore
import Synchronization

/// Runs a request's task on the event loop of its connection, so that a response needs no other thread.
///
/// Swift returns to a task's preferred executor after every suspension, so a task that a database thread resumes comes back here.
/// A database thread resumes one task per statement of a pipeline. The jobs are therefore queued, so that one call into the loop,
/// and at most one wake-up, runs all of them.
final class EventLoopTaskExecutor: TaskExecutor {
    private let eventLoop: any EventLoop
    private let jobs = Mutex(Jobs())

    private struct Jobs {
        var waiting: [UnownedJob] = []
        /// An empty array whose memory is reused for the next round.
        var spare: [UnownedJob] = []
    }

    init(_ eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let isFirst = jobs.withLock { jobs in
            jobs.waiting.append(job)
            return jobs.waiting.count == 1
        }
        if isFirst { eventLoop.execute { self.runWaiting() } }
    }

    private func runWaiting() {
        // Jobs that arrive meanwhile run in the next round, after the loop has read from its sockets.
        var taken = jobs.withLock { jobs in
            let taken = jobs.waiting
            jobs.waiting = jobs.spare
            jobs.spare = []
            return taken
        }
        for job in taken { job.runSynchronously(on: asUnownedTaskExecutor()) }
        taken.removeAll(keepingCapacity: true)
        jobs.withLock { $0.spare = taken }
    }

    func asUnownedTaskExecutor() -> UnownedTaskExecutor {
        UnownedTaskExecutor(ordinary: self)
    }
}

extension Task where Success == Void, Failure == Never {
    /// Starts a task on the calling thread, which must be the executor's, and keeps it on that executor.
    static func startingNow(
        on executor: EventLoopTaskExecutor,
        _ operation: sending @escaping @isolated(any) () async -> Void
    ) -> Task<Void, Never> {
        if #available(macOS 26, iOS 26, *) {
            Task.immediate(executorPreference: executor, operation: operation)
        } else {
            Task(executorPreference: executor, operation: operation)
        }
    }
}
