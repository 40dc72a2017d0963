import NIOCore
import NIOHTTP1
import SkyrowActions
import SkyrowModel
import SkyrowProtocol
import Synchronization

/// JSON-RPC over one WebSocket. Each message is logged, counted and traced as a request, with the credentials of the connection.
final class RPCConversation: SocketConversation, CallConnection {
    private struct State {
        var sender: Sender
        /// Whether the credentials were accepted.
        var isAuthenticated: Bool
        var outlet: SocketOutlet?
        /// Created with the first message after authentication.
        var live: LiveSession?
        /// Stops watching the session of the credentials.
        var release: (@Sendable () -> Void)?
        var hasEnded = false
    }

    private let service: SocketService
    private let host: String?
    private let seat: LiveSeat?
    /// The application and user of the credentials in the request's head, if they were accepted.
    private let opened: (service: ActionService, user: UserID?)?
    private let state: Mutex<State>

    init(
        _ service: SocketService,
        from sender: Sender,
        host: String?,
        opened: (service: ActionService, user: UserID?)?,
        seat: LiveSeat?
    ) {
        self.service = service
        self.opened = opened
        self.host = host
        self.seat = seat
        state = Mutex(State(sender: sender, isAuthenticated: opened != nil))
    }

    // MARK: - The connection

    var isAuthenticated: Bool { state.withLock { $0.isAuthenticated } }
    var isDraining: Bool { service.drain.hasBegun }
    var standing: RequestStanding { isAuthenticated ? .accepted : .missing }

    func begin(_ outlet: SocketOutlet) {
        let credentials = state.withLock { state in
            state.outlet = outlet
            return state.sender.credentials
        }
        if let opened { hold(credentials, of: opened.user, opened.service, outlet) }
    }

    /// Closes the connection when the session of its credentials ends, even while no call is made.
    private func hold(_ credentials: Credentials, of user: UserID?, _ service: ActionService, _ outlet: SocketOutlet) {
        let release = service.holdSession(of: credentials, by: user) { outlet.close(SocketClosure.sessionEnded) }
        let former = state.withLock { state -> (@Sendable () -> Void)? in
            guard !state.hasEnded else { return release }
            defer { state.release = release }
            return state.release
        }
        former?()
    }

    /// The sender of live messages notices it when the first message is dropped.
    func fellBehind() {}

    func caughtUp() {
        state.withLock { $0.live }?.outletCaughtUp()
    }

    func end() {
        let (live, release) = state.withLock { state in
            state.hasEnded = true
            state.outlet = nil
            defer {
                state.live = nil
                state.release = nil
            }
            return (state.live, state.release)
        }
        live?.end()
        release?()
    }

    /// Returns the subscriptions of the connection, in the application of its credentials; nil when the connection is gone.
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
        // The session has ended; the client learns it from the response.
        if answer.error == .accessTokenNotAccepted, answer.usedOwnCredentials, sender.credentials.accessToken != nil {
            reply.closure = .sessionEnded
        }
        return reply
    }

    func authenticate(as caller: Caller, with credentials: Credentials, of service: ActionService) throws(SkyrowError) {
        guard seat?.take(caller.userID) != false else { throw .tooManyConnections }
        let (outlet, live) = state.withLock { state in
            state.sender.credentials = credentials
            state.sender.credentials.isHeld = true
            state.isAuthenticated = true
            // The new caller must not get the previous caller's subscriptions.
            defer { state.live = nil }
            return (state.outlet, state.live)
        }
        live?.end()
        outlet?.noteAuthenticated()
        if let outlet { hold(credentials, of: caller.userID, service, outlet) }
    }
}

extension SkyrowError {
    static let tooManyConnections = SkyrowError(
        .rateLimited,
        "Too many live connections are open; close one first.",
        info: ["retry_after": .integer(60)]
    )
}
