import NIOCore
import NIOHTTP1
import SkyrowActions
import SkyrowModel
import SkyrowProtocol

/// The HTTP handlers of function servers: paths that are neither the service's nor names of actions and functions.
///
/// Credentials are those of the head or, as in Skygear v1, `api_key` and `access_token` of the query.
struct HandlerEndpoint: Sendable {
    /// Returns nil for a request that no handler is for.
    func respond(
        to request: HTTPRequest,
        path: Substring,
        headers: RequestHeaders,
        of applications: ApplicationFinder,
        from sender: Sender,
        context: RequestContext
    ) async -> RequestOutcome? {
        guard let name = SkygearEndpoint.actionName(path: path) else { return nil }
        let sender = sender.reading(queryOf: request.head.uri)
        let runner: ActionRunner
        switch applications.find(sender.credentials) {
        case .ready(let found):
            guard found.hasHandlers else { return nil }
            runner = found
        case .resting(let application):
            guard !SkygearLambda.knows(name) else { return nil }
            runner = await applications.opened(application)
        }
        guard !SkygearLambda.knows(name), runner.function(v1: name) == nil, let handler = runner.handler(of: "/\(path)")
        else { return nil }
        let methods = handler.description.methods
        let method = request.head.method.rawValue
        let isHead = request.head.method == .HEAD && !methods.contains(method)
        guard methods.contains(isHead ? "GET" : method) else {
            let allowed = methods.union(methods.contains("GET") ? ["HEAD"] : []).sorted() + ["OPTIONS"]
            return .methodNotAllowed(allowed.joined(separator: ", "), in: .v1)
        }
        let call = HandlerRequest(
            name: handler.description.name,
            method: isHead ? "GET" : method,
            path: "/\(path)",
            query: String(request.head.uri.query),
            fields: HandlerFields.forwarded(request.head.headers),
            body: Array(request.body.bytes.readableBytesView)
        )
        let (result, userID) = await runner.respond(
            to: call,
            by: handler,
            from: sender,
            deadline: context.deadline,
            id: context.id
        )
        let subject = RequestSubject.action(Actions.functionCall.name)
        switch result {
        case .success(let response):
            // The memory of a long body counts like that of a result.
            if response.body.count > ResponseAccount.allowance,
                case .failure(let refusal) = context.account.takeForText(
                    atLeast: response.body.count,
                    atMost: response.body.count
                )
            {
                let error = SkyrowError(refusal)
                return .failure(error, in: .v1, status: error.httpStatus, subject, userID: userID)
            }
            var outcome = RequestOutcome(
                HTTPResponse(response),
                subject,
                of: runner.service.application,
                userID: userID
            )
            outcome.response.hold(context.account)
            return outcome
        case .failure(let error):
            var outcome = RequestOutcome.failure(error, in: .v1, status: error.httpStatus, subject, userID: userID)
            outcome.application = runner.service.application
            return outcome
        }
    }
}

/// The header fields that pass between clients and handlers.
enum HandlerFields {
    /// The fields of one connection (RFC 9110, 7.6.1), besides those that `Connection` names.
    private static let hopByHop: Set<String> = [
        "connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer",
        "transfer-encoding", "upgrade",
    ]
    /// The fields of a response that the service writes itself.
    private static let ofService: Set<String> = [
        "cache-control", "content-length", "content-type", "date", "server", "strict-transport-security",
        "x-content-type-options", "x-skygear-request-id", "x-skyrow-access-token",
    ]

    /// Returns the fields of a request that a handler gets, with their names in the form `Content-Type`, which py-skygear expects.
    static func forwarded(_ headers: HTTPHeaders) -> [(name: String, value: String)] {
        let named = connectionFields(headers)
        return headers.compactMap { name, value in
            let lowercase = name.lowercased()
            return hopByHop.contains(lowercase) || named.contains(lowercase) ? nil : (canonical(lowercase), value)
        }
    }

    /// Returns the fields of a handler's response that clients get.
    static func returned(_ fields: [(name: String, value: String)]) -> [HTTPField] {
        let named = connectionFields(fields)
        return fields.compactMap { name, value in
            let lowercase = name.lowercased()
            guard !hopByHop.contains(lowercase), !named.contains(lowercase), !ofService.contains(lowercase),
                // Which pages of other origins may read responses is a setting of the service.
                !lowercase.hasPrefix("access-control-"), isToken(lowercase)
            else { return nil }
            return HTTPField(lowercase, value)
        }
    }

    private static func connectionFields(_ fields: some Sequence<(name: String, value: String)>) -> Set<String> {
        var named: Set<String> = []
        for (name, value) in fields where name.lowercased() == "connection" {
            for field in value.split(separator: ",") {
                named.insert(field.filter { $0 != " " && $0 != "\t" }.lowercased())
            }
        }
        return named
    }

    private static func canonical(_ lowercase: String) -> String {
        lowercase.split(separator: "-", omittingEmptySubsequences: false)
            .map { "\($0.prefix(1).uppercased())\($0.dropFirst())" }.joined(separator: "-")
    }

    /// Whether a text is the name of a field (RFC 9110, 5.6.2).
    private static func isToken(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { byte in
                (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                    || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || "!#$%&'*+-.^_`|~".utf8.contains(byte)
            }
    }
}

extension HTTPResponse {
    fileprivate init(_ response: HandlerResponse) {
        func value(_ name: String) -> String? { response.fields.last { $0.name.lowercased() == name }?.value }
        self.init(
            status: HTTPResponseStatus(statusCode: response.status),
            fields: HandlerFields.returned(response.fields),
            contentType: value("content-type").map { .other($0) } ?? .octets,
            body: ByteBuffer(bytes: response.body)
        )
        cacheControl = value("cache-control")
    }
}

extension Sender {
    /// Returns the sender with the credentials of the query where the head has none.
    fileprivate func reading(queryOf uri: String) -> Sender {
        guard uri.utf8.contains(UInt8(ascii: "?")), let fields = FormFields(queryOf: uri) else { return self }
        var sender = self
        sender.credentials.key = credentials.key ?? fields["api_key"]
        sender.credentials.accessToken = credentials.accessToken ?? fields["access_token"]
        return sender
    }
}

extension String {
    /// The query of a request's target, without the question mark.
    fileprivate var query: Substring {
        guard let mark = utf8.firstIndex(of: UInt8(ascii: "?")) else { return "" }
        return self[utf8.index(after: mark)...].prefix { $0 != "#" }
    }
}
