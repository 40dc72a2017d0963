import NIOCore

/// What one connection has yet to write, and whether its client keeps up: decides, with the clock passed in, and does nothing.
///
/// There are two kinds of messages. A response belongs to a call and is never dropped. A live message is the service's own:
/// when more of them wait than the connection may have, the connection is lagging. Then the live messages that wait are
/// dropped, and so is each that comes, until everything else has left.
///
/// ```swift
/// var queue = OutboundQueue<ByteBuffer>()
/// let action = queue.add(message, bytes: 400, isLive: true, now: .now(), limits)
/// while let message = queue.next() { write(message) }
/// ```
struct OutboundQueue<Message> {
    enum Phase: Hashable, Sendable {
        /// Everything is taken. Next: lagging, closing.
        case current
        /// Live messages are dropped until all that waits has left. Next: current, closing.
        case lagging(since: NIODeadline)
        /// The connection ends after what it has taken, or the client has been too slow: nothing more is taken.
        case closing
    }

    enum Action: Hashable, Sendable {
        /// The connection has dropped what waited, and takes no live messages.
        case fellBehind
        /// It takes them again.
        case caughtUp
        /// The client is too slow for too long, or too often.
        case close
    }

    private struct Entry {
        let message: Message
        let bytes: Int
        let isLive: Bool
    }

    private(set) var phase = Phase.current
    private var entries: CircularBuffer<Entry>?
    /// Bytes that wait, and those of them that belong to live messages.
    private(set) var waitingBytes = 0
    private(set) var waitingLiveBytes = 0
    /// Bytes that were given to the connection and have not left, of live messages and in all.
    private(set) var leavingBytes = 0
    private(set) var leavingLiveBytes = 0
    /// Counts up when the connection falls behind and when it has caught up; odd in between.
    private(set) var generation = 0
    /// When the connection last fell behind.
    private var falls: [NIODeadline] = []

    var isEmpty: Bool { entries == nil }
    /// The bytes of live messages that the connection holds.
    var liveBytes: Int { waitingLiveBytes + leavingLiveBytes }
    var isLagging: Bool { if case .lagging = phase { true } else { false } }

    /// Takes a message, or drops it.
    ///
    /// A connection that holds nothing takes a live message of any length: otherwise one that is longer than the limit would
    /// never arrive.
    mutating func add(
        _ message: Message,
        bytes: Int,
        isLive: Bool,
        now: NIODeadline,
        _ limits: LiveLimits
    ) -> Action? {
        guard isLive else {
            if phase != .closing { append(Entry(message: message, bytes: bytes, isLive: false)) }
            return nil
        }
        guard phase == .current else { return nil }
        guard liveBytes == 0 || liveBytes + bytes <= limits.buffer else { return fallBehind(now: now, limits) }
        append(Entry(message: message, bytes: bytes, isLive: true))
        return nil
    }

    /// Takes the next message that is to be written, in the order in which they came.
    mutating func next() -> (message: Message, bytes: Int, isLive: Bool)? {
        guard let entry = entries?.popFirst() else { return nil }
        if entries?.isEmpty == true { entries = nil }
        waitingBytes -= entry.bytes
        leavingBytes += entry.bytes
        if entry.isLive {
            waitingLiveBytes -= entry.bytes
            leavingLiveBytes += entry.bytes
        }
        return (entry.message, entry.bytes, entry.isLive)
    }

    /// Bytes have left that ``next()`` gave out.
    mutating func left(_ bytes: Int, live: Int) -> Action? {
        leavingBytes -= bytes
        leavingLiveBytes -= live
        guard isLagging, leavingBytes == 0, isEmpty else { return nil }
        return catchUp()
    }

    /// Drops the live messages that wait, because there are too many of them here or in the whole process.
    mutating func fallBehind(now: NIODeadline, _ limits: LiveLimits) -> Action? {
        guard phase == .current else { return nil }
        falls.removeAll { $0 + limits.fallsWithin <= now }
        falls.append(now)
        guard falls.count < limits.falls else { return close() }
        dropLiveMessages()
        phase = .lagging(since: now)
        generation += 1
        return .fellBehind
    }

    /// Looks at the clock.
    ///
    /// A connection whose last bytes left before it fell behind has nothing to wait for.
    mutating func check(now: NIODeadline, _ limits: LiveLimits) -> Action? {
        guard case .lagging(let since) = phase else { return nil }
        if isEmpty, leavingBytes == 0 { return catchUp() }
        return now >= since + limits.lagging ? close() : nil
    }

    /// Takes nothing more; what waits still leaves.
    mutating func finish() {
        phase = .closing
    }

    /// Takes nothing more, and drops what waits.
    mutating func drop() {
        phase = .closing
        entries = nil
        waitingBytes = 0
        waitingLiveBytes = 0
    }

    private mutating func catchUp() -> Action {
        phase = .current
        generation += 1
        return .caughtUp
    }

    private mutating func close() -> Action {
        drop()
        return .close
    }

    private mutating func append(_ entry: Entry) {
        if entries == nil { entries = CircularBuffer(initialCapacity: 4) }
        entries?.append(entry)
        waitingBytes += entry.bytes
        if entry.isLive { waitingLiveBytes += entry.bytes }
    }

    private mutating func dropLiveMessages() {
        entries?.removeAll { $0.isLive }
        if entries?.isEmpty == true { entries = nil }
        waitingBytes -= waitingLiveBytes
        waitingLiveBytes = 0
    }
}
