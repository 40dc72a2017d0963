import NIOCore
import Synchronization

/// Runs a request's task on the event loop of its connection, so that a response needs no thread but the loop's own.
///
/// Swift returns to a task's preferred executor after every suspension; what a database thread resumes comes back here.
/// Such a thread resumes as many tasks as a pipeline had statements, so the jobs have a queue of their own: one call
/// into the loop, and at most one wake-up, brings all of them.
final class EventLoopTaskExecutor: TaskExecutor {
    private let eventLoop: any EventLoop
    private let waiting = Mutex<[UnownedJob]>([])

    init(_ eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let isFirst = waiting.withLock { jobs in
            jobs.append(job)
            return jobs.count == 1
        }
        if isFirst { eventLoop.execute { self.runWaiting() } }
    }

    private func runWaiting() {
        // Jobs that come while these run go into the next round, behind what the loop has to read.
        let jobs = waiting.withLock { jobs in
            let taken = jobs
            jobs = []
            return taken
        }
        for job in jobs { job.runSynchronously(on: asUnownedTaskExecutor()) }
    }

    func asUnownedTaskExecutor() -> UnownedTaskExecutor {
        UnownedTaskExecutor(ordinary: self)
    }
}

extension Task where Success == Void, Failure == Never {
    /// Starts a task on the calling thread, which must be the executor's, and keeps it on that executor afterwards.
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
