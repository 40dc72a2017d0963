import NIOCore
import SkyrowModel

/// What is said over a WebSocket: messages come in, and a reply to each goes out. All that the transport needs of the layer above.
protocol SocketConversation: AnyObject, Sendable {
    /// What the messages of the client may be like before they are looked at.
    var standing: RequestStanding { get }
    /// Whether the client has said who it is.
    var isAuthenticated: Bool { get }
    /// Whether the process is about to end.
    var isDraining: Bool { get }

    /// The connection is open.
    func begin(_ outlet: SocketOutlet)
    /// Carries out the calls of a message. Runs on the connection's event loop and must not block; cancelled when it takes too
    /// long or the client is gone.
    func respond(to message: ByteBuffer, id: RequestID, arrival: NIODeadline) async -> SocketReply
    /// The connection dropped live messages, or has room for them again.
    func fellBehind()
    func caughtUp()
    /// The connection is gone.
    func end()
}

/// What comes of a message.
struct SocketReply: Sendable {
    /// nil when the message had notifications only.
    var message: ByteBuffer?
    /// What counts the memory of a long message until it is written.
    var account: ResponseAccount?
    /// With what the connection is to end after the reply.
    var closure: SocketClosure?
}

/// The WebSocket that an HTTP/1.1 connection is to become.
struct SocketUpgrade: Sendable {
    let conversation: any SocketConversation
    let connections: LiveConnections
    /// nil when the connection is one too many, for which it is closed at once.
    let seat: LiveSeat?
}
