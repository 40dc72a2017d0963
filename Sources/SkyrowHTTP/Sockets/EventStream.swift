internal import Glibc
import NIOCore
import SkyrowActions
import SkyrowConcurrency
import SkyrowModel
import SkyrowSystem
import Synchronization

/// An event stream (https://html.spec.whatwg.org/multipage/server-sent-events.html) of one response: the messages of a live
/// session wait here until the client takes them.
final class EventStream: LiveOutlet, CallConnection, Sendable {
    fileprivate enum End {
        /// What has come is written, and the reason behind it.
        case closed(LiveClosure)
        /// The client is gone, or the server ends the response.
        case cancelled
    }

    /// What is to be done next.
    fileprivate enum Step {
        case write(Events)
        /// The client has yet to take what was written.
        case wait(Size)
        case heartbeat
        case end(LiveClosure?)
    }

    /// What is written in one go.
    fileprivate struct Events {
        var text = ByteBuffer()
        var size = Size()
    }

    /// How much is written in one go: bytes, and those of live messages among them.
    fileprivate struct Size {
        var bytes = 0
        var live = 0
    }

    fileprivate struct State {
        var queue = OutboundQueue<ByteBuffer>()
        /// What it begins with, until that is written.
        var beginning = ByteBuffer()
        var live: LiveSession?
        var seat: LiveSeat?
        var share: LiveMemory.Share?
        var writer: ResponseWriter?
        /// The task that writes, while there is nothing to be written.
        var reader: Deferred<Void>?
        /// Whether the event loop will look.
        var isPosted = false
        /// What the event loop has written and the client has yet to take.
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
    /// What the ids of its events end with.
    private let mark: String?

    init(in connections: LiveConnections, seat: LiveSeat, drain: Drain, mark: String? = nil) {
        self.mark = mark
        self.connections = connections
        state = Mutex(State(seat: seat))
        self.drain = drain
    }

    /// The session whose messages it carries; its subscriptions end with the stream.
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
            let action = state.queue.add(
                text,
                bytes: text.readableBytes,
                isLive: true,
                now: .now(),
                connections.limits
            )
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

    /// Waits until all that it has taken has left, or the stream has ended.
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

    func authenticate(
        as caller: Caller,
        _ sender: ActionDispatcher.Sender,
        of service: ActionService
    ) throws(SkyrowError) {
        throw SkyrowError(.notSupported, "An event stream keeps the credentials of its request.")
    }

    /// How much of the memory for live messages waits here.
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
        case .fellBehind:
            connections.noteLagging()
        case .caughtUp:
            state.withLock { $0.live }?.outletCaughtUp()
        case .close:
            close(.tooSlow)
        }
    }

    /// Looks at the clock, once a second.
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

    /// Takes what its first events are.
    ///
    /// They are in no frame of the task that writes, which would keep them for as long as the stream lasts.
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

    /// Writes the stream, until its end or the client's.
    ///
    /// Most events are written by the event loop itself, without waking the task of the response (``writeWaiting()``).
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
                    // A client that is gone has nothing written.
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

    /// Writes what waits, on the event loop, unless the task of the response is at it or the client has to be waited for.
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

    /// The response is over, or never began.
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

    /// How long an `EventSource` waits before it connects anew, in milliseconds.
    private static let usualRetry = 2000
    /// Bytes of events that are written in one go.
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

    /// Takes what waits, up to about a number of bytes; nil where nothing does.
    fileprivate mutating func events(most: Int) -> EventStream.Events? {
        var events = EventStream.Events()
        while events.size.bytes < most, let (part, length, isLive) = queue.next() {
            events.size.bytes += length
            if isLive { events.size.live += length }
            if events.text.readableBytes == 0 { events.text = part } else { events.text.writeImmutableBuffer(part) }
        }
        return events.size.bytes > 0 ? events : nil
    }

    /// Who is to be told that something waits.
    fileprivate enum Next {
        case eventLoop(LoopMailbox)
        case task(Deferred<Void>)
    }

    /// Decides who writes what has come; nil where the event loop or the task of the response will look by itself.
    fileprivate mutating func whoWrites() -> Next? {
        guard reader != nil, !isPosted else { return nil }
        guard let mailbox = writer?.mailbox else { return reader.take().map(Next.task) }
        isPosted = true
        return .eventLoop(mailbox)
    }
}

/// Ends an event stream when the response that holds it is done with, or was never sent.
final class EventStreamHold: Sendable {
    let stream: EventStream

    init(_ stream: EventStream) {
        self.stream = stream
    }

    deinit {
        stream.end()
    }

    /// What the response is made of, which keeps the stream.
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
    /// The event of a live message.
    ///
    /// - Parameter id: that of the event, if not the token of the message.
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

    /// Line breaks in JSON are white space; in an event they would begin another field.
    private mutating func writeLine(_ bytes: some Collection<UInt8>) {
        if bytes.hasLineBreak {
            writeBytes(bytes.map { $0 == 10 || $0 == 13 ? 32 : $0 })
        } else {
            writeBytes(bytes)
        }
    }

    /// The last event of a stream: the code and reason that a WebSocket would be closed with, and when to come back.
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
    /// Whether a line ends in the text; an event is sent to many, so the search is that of the system.
    fileprivate var hasLineBreak: Bool {
        let found = withContiguousStorageIfAvailable { bytes in
            guard let start = bytes.baseAddress else { return false }
            return memchr(start, 10, bytes.count) != nil || memchr(start, 13, bytes.count) != nil
        }
        return found ?? contains { $0 == 10 || $0 == 13 }
    }
}
