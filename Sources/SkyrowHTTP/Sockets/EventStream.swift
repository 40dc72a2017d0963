import NIOCore
import SkyrowActions
import SkyrowModel
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
        case write(ByteBuffer, bytes: Int, live: Int)
        case heartbeat
        case end(LiveClosure?)
    }

    fileprivate struct State {
        var queue = OutboundQueue<ByteBuffer>()
        /// What it begins with, until that is written.
        var beginning = ByteBuffer()
        var live: LiveSession?
        var seat: LiveSeat?
        var share: LiveMemory.Share?
        var reader: CheckedContinuation<Void, Never>?
        var end: End?
        var isBeating = false
        var lastWrite = NIODeadline.now()
        var hasEnded = false

        mutating func takeReader() -> CheckedContinuation<Void, Never>? {
            defer { reader = nil }
            return reader
        }
    }

    private let connections: LiveConnections
    private let state: Mutex<State>

    private let drain: Drain
    private let room = RoomWaiters()

    init(in connections: LiveConnections, seat: LiveSeat, drain: Drain) {
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
        let text = ByteBuffer(event: message)
        let (isTaken, action, reader) = state.withLock { state -> (Bool, OutboundQueue<ByteBuffer>.Action?, _) in
            guard generation == state.queue.generation, state.queue.phase == .current else {
                return (false, nil, CheckedContinuation<Void, Never>?.none)
            }
            let action = state.queue.add(
                text,
                bytes: text.readableBytes,
                isLive: true,
                now: .now(),
                connections.limits
            )
            return (action == nil, action, state.takeReader())
        }
        count()
        perform(action)
        reader?.resume()
        return isTaken
    }

    var generation: Int { state.withLock(\.queue.generation) }

    /// Waits until all that it has taken has left, or the stream has ended.
    func waitForRoom(atMost limit: Duration) async {
        await room.wait(atMost: limit) { [self] in state.withLock { $0.queue.liveBytes == 0 || $0.hasEnded } }
    }

    func close(_ reason: LiveClosure) {
        let reader = state.withLock { state in
            if state.end == nil { state.end = .closed(reason) }
            return state.takeReader()
        }
        reader?.resume()
    }

    func authenticate(
        as caller: Caller,
        _ sender: ActionDispatcher.Sender,
        of service: ActionService
    ) throws(SkyrowError) {
        throw SkyrowError(.notSupported, "An event stream keeps the credentials of its request.")
    }

    /// Says how much of the memory for live messages waits here.
    private func count() {
        let (share, bytes) = state.withLock { state in
            guard !state.hasEnded else { return (LiveMemory.Share?.none, 0) }
            if state.share == nil, state.queue.liveBytes > 0 {
                state.share = connections.memory.share { [weak self] in self?.fallBehind() }
            }
            return (state.share, state.queue.liveBytes)
        }
        share?.set(bytes)
        if bytes == 0 { room.wake() }
    }

    private func fallBehind() {
        perform(state.withLock { $0.queue.fallBehind(now: .now(), connections.limits) })
        count()
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
        let action = state.withLock { $0.queue.check(now: now, connections.limits) }
        perform(action)
        count()
        let reader = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard now >= state.lastWrite + connections.limits.heartbeat, state.reader != nil else { return nil }
            state.isBeating = true
            return state.takeReader()
        }
        reader?.resume()
    }

    // MARK: - The response

    /// Takes what its first events are.
    ///
    /// They are in no frame of the task that writes, which would keep them for as long as the stream lasts.
    func begin(with responses: [ByteBuffer]) {
        var beginning = ByteBuffer(string: "retry: \(EventStream.usualRetry)\n\n")
        for response in responses { beginning.writeEvent("response", response) }
        state.withLock { [beginning] in $0.beginning = beginning }
    }

    private func takeBeginning() -> ByteBuffer {
        state.withLock { state in
            defer { state.beginning = ByteBuffer() }
            return state.beginning
        }
    }

    /// Writes the stream, until its end or the client's.
    func write(to writer: ResponseWriter) async throws {
        try await withTaskCancellationHandler {
            try await writer.write(takeBeginning())
            while true {
                switch await next() {
                case .write(let text, let bytes, let live):
                    try await writer.write(text)
                    left(bytes, live: live)
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
                return state.takeReader()
            }
            reader?.resume()
        }
    }

    private var restart: LiveClosure {
        let most = max(connections.limits.restartSpread.nanoseconds / 1_000_000, 100)
        return .restarting(retryAfter: .milliseconds(Int64.random(in: 100...most)))
    }

    private func next() async -> Step {
        while true {
            if let step = state.withLock({ $0.step(most: EventStream.writeSize) }) { return step }
            await withCheckedContinuation { reader in
                let hasMore = state.withLock { state in
                    guard state.queue.isEmpty, state.end == nil, !state.isBeating else { return true }
                    state.reader = reader
                    return false
                }
                if hasMore { reader.resume() }
            }
        }
    }

    private func left(_ bytes: Int, live: Int) {
        let action = state.withLock { state in
            state.lastWrite = .now()
            return state.queue.left(bytes, live: live)
        }
        count()
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
        room.end()
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
        var text = ByteBuffer()
        var bytes = 0
        var live = 0
        while text.readableBytes < most, let (part, length, isLive) = queue.next() {
            bytes += length
            if isLive { live += length }
            if text.readableBytes == 0 { text = part } else { text.writeImmutableBuffer(part) }
        }
        if bytes > 0 { return .write(text, bytes: bytes, live: live) }
        if case .closed(let reason)? = end { return .end(reason) }
        guard isBeating else { return nil }
        isBeating = false
        lastWrite = .now()
        return .heartbeat
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
}

// MARK: - Text

extension ByteBuffer {
    /// The event of a live message.
    init(event message: LiveMessage) {
        self.init()
        reserveCapacity(message.byteCount + 64)
        writeString("event: \(message.method.rawValue)\ndata: ")
        for part in message.parameters { writeLine(part) }
        if let token = message.token { writeString("\nid: \(token)") }
        writeStaticString("\n\n")
    }

    mutating func writeEvent(_ name: StaticString, _ data: ByteBuffer) {
        writeStaticString("event: ")
        writeStaticString(name)
        writeStaticString("\ndata: ")
        writeLine(data.readableBytesView)
        writeStaticString("\n\n")
    }

    /// Line breaks in JSON are white space; in an event they would begin another field.
    private mutating func writeLine(_ bytes: some Collection<UInt8>) {
        func ends(_ byte: UInt8) -> Bool { byte == 10 || byte == 13 }
        if bytes.contains(where: ends) {
            writeBytes(bytes.map { ends($0) ? 32 : $0 })
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
