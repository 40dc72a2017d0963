import NIOCore
import NIOHTTP1
import SkyrowJSON
import SkyrowModel
import SkyrowWire

/// A response with what its log line says.
struct RequestOutcome: Sendable {
    var response: HTTPResponse
    var subject: RequestSubject
    /// Whose the request was, as far as that was found out.
    var application: ApplicationName
    /// The first failure; entries of a batch that failed alone do not count.
    var error: ErrorCode?
    /// How many calls a JSON-RPC batch had.
    var calls: Int?
    /// Who asked, once that was found out.
    var userID: UserID?
    var traceID: TraceID?

    init(
        _ response: HTTPResponse,
        _ subject: RequestSubject,
        of application: ApplicationName = .default,
        error: ErrorCode? = nil,
        calls: Int? = nil,
        userID: UserID? = nil
    ) {
        self.response = response
        self.subject = subject
        self.application = application
        self.error = error
        self.calls = calls
        self.userID = userID
    }

    /// An action's name, or what else was asked.
    var action: String { subject.name }

    static func failure(
        _ error: SkyrowError,
        in envelope: Envelope,
        status: HTTPResponseStatus,
        _ subject: RequestSubject,
        userID: UserID? = nil
    ) -> RequestOutcome {
        let writer = JSONWriter(capacity: 256)
        writer.failure(error, in: envelope)
        let response = HTTPResponse(status: status, body: ByteBuffer(writer))
        var outcome = RequestOutcome(response, subject, error: error.code, userID: userID)
        outcome.addRetryTime(of: error)
        return outcome
    }

    /// Says in the head, too, when a call that was one too many may be tried again.
    mutating func addRetryTime(of error: SkyrowError) {
        guard error.code == .rateLimited, case .integer(let seconds)? = error.info["retry_after"] else { return }
        response.fields.append(HTTPField("retry-after", "\(seconds)"))
    }

    /// Has the response carry the access token that is to be used from now on.
    mutating func addRenewedToken(of context: RequestContext) {
        guard let token = context.renewedToken.token else { return }
        response.fields.append(HTTPField("x-skyrow-access-token", token))
    }

    static func methodNotAllowed(_ allowed: String, in envelope: Envelope) -> RequestOutcome {
        let error = SkyrowError(.undefinedOperation, "This path takes \(allowed) only.")
        var outcome = failure(error, in: envelope, status: .methodNotAllowed, .http)
        outcome.response.fields.append(HTTPField("allow", allowed))
        return outcome
    }

    static func health(isHealthy: Bool) -> RequestOutcome {
        let body = ByteBuffer(staticString: isHealthy ? #"{"status":"OK"}"# : #"{"status":"Unavailable"}"#)
        return RequestOutcome(HTTPResponse(status: isHealthy ? .ok : .serviceUnavailable, body: body), .health)
    }

    /// Whether requests can be served, and how many statements wait for locks meanwhile: `{"status":"OK"}`, or
    /// `{"status":"OK","held_back":{"reads":12,"writes":0}}`.
    static func readiness(isReady: Bool, heldBack: (reads: Int, writes: Int)) -> RequestOutcome {
        guard isReady, heldBack.reads > 0 || heldBack.writes > 0 else { return health(isHealthy: isReady) }
        let counts = #"{"reads":\#(heldBack.reads),"writes":\#(heldBack.writes)}"#
        let body = ByteBuffer(string: #"{"status":"OK","held_back":\#(counts)}"#)
        return RequestOutcome(HTTPResponse(status: .ok, body: body), .health)
    }
}

extension ByteBuffer {
    /// What a writer has written.
    init(_ writer: JSONWriter) {
        self = writer.withUnsafeBytes { ByteBuffer(bytes: $0) }
    }
}
