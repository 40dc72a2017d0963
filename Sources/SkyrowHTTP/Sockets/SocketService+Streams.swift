import NIOCore
import NIOHTTP1
import SkyrowActions
import SkyrowJSON
import SkyrowModel
import SkyrowProtocol

extension SocketService {
    /// Handles a `POST /rpc` whose client accepts an event stream; returns nil for an ordinary request.
    ///
    /// A client that also accepts JSON gets a stream for `live:subscribe` and `live:watch`, and JSON for other calls.
    func stream(
        _ body: ByteBuffer,
        headers: RequestHeaders,
        from sender: Sender,
        of finder: ApplicationFinder,
        context: RequestContext
    ) async -> RequestOutcome? {
        guard JSONRPCSession.isSubscription(body) else {
            let takesOthers = headers.accept.map { $0.contains("json") || $0.contains("*/*") } ?? true
            guard !takesOthers else { return nil }
            return counted(
                .failure(.onlySubscriptions, in: .rpc(.null), status: .ok, .unknown),
                from: sender,
                of: finder
            )
        }
        return await begin(body, from: sender, of: finder, context: context, failsWithStatus: false)
    }

    /// Handles `GET /live`: one live query, for clients that cannot send a body, with
    /// a ticket for those that cannot send headers.
    func streamQuery(
        _ uri: String,
        headers: RequestHeaders,
        from sender: Sender,
        of finder: ApplicationFinder,
        context: RequestContext
    ) async -> RequestOutcome {
        var sender = sender
        let query: LiveQueryParameters
        let last = headers.lastEventID.map { EventID($0) }
        var mark: String?
        do throws(SkyrowError) {
            query = try LiveQueryParameters(uri: uri)
            if let ticket = query.ticket {
                let service = await finder.runner(sender.credentials).service
                try service.admit(sender.credentials, from: sender.client)
                let redeemed = try await service.redeem(ticket: ticket, resuming: last?.mark, of: query.subject)
                sender.credentials.accessToken = nil
                sender.credentials.sessionHash = redeemed.session
                if let key = redeemed.key { sender.credentials.key = key }
                mark = redeemed.mark
            }
        } catch {
            let failure = RequestOutcome.failure(error, in: .rpc(.null), status: error.code.httpStatus, .eventStream)
            return counted(failure, from: sender, of: finder)
        }
        let call = ByteBuffer(string: query.call(since: last?.token))
        return await begin(call, from: sender, of: finder, context: context, failsWithStatus: true, mark: mark)
    }

    /// Performs the calls and streams their live messages. When no call succeeds, the response is an ordinary one.
    ///
    /// - Parameters:
    ///   - failsWithStatus: Whether the response's status reports a failed call.
    ///   - mark: The suffix of event ids.
    private func begin(
        _ calls: ByteBuffer,
        from sender: Sender,
        of finder: ApplicationFinder,
        context: RequestContext,
        failsWithStatus: Bool,
        mark: String? = nil
    ) async -> RequestOutcome {
        guard connections.limits.isOn else {
            return .failure(.liveIsOff, in: .rpc(.null), status: .notFound, .eventStream)
        }
        guard !drain.hasBegun else {
            let error = SkyrowError(.overloaded, "The service is shutting down; try again in a moment.")
            return .failure(error, in: .rpc(.null), status: .serviceUnavailable, .eventStream)
        }
        let runner = await finder.runner(sender.credentials)
        guard let seat = connections.seat(.eventStream, of: sender.client) else {
            return .tooMany(of: runner.service.application)
        }
        let stream = EventStream(in: connections, seat: seat, drain: drain, mark: mark)
        let hold = EventStreamHold(stream)
        let live = LiveSession(of: runner.service, outlet: stream)
        stream.begin(live)
        let session = JSONRPCSession(runner: runner, sender: sender, live: live)
        let reply = await session.handle(calls, context: context)
        guard reply.successes == 0 || seat.take(reply.userID) else {
            return .tooMany(of: runner.service.application, userID: reply.userID)
        }
        var response: HTTPResponse
        if reply.successes == 0 {
            let status = failsWithStatus ? reply.error?.httpStatus ?? .ok : .ok
            response = reply.message.map { HTTPResponse(status: status, body: $0) } ?? HTTPResponse(status: .noContent)
        } else {
            stream.begin(with: reply.message.map { [$0] } ?? [])
            response = HTTPResponse(
                status: .ok,
                // Proxies such as nginx would buffer the events.
                fields: [HTTPField("x-accel-buffering", "no")],
                contentType: .other("text/event-stream"),
                body: .stream(hold.parts)
            )
        }
        response.hold(context.account)
        return RequestOutcome(response, .eventStream, of: runner.service.application, reply)
    }

    /// Counts, against the rate limits, a request that failed before any call of an action.
    private func counted(
        _ outcome: RequestOutcome,
        from sender: Sender,
        of finder: ApplicationFinder
    ) -> RequestOutcome {
        guard case .ready(let runner) = finder.find(sender.credentials) else { return outcome }
        do throws(SkyrowError) {
            try runner.admit(sender)
            return outcome
        } catch {
            return .failure(error, in: .rpc(.null), status: error.code.httpStatus, outcome.subject)
        }
    }
}

extension SkyrowError {
    fileprivate static let onlySubscriptions = SkyrowError.invalidArgument(
        "An event stream takes only live:subscribe and live:watch; send other calls without \"Accept: text/event-stream\"."
    )
}

extension RequestOutcome {
    fileprivate static func tooMany(of application: ApplicationName, userID: UserID? = nil) -> RequestOutcome {
        var outcome = failure(
            .tooManyConnections,
            in: .rpc(.null),
            status: .tooManyRequests,
            .eventStream,
            userID: userID
        )
        outcome.application = application
        return outcome
    }
}
