internal import SkyrowConcurrency
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
    private let capacity: Int
    private let events = EventQueue<ChangeEvent>()
    /// A transaction did not fit, and its thread waits for room.
    private let isHeldUp = Atomic(false)
    /// Called after each event that is read while a transaction waits for room.
    private let hasRoom: @Sendable () -> Void

    init(capacity: Int, hasRoom: @escaping @Sendable () -> Void) {
        self.capacity = capacity
        self.hasRoom = hasRoom
    }

    /// Takes an event; false when it is a transaction that does not fit beside what waits. One alone always fits.
    func offer(_ event: ChangeEvent) -> Bool {
        events.offer { events in
            if case .transaction = event {
                let fits = events.weight == 0 || events.weight + event.byteCount <= capacity
                // Before the reader can take what it would not hear of.
                isHeldUp.store(!fits, ordering: .relaxed)
                guard fits else { return false }
            }
            // In the place of those that it makes pointless: they would grow without bound beside a reader that is stuck.
            while let last = events.last, event.replaces(last) { events.removeLast() }
            events.append(event, weight: event.byteCount)
            return true
        }
    }

    func finish() {
        events.finish(dropping: true)
    }

    /// The next event; nil at the end, or when the task is cancelled.
    func next() async -> ChangeEvent? {
        let event = await events.next()
        if event != nil, isHeldUp.load(ordering: .relaxed) { hasRoom() }
        return event
    }

    var byteCount: Int { events.weight }

    var isEmpty: Bool { events.isEmpty }
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
