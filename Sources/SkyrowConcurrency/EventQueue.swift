internal import Synchronization

/// The unread events of a stream with one reader; the code that offers events bounds them.
///
/// ```swift
/// let isTaken = queue.offer { events in
///     guard events.weight < 4096 else { return false }
///     events.append(event)
///     return true
/// }
/// while let event = await queue.next() { … }
/// ```
package final class EventQueue<Event: Sendable>: Sendable {
    private let state = Mutex(EventQueueState<Event, Deferred<Void>>())

    package init() {}

    /// Lets `add` append events and returns its result; after the end, appends nothing and returns true.
    package func offer(_ add: @Sendable (inout EventBuffer<Event>) -> Bool) -> Bool {
        let (isTaken, reader) = state.withLock { $0.offer(add) }
        reader?.settle()
        return isTaken
    }

    /// Ends the stream, at once or after the unread events.
    package func finish(dropping drops: Bool = false) {
        state.withLock { $0.finish(dropping: drops) }?.settle()
    }

    /// The next event; nil at the end, when the task is cancelled, and for a second reader that would have to wait.
    package func next() async -> Event? {
        while true {
            switch state.withLock({ $0.next(isCancelled: Task.isCancelled) { Deferred() } }) {
            case .event(let event): return event
            case .over: return nil
            case .waits(let reader): await reader.value { _ in self.state.withLock { $0.wake() }?.settle() }
            }
        }
    }

    /// The total weight of the unread events.
    package var weight: Int { state.withLock(\.events.weight) }

    package var isEmpty: Bool { state.withLock(\.events.isEmpty) }
}

/// The events of a queue in order, each with a weight; a value type.
package struct EventBuffer<Event> {
    private var entries: [(event: Event, weight: Int)?] = []
    /// How many entries were read; they are removed in bulk.
    private var read = 0
    /// The total weight of the unread events.
    package private(set) var weight = 0

    package init() {}

    package var isEmpty: Bool { read == entries.count }
    package var last: Event? { isEmpty ? nil : entries.last??.event }

    package mutating func append(_ event: Event, weight: Int = 1) {
        entries.append((event, weight))
        self.weight += weight
    }

    package mutating func removeLast() {
        guard !isEmpty, let entry = entries.removeLast() else { return }
        weight -= entry.weight
    }

    package mutating func removeAll() {
        self = EventBuffer()
    }

    package mutating func removeFirst() -> Event? {
        guard !isEmpty, let entry = entries[read].take() else { return nil }
        read += 1
        weight -= entry.weight
        if isEmpty || read >= 256 {
            entries.removeFirst(read)
            read = 0
        }
        return entry.event
    }
}

extension EventBuffer: Sendable where Event: Sendable {}

/// A queue of events and its reader, as a value type (``EventQueue``).
struct EventQueueState<Event, Reader> {
    /// What a reader does next.
    enum Step {
        case event(Event)
        case over
        /// Waits until this is settled, then tries again.
        case waits(Reader)
    }

    private(set) var events = EventBuffer<Event>()
    private var hasFinished = false
    private var reader: Reader?

    /// Lets events be appended; returns the reader to resume.
    mutating func offer(_ add: (inout EventBuffer<Event>) -> Bool) -> (isTaken: Bool, reader: Reader?) {
        guard !hasFinished else { return (true, nil) }
        let isTaken = add(&events)
        return (isTaken, events.isEmpty ? nil : reader.take())
    }

    mutating func next(isCancelled: Bool, _ makeReader: () -> Reader) -> Step {
        guard !isCancelled else { return .over }
        if let event = events.removeFirst() { return .event(event) }
        guard !hasFinished, reader == nil else { return .over }
        let new = makeReader()
        reader = new
        return .waits(new)
    }

    /// Removes the reader, which then tries again: an event arrived or the task was cancelled.
    mutating func wake() -> Reader? {
        reader.take()
    }

    mutating func finish(dropping drops: Bool) -> Reader? {
        hasFinished = true
        if drops { events.removeAll() }
        return reader.take()
    }
}
