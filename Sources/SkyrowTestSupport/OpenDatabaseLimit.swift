import Synchronization

/// Lets a bounded number of tests have a database at the same time; the others wait for their turn.
///
/// So a suite that runs in parallel stays within the server's connections and memory.
final class OpenDatabaseLimit: Sendable {
    private struct State {
        var open = 0
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    /// A test that has a database and opens another one must not wait for itself.
    @TaskLocal private static var isInside = false

    private let limit: Int
    private let state = Mutex(State())

    init(_ limit: Int) {
        self.limit = limit
    }

    func withTurn<Success>(_ body: () async throws -> Success) async rethrows -> Success {
        if Self.isInside { return try await body() }
        await enter()
        defer { leave() }
        return try await Self.$isInside.withValue(true) { try await body() }
    }

    private func enter() async {
        await withCheckedContinuation { continuation in
            let mayGo = state.withLock { state in
                guard state.open < limit else {
                    state.waiting.append(continuation)
                    return false
                }
                state.open += 1
                return true
            }
            if mayGo { continuation.resume() }
        }
    }

    /// Passes the place on to the one who has waited longest.
    private func leave() {
        let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
            state.open -= 1
            return nil
        }
        next?.resume()
    }
}
