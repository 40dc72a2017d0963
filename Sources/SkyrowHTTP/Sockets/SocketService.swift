import Logging
import NIOCore
import NIOHTTP1
import SkyrowActions
import SkyrowModel
import SkyrowProtocol
import Tracing

/// Opens the WebSockets of a service, and performs their messages.
final class SocketService: Sendable {
    let applications: Applications
    let drain: Drain
    let connections: LiveConnections
    private let cors: CORSPolicy
    private let limits: HTTPLimits
    private let responseMemory: ResponseMemory
    private let log: RequestLog
    private let metrics: RequestMetrics
    private let tracing: RequestTracing?

    init(
        applications: Applications,
        drain: Drain,
        connections: LiveConnections,
        cors: CORSPolicy,
        limits: HTTPLimits,
        responseMemory: ResponseMemory,
        log: RequestLog,
        metrics: RequestMetrics,
        tracing: RequestTracing?
    ) {
        self.applications = applications
        self.drain = drain
        self.connections = connections
        self.cors = cors
        self.limits = limits
        self.responseMemory = responseMemory
        self.log = log
        self.metrics = metrics
        self.tracing = tracing
    }

    // MARK: - Opening

    /// Responds to a request for a WebSocket at `/rpc`: with the upgrade, or with an error.
    func open(
        _ request: HTTPRequest,
        headers: RequestHeaders,
        from sender: Sender,
        of finder: ApplicationFinder,
        context: RequestContext
    ) async -> RequestOutcome {
        let subprotocol: String?
        do {
            subprotocol = try WebSocketHandshake.examine(request.head, cors: cors)
        } catch {
            return .refusal(of: error)
        }
        guard connections.limits.isOn else { return .failure(.liveIsOff, in: .rpc(.null), status: .notFound, .http) }
        guard !drain.hasBegun else {
            let error = SkyrowError(.overloaded, "The service is shutting down; try again in a moment.")
            return .failure(error, in: .rpc(.null), status: .serviceUnavailable, .http)
        }
        let runner = await finder.runner(sender.credentials)
        let seat = connections.seat(.webSocket, of: sender.client)
        var held = sender
        held.credentials.isHeld = true
        var user: UserID?
        let hasCredentials = !(sender.credentials.key ?? "").isEmpty || !(sender.credentials.accessToken ?? "").isEmpty
        do throws(SkyrowError) {
            try runner.admit(sender)
            if hasCredentials {
                user = try await runner.authenticate(sender, id: context.id).userID
                guard seat?.take(user) != false else { throw .tooManyConnections }
            }
        } catch {
            let status = error.code.httpStatus
            return .failure(error, in: .rpc(.null), status: status, .webSocket, userID: user)
        }
        var fields: [HTTPField] = []
        if let subprotocol { fields.append(HTTPField("sec-websocket-protocol", subprotocol)) }
        var response = HTTPResponse(status: .switchingProtocols, fields: fields)
        response.upgrade = SocketUpgrade(
            conversation: RPCConversation(
                self,
                from: held,
                host: headers.host,
                opened: hasCredentials ? (runner.service, user) : nil,
                seat: seat
            ),
            connections: connections,
            seat: seat
        )
        return RequestOutcome(response, .webSocket, of: runner.service.application, userID: user)
    }

    // MARK: - Messages

    /// The result of a message.
    struct Answer: Sendable {
        let message: ByteBuffer?
        let account: ResponseAccount
        let error: ErrorCode?
        /// Whether the call used the credentials of the connection and set no others.
        let usedOwnCredentials: Bool
    }

    func respond(
        to message: ByteBuffer,
        from sender: Sender,
        host: String?,
        id: RequestID,
        arrival: NIODeadline,
        on connection: RPCConversation
    ) async -> Answer {
        let account = ResponseAccount(
            limit: limits.responseBytes,
            memory: responseMemory,
            client: ResponseMemory.Client(high: sender.client.high, low: sender.client.low)
        )
        guard let tracing else {
            let context = RequestContext(id: id, account: account, connection: connection)
            let (outcome, answer) = await carryOut(message, from: sender, host: host, on: connection, context: context)
            record(outcome, from: sender, id: id, arrival: arrival)
            return answer
        }
        let span = tracing.begin(at: arrival)
        let (outcome, answer) = await ServiceContext.withValue(span.context) {
            let context = RequestContext(id: id, traceID: span.own?.traceID, account: account, connection: connection)
            return await carryOut(message, from: sender, host: host, on: connection, context: context)
        }
        var traced = outcome
        traced.traceID = span.own?.traceID
        span.end(traced, method: .webSocketMessage, id: id)
        record(traced, from: sender, id: id, arrival: arrival)
        return answer
    }

    private func carryOut(
        _ message: ByteBuffer,
        from sender: Sender,
        host: String?,
        on connection: RPCConversation,
        context: RequestContext
    ) async -> (RequestOutcome, Answer) {
        guard let standard = applications.default else {
            let error = SkyrowError(.overloaded, "The service is starting; try again in a moment.")
            let outcome = RequestOutcome.failure(error, in: .rpc(.null), status: .serviceUnavailable, .http)
            let text = outcome.response.bytes(for: nil)
            return (
                outcome,
                Answer(message: text, account: context.account, error: error.code, usedOwnCredentials: false)
            )
        }
        let finder = ApplicationFinder(applications, standard: standard, host: host)
        let runner = await finder.runner(sender.credentials)
        let session = JSONRPCSession(
            runner: runner,
            sender: sender,
            live: connection.live(of: runner.service),
            finder: finder
        )
        let reply = await session.handle(message, context: context)
        let status: HTTPResponseStatus = reply.message == nil ? .noContent : .ok
        let outcome = RequestOutcome(HTTPResponse(status: status), reply.subject, of: runner.service.application, reply)
        let answer = Answer(
            message: reply.message,
            account: context.account,
            error: reply.error,
            usedOwnCredentials: reply.subject != .action(Actions.connectionAuthenticate.name)
        )
        return (outcome, answer)
    }

    private func record(_ outcome: RequestOutcome, from sender: Sender, id: RequestID, arrival: NIODeadline) {
        let time = NIODeadline.now() - arrival
        metrics.record(outcome, of: outcome.application, time: time)
        let client = Client(address: sender.address, isSecure: false)
        log.record(outcome, method: .webSocketMessage, id: id, client: client, time: time)
    }
}

extension SkyrowError {
    static let liveIsOff = SkyrowError(.undefinedOperation, "Live connections are disabled (setting live).")
}

extension RequestOutcome {
    fileprivate static func refusal(of refusal: WebSocketHandshake.Refusal) -> RequestOutcome {
        switch refusal {
        case .none:
            let error = SkyrowError(
                .undefinedOperation,
                "GET opens a WebSocket here (RFC 6455, over HTTP/1.1); send other calls by POST."
            )
            var outcome = failure(error, in: .rpc(.null), status: .upgradeRequired, .http)
            outcome.response.fields += [HTTPField("upgrade", "websocket"), HTTPField("connection", "Upgrade")]
            return outcome
        case .malformed:
            let error = SkyrowError(
                .badRequest,
                "A WebSocket request is a GET over HTTP/1.1 with Connection: Upgrade and one Sec-WebSocket-Key of 16 bytes."
            )
            return failure(error, in: .rpc(.null), status: .badRequest, .http)
        case .version:
            let error = SkyrowError(.badRequest, "The WebSocket version must be 13.")
            var outcome = failure(error, in: .rpc(.null), status: .upgradeRequired, .http)
            outcome.response.fields += [
                HTTPField("sec-websocket-version", "13"), HTTPField("upgrade", "websocket"),
                HTTPField("connection", "Upgrade"),
            ]
            return outcome
        case .origin:
            let error = SkyrowError(.permissionDenied, "This origin is not allowed to call the service (setting cors).")
            return failure(error, in: .rpc(.null), status: .forbidden, .http)
        }
    }
}
