import NIOCore
import NIOHTTP1
import SkyrowActions
import SkyrowModel
import Synchronization

/// JSON-RPC over one WebSocket: each message is logged, counted and traced as a request, with the credentials of the connection.
final class RPCConversation: SocketConversation, CallConnection {
    private struct State {
        var sender: ActionDispatcher.Sender
        /// Whether the credentials were accepted.
        var isAuthenticated: Bool
        var outlet: SocketOutlet?
        /// From the first message of these credentials on.
        var live: LiveSession?
        var hasEnded = false
    }

    private let service: SocketService
    private let host: String?
    private let seat: LiveSeat?
    private let state: Mutex<State>

    init(
        _ service: SocketService,
        from sender: ActionDispatcher.Sender,
        host: String?,
        isAuthenticated: Bool,
        seat: LiveSeat?
    ) {
        self.service = service
        self.host = host
        self.seat = seat
        state = Mutex(State(sender: sender, isAuthenticated: isAuthenticated))
    }

    // MARK: - The connection

    var isAuthenticated: Bool { state.withLock { $0.isAuthenticated } }
    var isDraining: Bool { service.drain.hasBegun }
    var standing: RequestStanding { isAuthenticated ? .accepted : .missing }

    func begin(_ outlet: SocketOutlet) {
        state.withLock { $0.outlet = outlet }
    }

    /// The sender of live messages learns it from the first one that is dropped.
    func fellBehind() {}

    func caughtUp() {
        state.withLock { $0.live }?.outletCaughtUp()
    }

    func end() {
        let live = state.withLock { state in
            state.hasEnded = true
            state.outlet = nil
            defer { state.live = nil }
            return state.live
        }
        live?.end()
    }

    /// The subscriptions of the connection, in the application of its credentials; nil when it is gone.
    func live(of service: ActionService) -> LiveSession? {
        state.withLock { state in
            guard let outlet = state.outlet, state.isAuthenticated else { return nil }
            if let live = state.live { return live }
            let live = LiveSession(of: service, outlet: outlet)
            state.live = live
            return live
        }
    }

    // MARK: - Calls

    func respond(to message: ByteBuffer, id: RequestID, arrival: NIODeadline) async -> SocketReply {
        let sender = state.withLock { $0.sender }
        let answer = await service.respond(to: message, from: sender, host: host, id: id, arrival: arrival, on: self)
        var reply = SocketReply(message: answer.message)
        if answer.account.holdsText { reply.account = answer.account }
        // The session has ended, which the client learns with the response.
        if answer.error == .accessTokenNotAccepted, answer.usedOwnCredentials, sender.credentials.accessToken != nil {
            reply.closure = .sessionEnded
        }
        return reply
    }

    func authenticate(
        as caller: Caller,
        _ sender: ActionDispatcher.Sender,
        of service: ActionService
    ) throws(SkyrowError) {
        guard seat?.take(caller.userID) != false else { throw .tooManyConnections }
        let (outlet, live) = state.withLock { state in
            state.sender.credentials = sender.credentials
            state.sender.credentials.isHeld = true
            state.isAuthenticated = true
            // What another caller subscribed to is not this one's.
            defer { state.live = nil }
            return (state.outlet, state.live)
        }
        live?.end()
        outlet?.noteAuthenticated()
    }
}

extension SkyrowError {
    static let tooManyConnections = SkyrowError(
        .rateLimited,
        "There are too many live connections; close one first.",
        info: ["retry_after": .integer(60)]
    )
}
