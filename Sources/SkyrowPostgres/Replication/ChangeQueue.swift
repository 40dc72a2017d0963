internal import SkyrowConcurrency
internal import Synchronization

/// An event of a change stream.
package enum ChangeEvent: Sendable {
    /// Every transaction that commits after this position of the log follows; earlier ones do not.
    case connected(at: PostgresLSN)
    /// The slot cannot be created yet, since transactions that write are open; ``connected(at:)`` follows when they have ended.
    case delayed
    /// A transaction has committed.
    case transaction(ChangeTransaction)
    /// Every transaction that committed before this position has been delivered.
    case position(PostgresLSN)
    /// Changes are missed from here to the next ``connected(at:)``.
    case interrupted(ReplicationFailure)
}

/// The unread events of a change stream, bounded by their bytes.
final class ChangeQueue: Sendable {
    private let capacity: Int
    private let events = EventQueue<ChangeEvent>()
    /// Whether a transaction did not fit, so that its thread waits for room.
    private let isHeldUp = Atomic(false)
    /// Called after each event that is read while a transaction waits for room.
    private let hasRoom: @Sendable () -> Void

    init(capacity: Int, hasRoom: @escaping @Sendable () -> Void) {
        self.capacity = capacity
        self.hasRoom = hasRoom
    }

    /// Adds an event; returns false for a transaction that does not fit beside the
    /// unread events. A single transaction always fits.
    func offer(_ event: ChangeEvent) -> Bool {
        events.offer { events in
            if case .transaction = event {
                let fits = events.weight == 0 || events.weight + event.byteCount <= capacity
                // Set before the reader can take an event without calling `hasRoom`.
                isHeldUp.store(!fits, ordering: .relaxed)
                guard fits else { return false }
            }
            // The new event replaces those that it makes obsolete; otherwise they
            // would grow without bound while the reader is stuck.
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
    /// Whether this event makes an earlier unread event obsolete.
    func replaces(_ earlier: ChangeEvent) -> Bool {
        switch (self, earlier) {
        case (.position, .position): true
        case (.interrupted, .position), (.interrupted, .connected), (.interrupted, .delayed),
            (.interrupted, .interrupted):
            true
        default: false
        }
    }

    /// The weight of the event in a queue.
    var byteCount: Int {
        // A transaction without rows still holds its tables.
        if case .transaction(let transaction) = self { transaction.byteCount + 256 } else { 0 }
    }
}
