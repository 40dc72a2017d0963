import SkyrowConcurrency
import SkyrowTestSupport
import Testing

@Suite struct WaitingTasksTests {
    @Test func whatIsToBeWaitedForIsNotMissed() async throws {
        let tasks = WaitingTasks<String>()
        try await waiting(for: "the waits") {
            // What has happened already is not waited for.
            await tasks.wait(for: "a") { true }
            await tasks.wait(for: "a") {
                tasks.wake { $0 == "a" }
                return false
            }
            await tasks.wait(for: "a", during: {}) { false }
            let cancelled = Task { await tasks.wait(for: "a") { false } }
            cancelled.cancel()
            await cancelled.value
            await withTaskGroup(of: Void.self) { group in
                let begun = (Deferred<Void>(), Deferred<Void>())
                for (key, signal) in [("a", begun.0), ("b", begun.1)] {
                    group.addTask {
                        await tasks.wait(for: key) {
                            signal.settle()
                            return false
                        }
                    }
                }
                await begun.0.value()
                await begun.1.value()
                tasks.wake { $0 == "b" }
                await group.next()
                tasks.wake()
            }
        }
    }
}
