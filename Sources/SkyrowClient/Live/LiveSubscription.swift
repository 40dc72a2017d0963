import SkyrowModel
import Synchronization

/// One live query between the event stream, which brings items, and the task that takes them.
///
/// It holds a bounded number of bytes; beyond that it drops all of it, and the query goes on from its last checkpoint.
final class LiveSubscription: Sendable {
    let name: String
    let request: LiveRequest
    let byteLimit: Int

    private struct State {
        var items: [(item: LiveItem, byteCount: Int)] = []
        /// Where the first item is.
        var head = 0
        var byteCount = 0
        var waiter: CheckedContinuation<LiveItem?, Never>?
        var hasEnded = false
    }

    private let state = Mutex(State())

    init(name: String, request: LiveRequest, byteLimit: Int) {
        self.name = name
        self.request = request
        self.byteLimit = byteLimit
    }

    /// The call that begins it from there.
    func request(from start: LiveStart) -> LiveRequest { request.named(name, from: start) }

    /// Brings an item; false when it was too much, and all that waited is dropped.
    func push(_ item: LiveItem, byteCount: Int) -> Bool {
        let (waiter, delivered, fits): (CheckedContinuation<LiveItem?, Never>?, LiveItem?, Bool) = state.withLock {
            state in
            if state.hasEnded { return (nil, nil, true) }
            if let waiter = state.waiter {
                state.waiter = nil
                return (waiter, item, true)
            }
            // One item always has room: a commit arrives as a whole.
            if state.byteCount > 0, state.byteCount + byteCount > byteLimit {
                state.items = [(.dropped, 0)]
                state.head = 0
                state.byteCount = 0
                return (nil, nil, false)
            }
            state.items.append((item, byteCount))
            state.byteCount += byteCount
            return (nil, nil, true)
        }
        waiter?.resume(returning: delivered)
        return fits
    }

    /// The next item; nil when the subscription or the task that waits has ended.
    func next() async -> LiveItem? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let (isSettled, item): (Bool, LiveItem?) = state.withLock { state in
                    if state.head < state.items.count {
                        let (item, byteCount) = state.items[state.head]
                        state.head += 1
                        state.byteCount -= byteCount
                        if state.head > 32, state.head * 2 > state.items.count {
                            state.items.removeFirst(state.head)
                            state.head = 0
                        }
                        return (true, item)
                    }
                    if state.hasEnded { return (true, nil) }
                    state.waiter = continuation
                    return (false, nil)
                }
                if isSettled { continuation.resume(returning: item) }
            }
        } onCancel: {
            end()
        }
    }

    /// Ends it; what waits is given up.
    func end() {
        let waiter = state.withLock { state in
            state.hasEnded = true
            state.items = []
            state.head = 0
            state.byteCount = 0
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(returning: nil)
    }
}
