import NIOCore

/// The unsent messages of one connection, as a state machine that detects slow clients. The clock is passed in.
///
/// A response belongs to a call and is never dropped. A live message is sent by the service: when more of them wait than the
/// connection may hold, the connection is lagging. The waiting live messages are then dropped, and so is every new one, until
/// everything else has been sent.
///
/// ```swift
/// var queue = OutboundQueue<ByteBuffer>()
/// let action = queue.add(message, bytes: 400, isLive: true, now: .now(), limits)
/// while let message = queue.next() { write(message) }
/// ```
struct OutboundQueue<Message> {
    enum Phase: Hashable, Sendable {
        /// All messages are accepted. Next: lagging, closing.
        case current
        /// Live messages are dropped until everything else is sent. Next: current, closing.
        case lagging(since: NIODeadline)
        /// The connection ends after the accepted messages, or the client was too slow: no message is accepted.
        case closing
    }

    enum Action: Hashable, Sendable {
        /// The connection has dropped its waiting live messages and accepts no more.
        case fellBehind
        /// The connection accepts live messages again.
        case caughtUp
        /// The client was too slow for too long, or too often.
        case close
    }

    private struct Entry {
        let message: Message
        let bytes: Int
        let isLive: Bool
    }

    private(set) var phase = Phase.current
    private var entries: CircularBuffer<Entry>?
    /// Waiting bytes, and those of live messages among them.
    private(set) var waitingBytes = 0
    private(set) var waitingLiveBytes = 0
    /// Bytes that were passed to the channel and are not sent: in total, and of live messages.
    private(set) var leavingBytes = 0
    private(set) var leavingLiveBytes = 0
    /// Incremented when the connection falls behind and when it has caught up; odd in between.
    private(set) var generation = 0
    /// When the connection recently fell behind.
    private var falls: [NIODeadline] = []

    var isEmpty: Bool { entries == nil }
    /// The bytes of live messages that the connection holds.
    var liveBytes: Int { waitingLiveBytes + leavingLiveBytes }
    var isLagging: Bool { if case .lagging = phase { true } else { false } }

    /// Adds a message, or drops it.
    ///
    /// An empty connection accepts a live message of any length; otherwise one longer than the limit would never arrive.
    mutating func add(_ message: Message, bytes: Int, isLive: Bool, now: NIODeadline, _ limits: LiveLimits) -> Action? {
        guard isLive else {
            if phase != .closing { append(Entry(message: message, bytes: bytes, isLive: false)) }
            return nil
        }
        guard phase == .current else { return nil }
        guard liveBytes == 0 || liveBytes + bytes <= limits.buffer else { return fallBehind(now: now, limits) }
        append(Entry(message: message, bytes: bytes, isLive: true))
        return nil
    }

    /// Takes the next message to write, in order of arrival.
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

    /// Notes that bytes of messages taken by ``next()`` were sent.
    mutating func left(_ bytes: Int, live: Int) -> Action? {
        leavingBytes -= bytes
        leavingLiveBytes -= live
        guard isLagging, leavingBytes == 0, isEmpty else { return nil }
        return catchUp()
    }

    /// Drops the waiting live messages, because they exceed the limit of the connection or of the process.
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

    /// Checks the deadlines.
    ///
    /// A connection whose last bytes were sent before it fell behind catches up here.
    mutating func check(now: NIODeadline, _ limits: LiveLimits) -> Action? {
        guard case .lagging(let since) = phase else { return nil }
        if isEmpty, leavingBytes == 0 { return catchUp() }
        return now >= since + limits.lagging ? close() : nil
    }

    /// Accepts no more messages; waiting ones are still sent.
    mutating func finish() {
        phase = .closing
    }

    /// Accepts no more messages, and drops the waiting ones.
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
