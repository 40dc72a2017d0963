import NIOCore
import Synchronization

/// What other threads have for the WebSockets and event streams of one event loop.
///
/// A change that concerns a thousand connections is a thousand letters and one call into the loop, after which each connection
/// writes once.
final class LoopMailbox: Sendable {
    enum Letter: Sendable {
        /// What is to be done with a WebSocket.
        case socket(NIOLoopBound<WebSocketConnection>, Content)
        /// Events wait in a stream whose writer waits for them.
        case stream(EventStream)
    }

    enum Content: Sendable {
        /// The text of a live message, in parts that others share, and the generation of which its sender has lost nothing.
        case live(LiveText, generation: Int)
        /// More came than the connection may have before the loop looked.
        case fallBehind
        case close(SocketClosure)
        /// The session of the connection, or its user, is another.
        case authenticated
    }

    private struct Letters {
        var waiting: [Letter] = []
        /// An empty array with memory for the next round.
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

/// The text of a live message: a head of its own, and parts that the messages of other connections share.
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

    /// The text in one piece.
    ///
    /// - Parameter room: bytes that are free before it, where the head of its frame goes.
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
