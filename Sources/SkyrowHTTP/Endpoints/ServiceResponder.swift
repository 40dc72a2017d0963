package import Logging
package import Metrics
import NIOCore
package import NIOHTTP1
package import SkyrowActions
import SkyrowModel
package import SkyrowProtocol
import Tracing

/// Responds to every request of the service: health checks, preflights, pages, and the two endpoints of the actions.
///
/// ```swift
/// let responder = ServiceResponder(applications: applications, logger: logger)
/// let server = HTTPServer(host: "127.0.0.1", port: 3000, responder: responder, logger: logger)
/// ```
package struct ServiceResponder: HTTPResponder {
    private let applications: Applications
    private let rpc = JSONRPCEndpoint()
    private let skygear = SkygearEndpoint()
    private let handlers = HandlerEndpoint()
    private let files: FileEndpoint
    private let endpoints: EndpointTable
    private let cors: CORSPolicy
    private let clients: ClientIdentification
    private let strictTransport: HTTPField?
    private let drain: Drain
    private let limits: HTTPLimits
    let responseMemory: ResponseMemory
    private let log: RequestLog
    private let metrics: RequestMetrics
    private let metricsPage: MetricsPage?
    private let tracing: RequestTracing?
    private let sockets: SocketService

    /// - Parameters:
    ///   - endpoints: The endpoints that serve the paths below these prefixes, such as `/stream/`, instead of the service.
    ///   - clients: How the clients of requests are identified.
    ///   - strictTransport: How long browsers that connected over TLS must refuse to
    ///     connect without it (RFC 6797); nil omits the field.
    ///   - drain: Makes the service not ready for some time before it shuts down.
    ///   - limits: The same as the server's, for the messages that name them.
    ///   - connections: Where long-lived connections are counted; a new one by default.
    ///   - requestLog: Receives the lines about requests; nil means the logger.
    ///   - metrics: The metrics system that counts requests.
    ///   - metricsPage: The page at `/metrics`; nil disables the path.
    ///   - tracing: Creates the spans of requests.
    package init(
        applications: Applications,
        endpoints: [String: any HTTPEndpoint] = [:],
        cors: CORSPolicy = .anyOrigin,
        clients: ClientIdentification = ClientIdentification(),
        strictTransport: Duration? = nil,
        drain: Drain = Drain(),
        limits: HTTPLimits = HTTPLimits(),
        connections: LiveConnections? = nil,
        logger: Logger,
        requestLog: (any RequestLogOutput)? = nil,
        metrics: any MetricsFactory = MetricsSystem.factory,
        metricsPage: MetricsPage? = nil,
        tracing: RequestTracing? = .bootstrapped
    ) {
        self.applications = applications
        self.endpoints = EndpointTable(endpoints)
        self.cors = cors
        self.clients = clients
        self.strictTransport = strictTransport.map {
            HTTPField("strict-transport-security", "max-age=\($0.components.seconds)")
        }
        self.drain = drain
        self.limits = limits
        responseMemory = ResponseMemory(limit: limits.responseMemory)
        log = RequestLog(logger: logger, output: requestLog)
        self.metrics = RequestMetrics(factory: metrics)
        self.metricsPage = metricsPage
        self.tracing = tracing
        files = FileEndpoint(applications: applications, limits: limits, logger: logger)
        sockets = SocketService(
            applications: applications,
            drain: drain,
            connections: connections ?? LiveConnections(limits.live),
            cors: cors,
            limits: limits,
            responseMemory: responseMemory,
            log: log,
            metrics: self.metrics,
            tracing: tracing
        )
    }

    package func respond(to request: HTTPRequest) async -> HTTPResponse {
        let headers = RequestHeaders(request.head.headers)
        let id = headers.requestID ?? request.id
        let client = clients.client(of: request.peer, headers: request.head.headers)
        var outcome: RequestOutcome
        if let tracing, Route(uri: request.head.uri).isTraced {
            outcome = await traced(request, headers: headers, client: client, id: id, in: tracing.begin(request))
        } else {
            let context = context(of: request, client: client, id: id, traceID: headers.traceParent?.traceID)
            outcome = await route(request, headers: headers, client: client, context: context)
            outcome.addRenewedToken(of: context)
            outcome.traceID = context.traceID
        }
        let time = NIODeadline.now() - request.arrival
        metrics.record(outcome, of: outcome.application, time: time)
        log.record(outcome, method: request.head.method, id: id, client: client, time: time)
        return finished(outcome.response, headers: headers, id: id, client: client)
    }

    private func traced(
        _ request: HTTPRequest,
        headers: RequestHeaders,
        client: Client,
        id: RequestID,
        in span: RequestTracing.RequestSpan
    ) async -> RequestOutcome {
        let traceID = span.own?.traceID ?? headers.traceParent?.traceID
        var outcome = await ServiceContext.withValue(span.context) {
            let context = context(of: request, client: client, id: id, traceID: traceID)
            var outcome = await route(request, headers: headers, client: client, context: context)
            outcome.addRenewedToken(of: context)
            return outcome
        }
        outcome.traceID = traceID
        span.end(outcome, method: request.head.method, id: id)
        if let own = span.own { outcome.response.fields.append(HTTPField("traceresponse", own.description)) }
        return outcome
    }

    /// Action bodies are collected, because a call is decoded in place; files are streamed.
    package func bodyMode(of head: HTTPRequestHead) -> RequestBodyMode {
        endpoints[head.uri]?.bodyMode(of: head) ?? files.bodyMode(of: head) ?? .collected()
    }

    /// Decides only how large a body may be; from where the master key is used is checked when the body has arrived.
    package func standing(of head: HTTPRequestHead) -> RequestStanding {
        if let standing = files.standing(of: head) { return standing }
        let headers = RequestHeaders(head.headers)
        do throws(SkyrowError) {
            switch try applications.find(key: headers.key, host: headers.host) {
            case .open(let actions):
                return RequestStanding(actions.standing(of: headers.credentials(admitsMasterKey: true)))
            // The key of an application admits a body; a token is checked once the application is open.
            case .resting:
                guard let key = headers.key else { return headers.accessToken != nil ? .unverified : .missing }
                // A key with scopes only names its application.
                return KeyText.isLikely(key) ? .unverified : .accepted
            }
        } catch {
            return .missing
        }
    }

    private func context(of request: HTTPRequest, client: Client, id: RequestID, traceID: TraceID?) -> RequestContext {
        var context = RequestContext(id: id, traceID: traceID, account: account(for: client))
        context.end = request.arrival + limits.response
        return context
    }

    private func account(for client: Client) -> ResponseAccount {
        let key = clients.key(of: client)
        return ResponseAccount(
            limit: limits.responseBytes,
            memory: responseMemory,
            client: ResponseMemory.Client(high: key.high, low: key.low)
        )
    }

    package func refuse(_ fault: HTTPFault, head: HTTPRequestHead?, id: RequestID, peer: Client) -> HTTPResponse {
        let headers = RequestHeaders(head?.headers ?? HTTPHeaders())
        let id = headers.requestID ?? id
        let client = clients.client(of: peer, headers: head?.headers ?? HTTPHeaders())
        var error = SkyrowError(fault, limits: limits)
        if fault == .credentialsRequired, headers.key != nil { error = .keyNotAccepted }
        if fault == .bodyTooLarge, let maximum = head.flatMap(files.maximum) { error = .fileTooLarge(Int64(maximum)) }
        let envelope: Envelope =
            switch head.map({ Route(uri: $0.uri) }) {
            case .rpc, .live: .rpc(.null)
            case nil, .health, .readiness, .metrics, .accountPage, .providerReturn, .files, .unserved, .skygear: .v1
            }
        // Counts the request; a refusal by the rate limit does not matter, since the connection ends anyway.
        if head != nil, fault != .responseTimeout {
            try? actions(for: headers)?.admit(
                headers.credentials(admitsMasterKey: clients.admitsMasterKey(client), address: client.address),
                from: clients.key(of: client)
            )
        }
        var outcome = RequestOutcome.failure(error, in: envelope, status: fault.status, .http)
        outcome.traceID = headers.traceParent?.traceID
        metrics.record(outcome, of: outcome.application, time: nil)
        log.record(outcome, method: head?.method, id: id, client: client, time: nil)
        // RFC 9110, 15.5.16: names the accepted coding.
        if fault == .unsupportedContentCoding {
            outcome.response.fields.append(HTTPField("accept-encoding", "identity"))
        }
        if let head, FileEndpoint.isTus(head) { outcome.response.fields.append(.tusVersion) }
        var response = finished(outcome.response, headers: headers, id: id, client: client)
        if head == nil { response.fields += cors.fieldsOfUnreadHead }
        return response
    }

    private func route(
        _ request: HTTPRequest,
        headers: RequestHeaders,
        client: Client,
        context: RequestContext
    ) async -> RequestOutcome {
        let method = request.head.method
        let sender = Sender(
            credentials: headers.credentials(admitsMasterKey: clients.admitsMasterKey(client), address: client.address),
            client: clients.key(of: client),
            address: client.address,
            userAgent: headers.userAgent
        )
        // A request for a tunnel, which names no path of the service.
        if method == .CONNECT { return .methodNotAllowed("GET, HEAD, POST, OPTIONS", in: .v1) }
        if method == .OPTIONS {
            let fields = cors.preflightFields(headers) + files.tusFields(of: request.head)
            let response = HTTPResponse(status: .noContent, fields: fields)
            return RequestOutcome(response, .preflight)
        }
        if let endpoint = endpoints[request.head.uri] {
            return RequestOutcome(await endpoint.respond(to: request), .http)
        }
        switch Route(uri: request.head.uri) {
        case .rpc:
            // HTTP/2 has no upgrade; browsers open WebSockets over HTTP/1.1.
            let mayUpgrade = method == .GET && request.head.version.major == 1
            guard method == .POST || mayUpgrade else {
                return .methodNotAllowed("GET, POST, OPTIONS", in: .rpc(.null))
            }
            guard let finder = finder(for: headers) else { return .notReady(in: .rpc(.null)) }
            if mayUpgrade {
                return await sockets.open(request, headers: headers, from: sender, of: finder, context: context)
            }
            let body = request.body.bytes
            if headers.takesEventStream {
                let stream = await sockets.stream(body, headers: headers, from: sender, of: finder, context: context)
                if let stream { return stream }
            }
            return await rpc.respond(to: body, of: finder, from: sender, context: context)
        case .live:
            guard method == .GET else { return .methodNotAllowed("GET, OPTIONS", in: .rpc(.null)) }
            guard let finder = finder(for: headers) else { return .notReady(in: .rpc(.null)) }
            let uri = request.head.uri
            return await sockets.streamQuery(uri, headers: headers, from: sender, of: finder, context: context)
        case .health:
            guard method == .GET || method == .HEAD else { return .methodNotAllowed("GET, HEAD, OPTIONS", in: .v1) }
            return .health(isHealthy: true)
        case .readiness:
            guard method == .GET || method == .HEAD else { return .methodNotAllowed("GET, HEAD, OPTIONS", in: .v1) }
            return .readiness(isReady: applications.isReady && !drain.hasBegun, heldBack: applications.heldBack)
        case .metrics:
            guard let metricsPage else { return undefinedRoute(headers, from: sender) }
            guard method == .GET || method == .HEAD else { return .methodNotAllowed("GET, HEAD, OPTIONS", in: .v1) }
            let outcome = await metricsPage.respond(headers: headers) { key in
                sender.credentials.admitsMasterKey && applications.isMasterKey(key)
            }
            return counted(outcome, headers, from: sender)
        case .accountPage(let page):
            let pages = AccountPages(applications: applications)
            let outcome = await pages.respond(to: request, page, host: headers.host, from: sender, id: context.id)
            return outcome ?? undefinedRoute(headers, from: sender)
        case .providerReturn(let name):
            let page = ProviderReturnPage(applications: applications)
            let outcome = await page.respond(to: request, from: name, host: headers.host, sender.client)
            return outcome ?? undefinedRoute(headers, from: sender)
        case .files(let name):
            guard applications.default != nil else { return .notReady(in: .v1) }
            return await files.respond(to: request, name: name, headers: headers, from: sender, context: context)
                ?? undefinedRoute(headers, from: sender)
        case .unserved:
            return undefinedRoute(headers, from: sender)
        case .skygear(let path) where path.isEmpty && headers.takesPage && (method == .GET || method == .HEAD):
            return .home
        case .skygear(let path):
            guard let finder = finder(for: headers) else { return .notReady(in: .v1) }
            if let outcome = await handlers.respond(
                to: request,
                path: path,
                headers: headers,
                of: finder,
                from: sender,
                context: context
            ) {
                return outcome
            }
            let body = request.body.bytes
            return await skygear.respond(to: body, path: path, of: finder, from: sender, context: context)
        }
    }

    /// Returns nil until the default application is open.
    private func finder(for headers: RequestHeaders) -> ApplicationFinder? {
        applications.default.map { ApplicationFinder(applications, standard: $0, host: headers.host) }
    }

    /// The actions of the request's application if it is open, otherwise those of the default application.
    private func actions(for headers: RequestHeaders) -> ActionService? {
        if case .open(let actions)? = try? applications.find(key: headers.key, host: headers.host) { return actions }
        return applications.default
    }

    private func undefinedRoute(_ headers: RequestHeaders, from sender: Sender) -> RequestOutcome {
        counted(.failure(.undefinedRoute, in: .v1, status: .notFound, .http), headers, from: sender)
    }

    /// Counts a request that failed without a call of an action; returns the refusal when the rate limit is exceeded.
    private func counted(_ outcome: RequestOutcome, _ headers: RequestHeaders, from sender: Sender) -> RequestOutcome {
        guard outcome.error != nil else { return outcome }
        do throws(SkyrowError) {
            try actions(for: headers)?.admit(sender.credentials, from: sender.client)
            return outcome
        } catch {
            return .failure(error, in: .v1, status: error.code.httpStatus, outcome.subject)
        }
    }

    /// Adds the common fields of responses.
    private func finished(
        _ response: HTTPResponse,
        headers: RequestHeaders,
        id: RequestID,
        client: Client
    ) -> HTTPResponse {
        var response = response
        response.endsConnection = drain.hasBegun
        // A cache may send it to a page whose request it never saw.
        let origin = headers.origin ?? (response.cacheControl == nil ? nil : "*")
        response.fields += cors.fields(origin: origin)
        response.fields.append(HTTPField("x-skygear-request-id", id.description))
        if client.isSecure, let strictTransport { response.fields.append(strictTransport) }
        // Some refusals have a more exact time.
        if response.status == .serviceUnavailable, !response.fields.contains(where: { $0.name == "retry-after" }) {
            response.fields.append(HTTPField("retry-after", "1"))
        }
        return response
    }
}

extension SkyrowError {
    static let undefinedRoute = SkyrowError(.undefinedOperation, "There is no endpoint at this path.")
}

extension RequestOutcome {
    /// The response before the default application is open.
    fileprivate static func notReady(in envelope: Envelope) -> RequestOutcome {
        let error = SkyrowError(.overloaded, "The service is starting; try again in a moment.")
        return .failure(error, in: envelope, status: .serviceUnavailable, .http)
    }
}

extension RequestStanding {
    fileprivate init(_ standing: CredentialStanding) {
        switch standing {
        case .accepted: self = .accepted
        case .unverified: self = .unverified
        case .missing: self = .missing
        }
    }
}
