internal import Synchronization

/// A signal that wakes tests waiting for a state of their process.
package final class ChangeSignal: Sendable {
    private struct State {
        var waiters: [Int: AsyncStream<Void>.Continuation] = [:]
        var lastNumber = 0
    }

    private let state = Mutex(State())

    package init() {}

    /// Makes all waiting tests check their conditions.
    package func notify() {
        for waiter in state.withLock({ Array($0.waiters.values) }) { waiter.yield() }
    }

    fileprivate func add(_ waiter: AsyncStream<Void>.Continuation) -> Int {
        state.withLock { state in
            state.lastNumber += 1
            state.waiters[state.lastNumber] = waiter
            return state.lastNumber
        }
    }

    fileprivate func remove(_ number: Int) {
        state.withLock { $0.waiters[number] = nil }
    }
}

/// A state that signals its changes.
package protocol Changing: Sendable {
    var changes: ChangeSignal { get }
}

/// Evaluates `condition` now, and after each change of the given sources, until it holds.
///
/// ```swift
/// try await waiting(until: "the record arrives", hearing: [outlet]) { outlet.held("s")["note/1"] != nil }
/// ```
package func waiting(
    until what: String,
    hearing sources: [any Changing],
    within limit: Duration = patience,
    _ condition: () async throws -> Bool
) async throws {
    let (signals, waiter) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let numbers = sources.map { $0.changes.add(waiter) }
    defer { for (source, number) in zip(sources, numbers) { source.changes.remove(number) } }
    waiter.yield()
    let limit = limit * slowness
    let timer = Task {
        try await Task.sleep(for: limit)
        waiter.finish()
    }
    defer { timer.cancel() }
    for await _ in signals {
        if try await condition() { return }
    }
    try Task.checkCancellation()
    throw WaitTimedOut("the moment when \(what)", limit)
}
