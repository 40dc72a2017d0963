import NIOCore
import SkyrowModel
import SkyrowProtocol

/// The application protocol of a WebSocket: responds to messages. The only interface
/// that the transport needs from the layer above.
protocol SocketConversation: AnyObject, Sendable {
    /// Which limits apply to the client's messages before they are read.
    var standing: RequestStanding { get }
    /// Whether the client is authenticated.
    var isAuthenticated: Bool { get }
    /// Whether the process is about to shut down.
    var isDraining: Bool { get }

    /// Notes that the connection is open.
    func begin(_ outlet: SocketOutlet)
    /// Performs the calls of a message. Runs on the connection's event loop and must not block; cancelled when it takes too long
    /// or the client is gone.
    func respond(to message: ByteBuffer, id: RequestID, arrival: NIODeadline) async -> SocketReply
    /// Notes that the connection dropped live messages, or accepts them again.
    func fellBehind()
    func caughtUp()
    /// Notes that the connection is gone.
    func end()
}

/// The result of a message.
struct SocketReply: Sendable {
    /// nil when the message had notifications only.
    var message: ByteBuffer?
    /// The account of a long message's memory until the message is written.
    var account: ResponseAccount?
    /// The closure with which the connection ends after the reply.
    var closure: SocketClosure?
}

/// The WebSocket that an HTTP/1.1 connection becomes.
struct SocketUpgrade: Sendable {
    let conversation: any SocketConversation
    let connections: LiveConnections
    /// nil when the connection exceeds a limit; it is then closed at once.
    let seat: LiveSeat?
}
