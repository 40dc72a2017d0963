import NIOCore
import NIOHTTP1
import SkyrowJSON
import SkyrowModel
import SkyrowProtocol

/// A response, and the data of its log line.
struct RequestOutcome: Sendable {
    var response: HTTPResponse
    var subject: RequestSubject
    /// The application of the request, as far as known.
    var application: ApplicationName
    /// The first failure; failed entries of a successful call do not count.
    var error: ErrorCode?
    /// The number of calls in a JSON-RPC batch.
    var calls: Int?
    /// The user of the request, if known.
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

    /// Creates the outcome of a JSON-RPC message.
    init(
        _ response: HTTPResponse,
        _ subject: RequestSubject,
        of application: ApplicationName,
        _ reply: JSONRPCSession.Reply
    ) {
        self.init(response, subject, of: application, error: reply.error, calls: reply.calls, userID: reply.userID)
    }

    /// The name of the action, or of another request subject.
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

    /// Adds a `Retry-After` field to the response of a call that may succeed after a known time.
    mutating func addRetryTime(of error: SkyrowError) {
        guard case .integer(let seconds)? = error.info["retry_after"] else { return }
        response.fields.append(HTTPField("retry-after", "\(seconds)"))
    }

    /// Adds the renewed access token of the session to the response.
    mutating func addRenewedToken(of context: RequestContext) {
        guard let token = context.renewedToken.token else { return }
        response.fields.append(HTTPField("x-skyrow-access-token", token))
    }

    static func methodNotAllowed(_ allowed: String, in envelope: Envelope) -> RequestOutcome {
        let error = SkyrowError(.undefinedOperation, "This path supports only \(allowed).")
        var outcome = failure(error, in: envelope, status: .methodNotAllowed, .http)
        outcome.response.fields.append(HTTPField("allow", allowed))
        return outcome
    }

    static func health(isHealthy: Bool) -> RequestOutcome {
        let body = ByteBuffer(staticString: isHealthy ? #"{"status":"OK"}"# : #"{"status":"Unavailable"}"#)
        return RequestOutcome(HTTPResponse(status: isHealthy ? .ok : .serviceUnavailable, body: body), .health)
    }

    /// The readiness of the service, and how many statements wait for locks: `{"status":"OK"}`, or
    /// `{"status":"OK","held_back":{"reads":12,"writes":0}}`.
    static func readiness(isReady: Bool, heldBack: (reads: Int, writes: Int)) -> RequestOutcome {
        guard isReady, heldBack.reads > 0 || heldBack.writes > 0 else { return health(isHealthy: isReady) }
        let counts = #"{"reads":\#(heldBack.reads),"writes":\#(heldBack.writes)}"#
        let body = ByteBuffer(string: #"{"status":"OK","held_back":\#(counts)}"#)
        return RequestOutcome(HTTPResponse(status: .ok, body: body), .health)
    }
}

extension ByteBuffer {
    /// Copies the text of a writer.
    init(_ writer: JSONWriter) {
        self = writer.withUnsafeBytes { ByteBuffer(bytes: $0) }
    }
}
