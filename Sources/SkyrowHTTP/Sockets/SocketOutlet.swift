import NIOCore
import Synchronization

/// By which other threads reach a WebSocket.
final class SocketOutlet: Sendable {
    private let connection: NIOLoopBound<WebSocketConnection>
    private let mailbox: LoopMailbox
    private let limit: Int
    /// Bytes that the event loop has not looked at.
    private let pending = Atomic<Int>(0)
    /// Whether the event loop will learn that there were too many.
    private let isOverfull = Atomic<Bool>(false)

    init(_ connection: WebSocketConnection, in loop: EventLoopContext) {
        self.connection = NIOLoopBound(connection, eventLoop: loop.eventLoop)
        mailbox = loop.mailbox
        limit = loop.limits.live.buffer
    }

    /// Takes a live message and returns at once.
    func send(_ text: LiveText) {
        let bytes = text.byteCount
        let total = pending.add(bytes, ordering: .relaxed).newValue
        guard total <= limit || total == bytes else {
            pending.subtract(bytes, ordering: .relaxed)
            fallBehind()
            return
        }
        post(.live(text))
    }

    /// The event loop has looked at these.
    func taken(_ bytes: Int) {
        pending.subtract(bytes, ordering: .relaxed)
    }

    func close(_ closure: SocketClosure) {
        post(.close(closure))
    }

    /// Has the connection drop its live messages; called from any thread.
    func fallBehind() {
        if !isOverfull.exchange(true, ordering: .relaxed) { post(.fallBehind) }
    }

    /// The event loop has seen that the connection is to fall behind.
    func noteFall() {
        isOverfull.store(false, ordering: .relaxed)
    }

    func noteAuthenticated() {
        post(.authenticated)
    }

    private func post(_ content: LoopMailbox.Content) {
        mailbox.post(LoopMailbox.Letter(connection: connection, content: content))
    }
}
