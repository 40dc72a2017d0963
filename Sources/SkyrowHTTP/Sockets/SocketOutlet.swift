import NIOCore
import SkyrowSystem
import Synchronization

/// The interface to a WebSocket for other threads.
final class SocketOutlet: Sendable {
    private let connection: NIOLoopBound<WebSocketConnection>
    private let mailbox: LoopMailbox
    let room: OutletRoom
    /// Whether the event loop has been notified of an overflow.
    private let isOverfull = Atomic<Bool>(false)
    private let knownGeneration = Atomic<Int>(0)

    init(_ connection: WebSocketConnection, in loop: EventLoopContext) {
        self.connection = NIOLoopBound(connection, eventLoop: loop.eventLoop)
        mailbox = loop.mailbox
        room = OutletRoom(limit: loop.limits.live.buffer)
    }

    /// Sends a live message without waiting; returns false when the message is dropped.
    func send(_ text: LiveText, in generation: Int) -> Bool {
        guard generation.isMultiple(of: 2), generation == self.generation else { return false }
        guard room.enter(text.byteCount) else {
            fallBehind()
            return false
        }
        post(.live(text, generation: generation))
        return true
    }

    /// The generation of the connection's queue, as last reported by the event loop.
    var generation: Int { knownGeneration.load(ordering: .acquiring) }

    /// Called by the event loop with the generation of the queue.
    func note(generation: Int) {
        knownGeneration.store(generation, ordering: .releasing)
    }

    /// Waits until all accepted messages have been sent, or the connection has ended.
    func waitForRoom(atMost limit: Duration) async {
        await room.wait { try await ServiceTimer.sleep(for: limit) }
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
