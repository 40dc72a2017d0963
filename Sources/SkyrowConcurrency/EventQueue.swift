internal import Synchronization

/// The events that the one reader of a stream has not read yet; how many there may be is up to what offers them.
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

    /// Has `add` put something in; returns what it returns, or true after the end, when nothing is put in.
    package func offer(_ add: @Sendable (inout EventBuffer<Event>) -> Bool) -> Bool {
        let (isTaken, reader) = state.withLock { $0.offer(add) }
        reader?.settle()
        return isTaken
    }

    /// Ends the stream, at once or behind what waits.
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

    /// What those events weigh that wait.
    package var weight: Int { state.withLock(\.events.weight) }

    package var isEmpty: Bool { state.withLock(\.events.isEmpty) }
}

/// The events of a queue in their order, each with its weight: as a value.
package struct EventBuffer<Event> {
    private var entries: [(event: Event, weight: Int)?] = []
    /// How many were read; they are removed together.
    private var read = 0
    /// What those weigh that wait.
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

/// A queue of events and its reader: as a value (``EventQueue``).
struct EventQueueState<Event, Reader> {
    /// What becomes of a reader.
    enum Step {
        case event(Event)
        case over
        /// Until this is settled; then it asks again.
        case waits(Reader)
    }

    private(set) var events = EventBuffer<Event>()
    private var hasFinished = false
    private var reader: Reader?

    /// Has something put in; returns whom to resume.
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

    /// Takes out the reader, which asks again: there is something, or it was cancelled.
    mutating func wake() -> Reader? {
        reader.take()
    }

    mutating func finish(dropping drops: Bool) -> Reader? {
        hasFinished = true
        if drops { events.removeAll() }
        return reader.take()
    }
}
