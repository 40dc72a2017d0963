import NIOCore
import Synchronization

/// Delivers messages of other threads to the WebSockets and event streams of one event loop.
///
/// A change for a thousand connections results in a thousand letters and one call
/// into the loop, after which each connection writes once.
final class LoopMailbox: Sendable {
    enum Letter: Sendable {
        /// Content for a WebSocket.
        case socket(NIOLoopBound<WebSocketConnection>, Content)
        /// A stream has events, and its writer waits for them.
        case stream(EventStream)
    }

    enum Content: Sendable {
        /// The text of a live message, in shared parts, and the queue generation for which it was sent.
        case live(LiveText, generation: Int)
        /// More messages came than the connection may hold, before the loop took them.
        case fallBehind
        case close(SocketClosure)
        /// The connection has a new session or user.
        case authenticated
    }

    private struct Letters {
        var waiting: [Letter] = []
        /// An empty array whose memory is reused for the next round.
        var spare: [Letter] = []
    }

    private let eventLoop: any EventLoop
    private let letters = Mutex(Letters())

    init(_ eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
    }

    func post(_ letter: Letter) {
        let isFirst = letters.withLock { letters in
            letters.waiting.append(letter)
            return letters.waiting.count == 1
        }
        if isFirst { eventLoop.execute { self.deliver() } }
    }

    private func deliver() {
        var taken = letters.withLock { letters in
            let taken = letters.waiting
            letters.waiting = letters.spare
            letters.spare = []
            return taken
        }
        var touched: [WebSocketConnection] = []
        for letter in taken {
            switch letter {
            case .socket(let connection, let content):
                if connection.value.take(content) { touched.append(connection.value) }
            case .stream(let stream):
                stream.writeWaiting()
            }
        }
        for connection in touched { connection.flushNow() }
        taken.removeAll(keepingCapacity: taken.capacity <= LoopMailbox.keptCapacity)
        letters.withLock { $0.spare = taken }
    }

    private static let keptCapacity = 4096
}

/// The text of a live message: its own head and tail, and parts shared with the messages of other connections.
struct LiveText: Sendable {
    let head: StaticString
    let parts: [[UInt8]]
    let tail: StaticString
    let byteCount: Int

    init(head: StaticString, parts: [[UInt8]], tail: StaticString) {
        self.head = head
        self.parts = parts
        self.tail = tail
        byteCount = head.utf8CodeUnitCount + parts.reduce(0) { $0 + $1.count } + tail.utf8CodeUnitCount
    }

    /// Returns the text in one buffer.
    ///
    /// - Parameter room: Free bytes in front of the text, for the frame header.
    func buffer(room: Int = 0) -> ByteBuffer {
        var buffer = ByteBufferAllocator().buffer(capacity: room + byteCount)
        buffer.moveWriterIndex(to: room)
        buffer.moveReaderIndex(to: room)
        buffer.writeStaticString(head)
        for part in parts { buffer.writeBytes(part) }
        buffer.writeStaticString(tail)
        return buffer
    }
}
