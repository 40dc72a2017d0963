import NIOCore
import NIOHTTP1
import SkyrowActions
import SkyrowModel
import SkyrowProtocol
import SkyrowTestSupport
import Synchronization

@testable import SkyrowHTTP

/// Serves WebSockets at `/socket` and event streams at `/stream` that a test writes to, and bodies of bytes elsewhere.
final class LiveResponder: HTTPResponder, Changing {
    /// What became of the connections, in order.
    enum Event: Hashable, Sendable {
        case fellBehind
        case caughtUp
        case ended
    }

    private struct State {
        var sockets: [SocketOutlet] = []
        var streams: [EventStream] = []
        var events: [Event] = []
    }

    let connections: LiveConnections
    let drain: Drain
    private let state = Mutex(State())
    let changes = ChangeSignal()

    init(_ limits: LiveLimits = LiveLimits(), drain: Drain = Drain()) {
        connections = LiveConnections(limits)
        self.drain = drain
    }

    var events: [Event] { state.withLock(\.events) }

    /// The sockets that were opened, in order.
    func socket(_ index: Int = 0) async throws -> SocketOutlet {
        try await waiting(until: "socket \(index) is open", hearing: [self]) {
            self.state.withLock { $0.sockets.count > index }
        }
        return state.withLock { $0.sockets[index] }
    }

    func stream(_ index: Int = 0) async throws -> EventStream {
        try await waiting(until: "stream \(index) is open", hearing: [self]) {
            self.state.withLock { $0.streams.count > index }
        }
        return state.withLock { $0.streams[index] }
    }

    fileprivate func note(_ event: Event) {
        state.withLock { $0.events.append(event) }
        changes.notify()
    }

    fileprivate func add(_ socket: SocketOutlet) {
        state.withLock { $0.sockets.append(socket) }
        changes.notify()
    }

    func respond(to request: HTTPRequest) async -> HTTPResponse {
        switch request.head.uri {
        case "/socket":
            var response = HTTPResponse(status: .switchingProtocols)
            response.upgrade = SocketUpgrade(
                conversation: Conversation(self),
                connections: connections,
                seat: connections.seat(.webSocket, of: .none)
            )
            return response
        case "/stream":
            guard let seat = connections.seat(.eventStream, of: .none) else {
                return HTTPResponse(status: .tooManyRequests)
            }
            let stream = EventStream(in: connections, seat: seat, drain: drain)
            connections.watch(stream)
            state.withLock { $0.streams.append(stream) }
            changes.notify()
            stream.begin(with: [ByteBuffer(string: "{\"id\":1}")])
            let hold = EventStreamHold(stream)
            return HTTPResponse(status: .ok, contentType: .other("text/event-stream"), body: .stream(hold.parts))
        case "/never":
            // Until the request is given up.
            try? await Task.sleep(for: .seconds(3600))
            return HTTPResponse(status: .internalServerError)
        default:
            return HTTPResponse(status: .ok, contentType: .plainText, body: ByteBuffer(string: "hello"))
        }
    }

    func standing(of head: HTTPRequestHead) -> RequestStanding { .accepted }

    func refuse(_ fault: HTTPFault, head: HTTPRequestHead?, id: RequestID, peer: Client) -> HTTPResponse {
        HTTPResponse(status: fault.status, contentType: .plainText, body: ByteBuffer(string: "\(fault)"))
    }

    /// Says back what is said.
    private final class Conversation: SocketConversation {
        let responder: LiveResponder
        let standing = RequestStanding.accepted
        let isAuthenticated = true

        init(_ responder: LiveResponder) {
            self.responder = responder
        }

        var isDraining: Bool { responder.drain.hasBegun }

        func begin(_ outlet: SocketOutlet) {
            responder.add(outlet)
        }

        func respond(to message: ByteBuffer, id: RequestID, arrival: NIODeadline) async -> SocketReply {
            SocketReply(message: message)
        }

        func fellBehind() { responder.note(.fellBehind) }
        func caughtUp() { responder.note(.caughtUp) }
        func end() { responder.note(.ended) }
    }
}

extension LiveOutlet {
    /// Sends a message as one who has lost none.
    func send(_ message: LiveMessage) {
        _ = send(message, in: generation)
    }
}

extension LiveMessage {
    /// A message whose parameters are an object with this text.
    static func test(_ text: String, token: String? = nil) -> LiveMessage {
        LiveMessage(.changes, parameters: [Array("{\"text\":".utf8), Array("\"\(text)\"}".utf8)], token: token)
    }

    /// One whose parameters have this many bytes, more or less.
    static func ofBytes(_ count: Int) -> LiveMessage {
        test(String(repeating: "x", count: count))
    }
}
