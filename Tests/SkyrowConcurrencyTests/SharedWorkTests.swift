import SkyrowTestSupport
import Testing

@testable import SkyrowConcurrency

/// Work that tasks share, and that ends with the last of them.
@Suite struct SharedWorkTests {
    /// Work that waits for its end, and notices its cancellation.
    private final class Job: Sendable {
        let begun = Counter()
        let cancelled = Counter()
        let end = Deferred<Int>()

        func run() async -> Int {
            begun.increment()
            return await end.value { reason in
                guard reason == .cancelled else { return }
                self.cancelled.increment()
                self.end.settle(-1)
            }
        }
    }

    private let work = SharedWork<String, Int>()

    private func task(_ key: String, _ job: Job) -> Task<Int, Never> {
        Task { [work] in await work.value(for: key, ifCancelled: 0) { await job.run() } }
    }

    @Test func allWhoWaitAtTheSameTimeGetOneOutcome() async throws {
        let (job, other) = (Job(), Job())
        let tasks = (0..<5).map { _ in task("a", job) }
        let different = task("b", other)
        try await waiting(until: "all wait") { work.waiting(for: "a") == 5 && work.waiting(for: "b") == 1 }
        job.end.settle(7)
        for task in tasks { #expect(await task.value == 7) }
        other.end.settle(8)
        #expect(await different.value == 8)
        #expect(job.begun.value == 1 && other.begun.value == 1 && work.waiting(for: "a") == 0)
        // Those who come later begin other work.
        let later = Job()
        later.end.settle(9)
        #expect(await task("a", later).value == 9)
    }

    @Test func oneWhoLeavesStopsNothingThatOthersWaitFor() async throws {
        let job = Job()
        let tasks = (0..<3).map { _ in task("a", job) }
        try await waiting(until: "all wait") { work.waiting(for: "a") == 3 }
        tasks[0].cancel()
        #expect(await tasks[0].value == 0)
        #expect(work.waiting(for: "a") == 2 && job.cancelled.value == 0)
        tasks[1].cancel()
        #expect(await tasks[1].value == 0)
        #expect(work.waiting(for: "a") == 1 && job.cancelled.value == 0)
        job.end.settle(7)
        #expect(await tasks[2].value == 7)
    }

    @Test func workWithoutWaitersIsCancelledAndNotJoined() async throws {
        let (job, next) = (Job(), Job())
        let only = task("a", job)
        try await waiting(until: "it has begun") { job.begun.value == 1 }
        only.cancel()
        #expect(await only.value == 0)
        // Its end is not awaited.
        let other = task("a", next)
        try await waiting(until: "the work is cancelled") { job.cancelled.value == 1 }
        next.end.settle(7)
        #expect(await other.value == 7)
        #expect(next.cancelled.value == 0)
    }

    /// Tasks that come and leave at any moment get the outcome or their own cancellation.
    @Test func whateverIsCancelledTheOthersGetTheOutcome() async throws {
        var random = SeededGenerator.forTest()
        for _ in 0..<seededCases(100) {
            let kinds = (0..<12).map { _ in Int.random(in: 0..<2, using: &random) }
            let work = self.work
            try await waiting(for: "the tasks") {
                await withTaskGroup(of: Void.self) { group in
                    for kind in kinds {
                        group.addTask {
                            let task = Task {
                                await work.value(for: "a", ifCancelled: 0) {
                                    await Task.yield()
                                    return 7
                                }
                            }
                            if kind == 1 { task.cancel() }
                            let value = await task.value
                            #expect(value == 7 || kind == 1 && value == 0)
                        }
                    }
                }
            }
            #expect(work.waiting(for: "a") == 0)
        }
    }
}
