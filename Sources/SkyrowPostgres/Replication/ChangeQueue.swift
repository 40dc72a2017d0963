internal import Synchronization

/// What a reader of a stream of changes learns.
package enum ChangeEvent: Sendable {
    /// From here on every transaction comes that commits after this position of the log; those before do not.
    case connected(at: PostgresLSN)
    /// A slot can't be made yet, since transactions that write are open; ``connected(at:)`` follows when they have
    /// ended.
    case delayed
    /// A transaction has committed.
    case transaction(ChangeTransaction)
    /// Every transaction that committed before this position has come.
    case position(PostgresLSN)
    /// Changes are missed from here until the next ``connected(at:)``.
    case interrupted(ReplicationFailure)
}

/// The events that the reader of a stream has not read yet, bounded by their bytes.
final class ChangeQueue: Sendable {
    private struct State {
        var events: [ChangeEvent] = []
        /// How many of them were read; they are removed together.
        var read = 0
        var bytes = 0
        var isFinished = false
        /// A transaction did not fit, and its thread waits for room.
        var isHeldUp = false
        var waiter: CheckedContinuation<ChangeEvent?, Never>?

        /// Adds an event, in the place of those that it makes pointless: they would grow without bound beside a reader
        /// that is stuck.
        mutating func append(_ event: ChangeEvent) {
            while read < events.count, let last = events.last, event.replaces(last) { events.removeLast() }
            events.append(event)
            bytes += event.byteCount
        }

        mutating func next() -> ChangeEvent? {
            guard read < events.count else { return nil }
            let event = events[read]
            events[read] = .delayed
            read += 1
            bytes -= event.byteCount
            if read == events.count || read >= 256 {
                events.removeFirst(read)
                read = 0
            }
            return event
        }
    }

    private let capacity: Int
    private let state = Mutex(State())
    /// Called after each event that is read while a transaction waits for room.
    private let hasRoom: @Sendable () -> Void

    init(capacity: Int, hasRoom: @escaping @Sendable () -> Void) {
        self.capacity = capacity
        self.hasRoom = hasRoom
    }

    /// Takes an event; false when it is a transaction that does not fit beside what waits. One alone always fits.
    func offer(_ event: ChangeEvent) -> Bool {
        let (isTaken, waiter) = state.withLock { state -> (Bool, CheckedContinuation<ChangeEvent?, Never>?) in
            guard !state.isFinished else { return (true, nil) }
            if let waiter = state.waiter {
                state.waiter = nil
                state.isHeldUp = false
                return (true, waiter)
            }
            if case .transaction = event {
                state.isHeldUp = state.bytes > 0 && state.bytes + event.byteCount > capacity
                if state.isHeldUp { return (false, nil) }
            }
            state.append(event)
            return (true, nil)
        }
        waiter?.resume(returning: event)
        return isTaken
    }

    func finish() {
        let waiter = state.withLock { state in
            state.isFinished = true
            state.events = []
            state.read = 0
            state.bytes = 0
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(returning: nil)
    }

    /// The next event; nil at the end, or when the task is cancelled.
    func next() async -> ChangeEvent? {
        let event = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let event = state.withLock { state -> ChangeEvent?? in
                    // A second reader, or a cancelled task, does not wait.
                    if Task.isCancelled { return .some(nil) }
                    if let event = state.next() { return event }
                    if state.isFinished || state.waiter != nil { return .some(nil) }
                    state.waiter = continuation
                    return nil
                }
                if let event { continuation.resume(returning: event) }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                defer { state.waiter = nil }
                return state.waiter
            }
            waiter?.resume(returning: nil)
        }
        if event != nil, state.withLock(\.isHeldUp) { hasRoom() }
        return event
    }

    var byteCount: Int { state.withLock(\.bytes) }

    var isEmpty: Bool { state.withLock { $0.read == $0.events.count } }
}

extension ChangeEvent {
    /// Whether an event before it, which was not read, has nothing more to say.
    func replaces(_ earlier: ChangeEvent) -> Bool {
        switch (self, earlier) {
        case (.position, .position): true
        case (.interrupted, .position), (.interrupted, .connected), (.interrupted, .delayed),
            (.interrupted, .interrupted):
            true
        default: false
        }
    }

    /// What it counts in a queue.
    var byteCount: Int {
        // A transaction without rows holds its tables.
        if case .transaction(let transaction) = self { transaction.byteCount + 256 } else { 0 }
    }
}
