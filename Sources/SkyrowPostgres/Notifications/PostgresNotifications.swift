internal import SkyrowConcurrency
internal import Synchronization

/// An event of a listener.
package enum PostgresNotificationEvent: Hashable, Sendable {
    /// Listening has begun: notifications sent from now on arrive.
    case connected
    /// Listening has resumed after an interruption, during which notifications may
    /// have been missed: a cache should drop all its copies.
    case reconnected
    /// Listening succeeds but nothing arrives, as behind a pooler that assigns a session per transaction: a cache must poll for
    /// changes. `reconnected` follows when notifications arrive again.
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
/// It has one reader. A reader that falls far behind gets ``PostgresNotificationEvent/reconnected`` instead of its unread events.
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

/// The unread events of one reader.
final class NotificationSubscriber: Sendable {
    static let capacity = 4096

    private let events = EventQueue<PostgresNotificationEvent>()
    private let hasConnected = Atomic(false)

    /// Notes that listening has begun, for the first time or again.
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
