import NIOCore
import SkyrowConcurrency
import SkyrowSystem
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
    private let knownGeneration = Atomic<Int>(0)
    private let heldBytes = Atomic<Int>(0)
    private let hasEnded = Atomic(false)
    private let room = WaitingTasks<OneKey>()

    init(_ connection: WebSocketConnection, in loop: EventLoopContext) {
        self.connection = NIOLoopBound(connection, eventLoop: loop.eventLoop)
        mailbox = loop.mailbox
        limit = loop.limits.live.buffer
    }

    /// Takes a live message and returns at once; false where the message is dropped.
    func send(_ text: LiveText, in generation: Int) -> Bool {
        guard generation.isMultiple(of: 2), generation == self.generation else { return false }
        let bytes = text.byteCount
        let total = pending.add(bytes, ordering: .relaxed).newValue
        guard total <= limit || total == bytes else {
            pending.subtract(bytes, ordering: .relaxed)
            fallBehind()
            return false
        }
        post(.live(text, generation: generation))
        return true
    }

    /// That of the connection's queue, as the event loop has last said.
    var generation: Int { knownGeneration.load(ordering: .acquiring) }

    /// The event loop has looked at these.
    func taken(_ bytes: Int) {
        pending.subtract(bytes, ordering: .relaxed)
    }

    /// The event loop says in which generation the queue is.
    func note(generation: Int) {
        knownGeneration.store(generation, ordering: .releasing)
    }

    /// The event loop says how many bytes of live messages the connection holds.
    func note(heldBytes: Int) {
        self.heldBytes.store(heldBytes, ordering: .relaxed)
        if heldBytes == 0 { room.wake() }
    }

    /// Waits until all that it has taken has left, or the connection has ended.
    func waitForRoom(atMost limit: Duration) async {
        await room.wait {
            try await ServiceTimer.sleep(for: limit)
        } unless: {
            let isEmpty = pending.load(ordering: .relaxed) == 0 && heldBytes.load(ordering: .relaxed) == 0
            return isEmpty || hasEnded.load(ordering: .relaxed)
        }
    }

    /// The connection is gone.
    func end() {
        hasEnded.store(true, ordering: .relaxed)
        room.wake()
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
        mailbox.post(.socket(connection, content))
    }
}
