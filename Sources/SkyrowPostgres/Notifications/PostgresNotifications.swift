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
    private struct State: Sendable {
        var events: [PostgresNotificationEvent] = []
        var hasConnected = false
        var isFinished = false
        var waiter: CheckedContinuation<PostgresNotificationEvent?, Never>?
    }

    static let capacity = 4096

    private let state = Mutex(State())

    /// Says that listening has begun, for the first time or again.
    func connect() {
        let isFirst = state.withLock { state in
            defer { state.hasConnected = true }
            return !state.hasConnected
        }
        deliver(isFirst ? .connected : .reconnected)
    }

    func deliver(_ event: PostgresNotificationEvent) {
        let waiter = state.withLock { state -> CheckedContinuation<PostgresNotificationEvent?, Never>? in
            guard !state.isFinished else { return nil }
            if let waiter = state.waiter {
                state.waiter = nil
                return waiter
            }
            if state.events.count >= Self.capacity {
                state.events = [.reconnected]
            } else {
                state.events.append(event)
            }
            return nil
        }
        waiter?.resume(returning: event)
    }

    func finish() {
        let waiter = state.withLock { state in
            state.isFinished = true
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(returning: nil)
    }

    /// The next event; nil at the end, or when the task is cancelled.
    func next() async -> PostgresNotificationEvent? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let event = state.withLock { state -> PostgresNotificationEvent?? in
                    if !state.events.isEmpty { return state.events.removeFirst() }
                    // A second reader, or a cancelled task, does not wait.
                    if state.isFinished || state.waiter != nil || Task.isCancelled { return .some(nil) }
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
    }
}
