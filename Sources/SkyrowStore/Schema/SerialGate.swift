internal import Synchronization

/// Lets one task through at a time, in the order of arrival.
///
/// Changes of the schema wait here rather than in the database, where each would hold a connection that others need.
final class SerialGate: Sendable {
    private struct State {
        var isOccupied = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    /// Waits for the turn, runs `body`, and lets the next one in.
    func pass<Success>(_ body: () async throws -> Success) async rethrows -> Success {
        await withCheckedContinuation { continuation in
            let isFree = state.withLock { state in
                guard state.isOccupied else {
                    state.isOccupied = true
                    return true
                }
                state.waiting.append(continuation)
                return false
            }
            if isFree { continuation.resume() }
        }
        defer {
            let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
                guard !state.waiting.isEmpty else {
                    state.isOccupied = false
                    return nil
                }
                return state.waiting.removeFirst()
            }
            next?.resume()
        }
        return try await body()
    }
}
