import SkyrowSystem
import Synchronization

/// Those who wait until a connection has nothing left to write.
final class RoomWaiters: Sendable {
    private struct State {
        var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
        var next = 0
        var hasEnded = false
    }

    private let state = Mutex(State())

    /// Waits until there is room, the time is up, the connection has ended or the task is cancelled.
    ///
    /// - Parameter hasRoom: whether there is; asked before the wait, while ``wake()`` is not missed.
    func wait(atMost limit: Duration, hasRoom: @Sendable () -> Bool) async {
        let number = state.withLock { state in
            state.next += 1
            return state.next
        }
        let timer = Task {
            try await ServiceTimer.sleep(for: limit)
            release(number)
        }
        defer { timer.cancel() }
        await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                let waits = state.withLock { state in
                    guard !state.hasEnded else { return false }
                    state.waiters[number] = waiter
                    return true
                }
                if !waits {
                    waiter.resume()
                } else if Task.isCancelled || hasRoom() {
                    release(number)
                }
            }
        } onCancel: {
            release(number)
        }
    }

    /// There is room.
    func wake() {
        let waiters = state.withLock { state in
            defer { state.waiters = [:] }
            return state.waiters
        }
        for waiter in waiters.values { waiter.resume() }
    }

    /// There will be none: the connection has ended.
    func end() {
        state.withLock { $0.hasEnded = true }
        wake()
    }

    private func release(_ number: Int) {
        state.withLock { $0.waiters.removeValue(forKey: number) }?.resume()
    }
}
