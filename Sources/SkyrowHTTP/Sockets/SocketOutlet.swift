import NIOCore
import SkyrowConcurrency
import SkyrowSystem
import Synchronization

/// The interface to a WebSocket for other threads.
final class SocketOutlet: Sendable {
    private let connection: NIOLoopBound<WebSocketConnection>
    private let mailbox: LoopMailbox
    private let limit: Int
    /// Bytes that the event loop has not taken.
    private let pending = Atomic<Int>(0)
    /// Whether the event loop has been notified of an overflow.
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

    /// Sends a live message without waiting; returns false when the message is dropped.
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

    /// The generation of the connection's queue, as last reported by the event loop.
    var generation: Int { knownGeneration.load(ordering: .acquiring) }

    /// Called by the event loop when it has taken bytes.
    func taken(_ bytes: Int) {
        pending.subtract(bytes, ordering: .relaxed)
    }

    /// Called by the event loop with the generation of the queue.
    func note(generation: Int) {
        knownGeneration.store(generation, ordering: .releasing)
    }

    /// Called by the event loop with the bytes of live messages that the connection holds.
    func note(heldBytes: Int) {
        self.heldBytes.store(heldBytes, ordering: .relaxed)
        if heldBytes == 0 { room.wake() }
    }

    /// Waits until all accepted messages have been sent, or the connection has ended.
    func waitForRoom(atMost limit: Duration) async {
        await room.wait {
            try await ServiceTimer.sleep(for: limit)
        } unless: {
            let isEmpty = pending.load(ordering: .relaxed) == 0 && heldBytes.load(ordering: .relaxed) == 0
            return isEmpty || hasEnded.load(ordering: .relaxed)
        }
    }

    /// Notes that the connection is gone.
    func end() {
        hasEnded.store(true, ordering: .relaxed)
        room.wake()
    }

    func close(_ closure: SocketClosure) {
        post(.close(closure))
    }

    /// Makes the connection drop its live messages; called from any thread.
    func fallBehind() {
        if !isOverfull.exchange(true, ordering: .relaxed) { post(.fallBehind) }
    }

    /// Called by the event loop when the connection falls behind.
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
