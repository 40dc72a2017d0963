import SkyrowConcurrency
import Testing

@testable import SkyrowTestSupport

@Suite(.timeLimit(.minutes(60))) struct OpenDatabaseLimitTests {
    @Test func theOthersWaitUntilATurnIsGivenBack() async throws {
        let limit = OpenDatabaseLimit(1)
        let (begun, end) = (Deferred<Void>(), Deferred<Void>())
        let served = Counter()
        let holder = Task {
            try await limit.withTurn {
                begun.settle()
                await end.value()
                #expect(served.value == 0)
            }
        }
        await begun.value()
        let tasks = (0..<4).map { _ in Task { try await limit.withTurn { served.increment() } } }
        tasks[1].cancel()
        await #expect(throws: CancellationError.self) { try await tasks[1].value }
        end.settle()
        try await holder.value
        for number in [0, 2, 3] { try await tasks[number].value }
        #expect(served.value == 3)
    }

    @Test func aTestThatHasATurnDoesNotWaitForItself() async throws {
        let limit = OpenDatabaseLimit(1)
        let number = try await limit.withTurn { try await limit.withTurn { 7 } }
        #expect(number == 7)
    }
}
