internal import SkyrowConcurrency
internal import Synchronization

/// What a listener learns.
package enum PostgresNotificationEvent: Hashable, Sendable {
    /// Listening has begun: whatever is sent from now on arrives.
    case connected
    /// Listening has begun again after an interruption, during which notifications may have been missed: a cache that keeps
    /// copies should drop them all.
    case reconnected
    /// Listening succeeds and nothing arrives, as behind a pooler that hands each transaction another session: a cache that
    /// keeps copies has to look for changes. `reconnected` follows when they arrive again.
    case silent
    /// A session, possibly one of this client, sent NOTIFY.
    case notification(channel: String, payload: String, processID: Int32)
}

/// The events of one channel, in order; ends when the client shuts down.
///
/// ```swift
/// for await event in client.listen("schema_changed") {
///     switch event {
///     case .connected, .reconnected: cache.removeAll()
///     case .notification(_, let payload, _): cache.remove(payload)
///     }
/// }
/// ```
///
/// It is for one reader. A reader that falls far behind gets ``PostgresNotificationEvent/reconnected`` in place of what
/// it has not read yet.
package struct PostgresNotifications: AsyncSequence, Sendable {
    package typealias Element = PostgresNotificationEvent
    package typealias Failure = Never

    let subscriber: NotificationSubscriber

    package struct AsyncIterator: AsyncIteratorProtocol {
        let subscriber: NotificationSubscriber

        package mutating func next() async -> PostgresNotificationEvent? {
            await subscriber.next()
        }
    }

    package func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(subscriber: subscriber)
    }
}

/// The events one reader has not read yet.
final class NotificationSubscriber: Sendable {
    static let capacity = 4096

    private let events = EventQueue<PostgresNotificationEvent>()
    private let hasConnected = Atomic(false)

    /// Says that listening has begun, for the first time or again.
    func connect() {
        deliver(hasConnected.exchange(true, ordering: .relaxed) ? .reconnected : .connected)
    }

    func deliver(_ event: PostgresNotificationEvent) {
        _ = events.offer { events in
            let fits = events.weight < Self.capacity
            if !fits { events.removeAll() }
            events.append(fits ? event : .reconnected)
            return true
        }
    }

    func finish() {
        events.finish()
    }

    /// The next event; nil at the end, or when the task is cancelled.
    func next() async -> PostgresNotificationEvent? {
        await events.next()
    }
}
