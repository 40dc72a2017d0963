import NIOCore
import NIOHTTP1
import SkyrowModel
import SkyrowWire

/// An answer with what its log line says.
struct Reply: Sendable {
    var response: HTTPResponse
    /// An action's name, or what else was asked.
    var action: String
    /// The first failure; entries of a batch that failed alone do not count.
    var error: ErrorCode?
    /// How many calls a JSON-RPC batch had.
    var calls: Int?

    init(_ response: HTTPResponse, action: String, error: ErrorCode? = nil, calls: Int? = nil) {
        self.response = response
        self.action = action
        self.error = error
        self.calls = calls
    }

    static func failure(
        _ error: SkyrowError,
        in envelope: Envelope,
        status: HTTPResponseStatus,
        action: String
    ) -> Reply {
        let writer = JSONWriter(capacity: 256)
        writer.failure(error, in: envelope)
        return Reply(HTTPResponse(status: status, body: ByteBuffer(writer)), action: action, error: error.code)
    }

    static func methodNotAllowed(_ allowed: String, in envelope: Envelope) -> Reply {
        let error = SkyrowError(.undefinedOperation, "This path takes \(allowed) only.")
        var reply = failure(error, in: envelope, status: .methodNotAllowed, action: "http")
        reply.response.fields.append(HTTPField("allow", allowed))
        return reply
    }

    static func health(isWell: Bool) -> Reply {
        let body = ByteBuffer(staticString: isWell ? #"{"status":"OK"}"# : #"{"status":"Unavailable"}"#)
        return Reply(HTTPResponse(status: isWell ? .ok : .serviceUnavailable, body: body), action: "health")
    }
}

extension ByteBuffer {
    /// What a writer has written.
    init(_ writer: JSONWriter) {
        self = writer.withUnsafeBytes { ByteBuffer(bytes: $0) }
    }
}
