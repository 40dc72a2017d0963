internal import Synchronization

/// Wakes tests that wait until something of their process is as they want it.
package final class ChangeSignal: Sendable {
    private struct State {
        var waiters: [Int: AsyncStream<Void>.Continuation] = [:]
        var lastNumber = 0
    }

    private let state = Mutex(State())

    package init() {}

    /// Has those look again who wait.
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

/// What a test looks at that says when it changes.
package protocol Changing: Sendable {
    var changes: ChangeSignal { get }
}

/// Asks `condition` now, and again whenever something changes of all that it looks at.
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
