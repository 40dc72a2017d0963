import SkyrowConcurrency
import Synchronization
import Testing

@testable import SkyrowTestSupport

@Suite(.timeLimit(.minutes(5))) struct OpenDatabaseLimitTests {
    @Test func theOthersWaitUntilATurnIsGivenBack() async throws {
        let limit = OpenDatabaseLimit(1)
        let (begun, end) = (Deferred<Void>(), Deferred<Void>())
        let served = Mutex<Set<Int>>([])
        let holder = Task {
            try await limit.withTurn {
                begun.settle()
                await end.value()
                #expect(served.withLock { $0 } == [])
            }
        }
        await begun.value()
        let tasks = (0..<4).map { number in
            Task { try await limit.withTurn { served.withLock { _ = $0.insert(number) } } }
        }
        tasks[1].cancel()
        await #expect(throws: CancellationError.self) { try await tasks[1].value }
        end.settle()
        try await holder.value
        for number in [0, 2, 3] { try await tasks[number].value }
        #expect(served.withLock { $0 } == [0, 2, 3])
    }

    @Test func aTestThatHasATurnDoesNotWaitForItself() async throws {
        let limit = OpenDatabaseLimit(1)
        let number = try await limit.withTurn { try await limit.withTurn { 7 } }
        #expect(number == 7)
    }
}
