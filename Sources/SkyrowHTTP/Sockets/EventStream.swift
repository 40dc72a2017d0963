internal import Glibc
import NIOCore
import SkyrowActions
import SkyrowConcurrency
import SkyrowModel
import SkyrowSystem
import Synchronization

/// An event stream (https://html.spec.whatwg.org/multipage/server-sent-events.html) as one response. The messages of a live
/// session wait here until the client reads them.
final class EventStream: LiveOutlet, CallConnection, Sendable {
    fileprivate enum End {
        /// Ends after the queued messages, with this reason as the last event.
        case closed(LiveClosure)
        /// The client is gone, or the server ends the response.
        case cancelled
    }

    /// What the writing task does next.
    fileprivate enum Step {
        case write(Events)
        /// Wait until the client has read what was written.
        case wait(Size)
        case heartbeat
        case end(LiveClosure?)
    }

    /// The events of one write.
    fileprivate struct Events {
        var text = ByteBuffer()
        var size = Size()
    }

    /// The size of one write: its bytes, and those of live messages among them.
    fileprivate struct Size {
        var bytes = 0
        var live = 0
    }

    fileprivate struct State {
        var queue = OutboundQueue<ByteBuffer>()
        /// The first events, until they are written.
        var beginning = ByteBuffer()
        var live: LiveSession?
        var seat: LiveSeat?
        var share: LiveMemory.Share?
        var writer: ResponseWriter?
        /// Wakes the writing task, while it has nothing to write.
        var reader: Deferred<Void>?
        /// Whether a write is posted to the event loop.
        var isPosted = false
        /// The last write of the event loop, while the client has not read it.
        var untaken: Size?
        var end: End?
        var isBeating = false
        var lastWrite = NIODeadline.now()
        var hasEnded = false

        init(seat: LiveSeat) {
            self.seat = seat
        }

        mutating func keepReader() -> Deferred<Void> {
            let new = Deferred<Void>()
            reader = new
            return new
        }
    }

    private let connections: LiveConnections
    private let state: Mutex<State>

    private let drain: Drain
    private let room = WaitingTasks<OneKey>()
    /// The suffix of event ids.
    private let mark: String?

    init(in connections: LiveConnections, seat: LiveSeat, drain: Drain, mark: String? = nil) {
        self.mark = mark
        self.connections = connections
        state = Mutex(State(seat: seat))
        self.drain = drain
    }

    /// Sets the session whose messages the stream carries; its subscriptions end with the stream.
    func begin(_ live: LiveSession) {
        state.withLock { $0.live = live }
        connections.watch(self)
    }

    // MARK: - Messages

    func send(_ message: LiveMessage, in generation: Int) -> Bool {
        let text = event(of: message)
        let (isTaken, action, holding, next) = state.withLock { state in
            guard generation == state.queue.generation, state.queue.phase == .current else {
                return (false, OutboundQueue<ByteBuffer>.Action?.none, Holding?.none, State.Next?.none)
            }
            let action = state.queue.add(text, bytes: text.readableBytes, isLive: true, now: .now(), connections.limits)
            return (action == nil, action, self.holding(&state), state.whoWrites())
        }
        note(holding)
        perform(action)
        switch next {
        case .eventLoop(let mailbox): mailbox.post(.stream(self))
        case .task(let reader): reader.settle()
        case nil: break
        }
        return isTaken
    }

    private func event(of message: LiveMessage) -> ByteBuffer {
        guard let mark, let token = message.token else { return connections.event(of: message) }
        return ByteBuffer(event: message, id: EventID.text(token, mark))
    }

    var generation: Int { state.withLock(\.queue.generation) }

    /// Waits until all accepted messages have been sent, or the stream has ended.
    func waitForRoom(atMost limit: Duration) async {
        await room.wait {
            try await ServiceTimer.sleep(for: limit)
        } unless: {
            state.withLock { $0.queue.liveBytes == 0 || $0.hasEnded }
        }
    }

    func close(_ reason: LiveClosure) {
        let reader = state.withLock { state in
            if state.end == nil { state.end = .closed(reason) }
            return state.reader.take()
        }
        reader?.settle()
    }

    func authenticate(as caller: Caller, with credentials: Credentials, of service: ActionService) throws(SkyrowError) {
        throw SkyrowError(.notSupported, "An event stream cannot change its credentials; open a new one.")
    }

    /// The stream's share of the live-message memory, and the bytes that it holds.
    private typealias Holding = (share: LiveMemory.Share?, bytes: Int)

    private func holding(_ state: inout State) -> Holding {
        guard !state.hasEnded else { return (nil, 0) }
        if state.share == nil, state.queue.liveBytes > 0 {
            state.share = connections.memory.share { [weak self] in self?.fallBehind() }
        }
        return (state.share, state.queue.liveBytes)
    }

    private func note(_ holding: Holding?) {
        guard let holding else { return }
        holding.share?.set(holding.bytes)
        if holding.bytes == 0 { room.wake() }
    }

    private func fallBehind() {
        let (action, holding) = state.withLock { state in
            let action = state.queue.fallBehind(now: .now(), connections.limits)
            return (action, self.holding(&state))
        }
        perform(action)
        note(holding)
    }

    private func perform(_ action: OutboundQueue<ByteBuffer>.Action?) {
        switch action {
        case nil: break
        case .fellBehind: connections.noteLagging()
        case .caughtUp: state.withLock { $0.live }?.outletCaughtUp()
        case .close: close(.tooSlow)
        }
    }

    /// Checks the deadlines, once a second.
    func check(now: NIODeadline) {
        if drain.hasBegun { close(restart) }
        perform(state.withLock { $0.queue.check(now: now, connections.limits) })
        note(state.withLock { holding(&$0) })
        let isQuiet = state.withLock { now >= $0.lastWrite + connections.limits.heartbeat }
        if isQuiet { beat() }
    }

    /// Sends a heartbeat, unless something is being sent.
    func beat() {
        let reader = state.withLock { state in
            if state.reader != nil { state.isBeating = true }
            return state.reader.take()
        }
        reader?.settle()
    }

    // MARK: - The response

    /// Sets the first events of the stream.
    ///
    /// They are stored here because the frame of the writing task would keep them as long as the stream lasts.
    func begin(with responses: [ByteBuffer]) {
        var beginning = ByteBuffer(string: "retry: \(EventStream.usualRetry)\n\n")
        for response in responses {
            beginning.writeEvent("response", response, id: mark.map { EventID.text("", $0) })
        }
        state.withLock { [beginning] in $0.beginning = beginning }
    }

    private func takeBeginning() -> ByteBuffer {
        state.withLock { state in
            defer { state.beginning = ByteBuffer() }
            return state.beginning
        }
    }

    /// Writes the stream until it ends or its client leaves.
    ///
    /// Most events are written by the event loop itself, without waking the response's task (``writeWaiting()``).
    func write(to writer: ResponseWriter) async throws {
        defer { state.withLock { $0.writer = nil } }
        try await withTaskCancellationHandler {
            try await writer.write(takeBeginning())
            state.withLock { $0.writer = writer }
            while true {
                switch await next() {
                case .write(let events):
                    try await writer.write(events.text)
                    left(events.size)
                case .wait(let size):
                    try await writer.write(ByteBuffer())
                    left(size)
                case .heartbeat:
                    try await writer.write(ByteBuffer(staticString: ":\n\n"))
                case .end(let reason):
                    // Nothing reaches a client that is gone.
                    try await writer.write(ByteBuffer(end: reason ?? restart))
                    return
                }
            }
        } onCancel: {
            let reader = state.withLock { state in
                if state.end == nil { state.end = .cancelled }
                return state.reader.take()
            }
            reader?.settle()
        }
    }

    private var restart: LiveClosure {
        let most = max(connections.limits.restartSpread.nanoseconds / 1_000_000, 100)
        return .restarting(retryAfter: .milliseconds(Int64.random(in: 100...most)))
    }

    private func next() async -> Step {
        while true {
            let (step, reader) = state.withLock { state -> (Step?, Deferred<Void>?) in
                let step = state.step(most: EventStream.writeSize)
                return (step, step == nil ? state.keepReader() : nil)
            }
            if let step { return step }
            await reader?.value()
        }
    }

    /// Writes waiting events on the event loop, unless the response's task is writing or the client must read first.
    func writeWaiting() {
        let (writer, events, reader) = state.withLock { state in
            state.isPosted = false
            guard state.reader != nil, let writer = state.writer else {
                return (ResponseWriter?.none, Events?.none, Deferred<Void>?.none)
            }
            guard writer.hasRoom else { return (nil, nil, state.reader.take()) }
            return (writer, state.events(most: EventStream.writeSize), nil)
        }
        reader?.settle()
        guard let writer, let events else { return }
        if writer.offer(events.text) {
            left(events.size)
        } else {
            let reader = state.withLock { state in
                state.untaken = events.size
                return state.reader.take()
            }
            reader?.settle()
        }
    }

    private func left(_ size: Size) {
        let (action, holding) = state.withLock { state in
            state.lastWrite = .now()
            let action = state.queue.left(size.bytes, live: size.live)
            return (action, self.holding(&state))
        }
        note(holding)
        perform(action)
    }

    /// Cleans up after the response is over or was never sent.
    func end() {
        let (live, share) = state.withLock { state in
            state.hasEnded = true
            state.queue.drop()
            defer {
                state.live = nil
                state.share = nil
                state.seat = nil
            }
            return (state.live, state.share)
        }
        room.wake()
        share?.end()
        live?.end()
        connections.forget(self)
    }

    /// The reconnection time of an `EventSource`, in milliseconds.
    private static let usualRetry = 2000
    /// Bytes of events in one write.
    private static let writeSize = 256 * 1024
}

extension EventStream.State {
    fileprivate mutating func step(most: Int) -> EventStream.Step? {
        if case .cancelled? = end { return .end(nil) }
        if let untaken {
            self.untaken = nil
            return .wait(untaken)
        }
        if let events = events(most: most) { return .write(events) }
        if case .closed(let reason)? = end { return .end(reason) }
        guard isBeating else { return nil }
        isBeating = false
        lastWrite = .now()
        return .heartbeat
    }

    /// Takes waiting events up to about `most` bytes; returns nil when none wait.
    fileprivate mutating func events(most: Int) -> EventStream.Events? {
        var events = EventStream.Events()
        while events.size.bytes < most, let (part, length, isLive) = queue.next() {
            events.size.bytes += length
            if isLive { events.size.live += length }
            if events.text.readableBytes == 0 { events.text = part } else { events.text.writeImmutableBuffer(part) }
        }
        return events.size.bytes > 0 ? events : nil
    }

    /// Who is notified that an event waits.
    fileprivate enum Next {
        case eventLoop(LoopMailbox)
        case task(Deferred<Void>)
    }

    /// Decides who writes a new event; returns nil when the event loop or the response's task will check anyway.
    fileprivate mutating func whoWrites() -> Next? {
        guard reader != nil, !isPosted else { return nil }
        guard let mailbox = writer?.mailbox else { return reader.take().map(Next.task) }
        isPosted = true
        return .eventLoop(mailbox)
    }
}

/// Ends an event stream when its response is over, or was never sent.
final class EventStreamHold: Sendable {
    let stream: EventStream

    init(_ stream: EventStream) {
        self.stream = stream
    }

    deinit {
        stream.end()
    }

    /// The body of the response, which keeps the stream alive.
    var parts: ResponseStream {
        let beat: @Sendable () -> Void = { [weak stream] in stream?.beat() }
        return ResponseStream(isEndless: true, probe: beat) { [self] writer in
            defer { withExtendedLifetime(self) {} }
            try await stream.write(to: writer)
        }
    }
}

// MARK: - Text

extension ByteBuffer {
    /// Creates the event of a live message.
    ///
    /// - Parameter id: The id of the event; by default the token of the message.
    init(event message: LiveMessage, id: String? = nil) {
        self.init()
        reserveCapacity(message.byteCount + 64)
        writeString("event: \(message.method.rawValue)\ndata: ")
        for part in message.parameters.parts { writeLine(part) }
        if let id = id ?? message.token { writeString("\nid: \(id)") }
        writeStaticString("\n\n")
    }

    mutating func writeEvent(_ name: StaticString, _ data: ByteBuffer, id: String?) {
        writeStaticString("event: ")
        writeStaticString(name)
        writeStaticString("\ndata: ")
        writeLine(data.readableBytesView)
        if let id { writeString("\nid: \(id)") }
        writeStaticString("\n\n")
    }

    /// Line breaks are white space in JSON, but would start another field in an event.
    private mutating func writeLine(_ bytes: some Collection<UInt8>) {
        if bytes.hasLineBreak {
            writeBytes(bytes.map { $0 == 10 || $0 == 13 ? 32 : $0 })
        } else {
            writeBytes(bytes)
        }
    }

    /// Creates the last event of a stream: the code and reason with which a WebSocket would be closed, and when to reconnect.
    init(end reason: LiveClosure) {
        self.init()
        let closure = SocketClosure(reason)
        if case .restarting(let time) = reason {
            let (seconds, attoseconds) = time.components
            writeString("retry: \(seconds * 1000 + attoseconds / 1_000_000_000_000_000)\n")
            writeString("event: close\ndata: {\"code\":\(closure.code),\(closure.reason.dropFirst())\n\n")
        } else {
            writeString("event: close\ndata: {\"code\":\(closure.code),\"reason\":\"\(closure.reason)\"}\n\n")
        }
    }
}

extension Collection<UInt8> {
    /// Whether the text has a line break. An event is sent to many streams, so the search uses memchr.
    fileprivate var hasLineBreak: Bool {
        let found = withContiguousStorageIfAvailable { bytes in
            guard let start = bytes.baseAddress else { return false }
            return memchr(start, 10, bytes.count) != nil || memchr(start, 13, bytes.count) != nil
        }
        return found ?? contains { $0 == 10 || $0 == 13 }
    }
}
