import SkyrowTestSupport
import Synchronization
import Testing

@testable import SkyrowConcurrency

@Suite struct TaskGateTests {
    private final class Shared<Value: Sendable>: Sendable {
        let state: Mutex<Value>

        init(_ value: Value) {
            state = Mutex(value)
        }
    }

    @Test func theTurnsComeInTheOrderOfArrivalWithoutThoseThatWereCancelled() async throws {
        let gate = TaskGate()
        let (begun, end) = (Deferred<Void>(), Deferred<Void>())
        let first = Task {
            try await gate.pass {
                begun.settle()
                await end.value()
            }
        }
        await begun.value()
        let order = Shared<[Int]>([])
        var tasks: [Task<Void, any Error>] = []
        for number in 0..<6 {
            tasks.append(Task { try await gate.pass { order.state.withLock { $0.append(number) } } })
            try await waiting(until: "\(number) waits") { gate.waiting == number + 1 }
        }
        for number in [1, 4] {
            tasks[number].cancel()
            await #expect(throws: CancellationError.self) { try await tasks[number].value }
        }
        #expect(gate.waiting == 4)
        end.settle()
        try await first.value
        for number in [0, 2, 3, 5] { try await tasks[number].value }
        #expect(order.state.withLock { $0 } == [0, 2, 3, 5])
    }

    /// An error in a turn, and cancellations at any moment, leave the gate to the next.
    @Test func oneAtATimeWhateverIsCancelled() async throws {
        var random = SeededGenerator.forTest()
        for _ in 0..<seededCases(100) {
            let gate = TaskGate()
            let inside = Shared(0)
            let kinds = (0..<12).map { _ in Int.random(in: 0..<3, using: &random) }
            try await waiting(for: "the turns") {
                await withTaskGroup(of: Void.self) { group in
                    for kind in kinds {
                        group.addTask {
                            let task = Task {
                                try await gate.pass {
                                    let count = inside.state.withLock { count in
                                        count += 1
                                        return count
                                    }
                                    #expect(count == 1)
                                    await Task.yield()
                                    inside.state.withLock { $0 -= 1 }
                                    if kind == 1 { throw CancellationError() }
                                }
                            }
                            if kind == 2 { task.cancel() }
                            let result = await task.result
                            if kind == 0 { #expect(throws: Never.self) { try result.get() } }
                        }
                    }
                }
                try await gate.pass {}
            }
            #expect(gate.waiting == 0)
        }
    }

    @Test func asManyPassAndWaitAsMay() async throws {
        let gate = TaskGate(capacity: 2, maximumWaiting: 1)
        let (begun, end) = (Counter(), Deferred<Void>())
        var tasks: [Task<Void, any Error>] = []
        for _ in 0..<2 {
            tasks.append(
                Task {
                    try await gate.pass {
                        begun.increment()
                        await end.value()
                    }
                }
            )
        }
        try await waiting(until: "both are inside") { begun.value == 2 }
        let third = Task { try await gate.pass { begun.increment() } }
        try await waiting(until: "one waits") { gate.waiting == 1 }
        await #expect(throws: TaskGate.IsFull.self) { try await gate.pass { begun.increment() } }
        // A place in the line that is left is free.
        third.cancel()
        await #expect(throws: CancellationError.self) { try await third.value }
        let fourth = Task { try await gate.pass { begun.increment() } }
        try await waiting(until: "one waits") { gate.waiting == 1 }
        #expect(begun.value == 2)
        end.settle()
        for task in tasks { try await task.value }
        try await fourth.value
        try await gate.pass { begun.increment() }
        #expect(begun.value == 4)
    }
}
