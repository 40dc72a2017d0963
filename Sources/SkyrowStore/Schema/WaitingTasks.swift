internal import SkyrowSystem
internal import Synchronization

/// Tasks that wait for something to happen, by what they wait for.
final class WaitingTasks<Key: Hashable & Sendable>: Sendable {
    private struct State {
        var signals: [Key: [Int: AsyncStream<Void>.Continuation]] = [:]
        var next = 0
    }

    private let state = Mutex(State())

    /// Returns when ``wake(_:)`` names the key, when the time is over and when the task is cancelled.
    ///
    /// - Parameter isOver: whether there is nothing to wait for; asked after the task counts as waiting, so that nothing is missed.
    func wait(for key: Key, atMost limit: Duration? = nil, unless isOver: () -> Bool) async {
        let (signals, signal) = AsyncStream.makeStream(of: Void.self)
        let number = state.withLock { state in
            state.next += 1
            state.signals[key, default: [:]][state.next] = signal
            return state.next
        }
        defer { remove(number, of: key) }
        guard !isOver() else { return }
        let timer = limit.map { limit in
            Task {
                try await ServiceTimer.sleep(for: limit)
                signal.finish()
            }
        }
        defer { timer?.cancel() }
        for await _ in signals {}
    }

    /// Lets those go on whose key is of this kind.
    func wake(_ isOfThese: (Key) -> Bool = { _ in true }) {
        let woken = state.withLock { state in state.signals.filter { isOfThese($0.key) }.values.flatMap(\.values) }
        for signal in woken { signal.finish() }
    }

    private func remove(_ number: Int, of key: Key) {
        state.withLock { state in
            state.signals[key]?[number] = nil
            if state.signals[key]?.isEmpty == true { state.signals[key] = nil }
        }
    }
}
