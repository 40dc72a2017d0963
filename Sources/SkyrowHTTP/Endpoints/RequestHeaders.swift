import NIOHTTP1
import SkyrowModel
import SkyrowProtocol

/// The header fields that the endpoints read, found in one pass.
struct RequestHeaders {
    private(set) var key: String?
    /// The host to which the request was sent, as it claims.
    private(set) var host: String?
    private(set) var accessToken: String?
    private(set) var requestID: RequestID?
    private(set) var userAgent: String?
    private(set) var origin: String?
    /// The media types that the client accepts.
    private(set) var accept: String?
    /// The last event that the client received from an event stream.
    private(set) var lastEventID: String?
    /// The caller's trace, if there is exactly one well-formed field.
    private(set) var traceParent: TraceParent?
    private(set) var requestedHeaders: String?

    init(_ headers: HTTPHeaders) {
        var bearer: String?
        var traceParents = 0
        for (name, value) in headers where !value.isEmpty {
            // The length distinguishes most fields.
            switch name.utf8.count {
            case 4 where name.isSameHeader(as: "host"): host = value
            case 6 where name.isSameHeader(as: "origin"): origin = value
            case 6 where name.isSameHeader(as: "accept"): accept = value
            case 10 where name.isSameHeader(as: "user-agent"): userAgent = value
            case 11 where name.isSameHeader(as: "traceparent"):
                traceParents += 1
                traceParent = traceParents == 1 ? TraceParent(value) : nil
            case 12 where name.isSameHeader(as: "x-request-id"): requestID = RequestID(given: value)
            case 13 where name.isSameHeader(as: "last-event-id"): lastEventID = value
            case 13 where name.isSameHeader(as: "authorization"): bearer = RequestHeaders.bearerToken(value)
            case 17 where name.isSameHeader(as: "x-skygear-api-key"): key = value
            case 22 where name.isSameHeader(as: "x-skygear-access-token"): accessToken = value
            case 30 where name.isSameHeader(as: "access-control-request-headers"): requestedHeaders = value
            default: continue
            }
        }
        accessToken = bearer ?? accessToken
    }

    /// - Parameters:
    ///   - admitsMasterKey: Whether the client may use the master key.
    ///   - address: The address of the client.
    func credentials(admitsMasterKey: Bool, address: ClientAddress? = nil) -> Credentials {
        Credentials(key: key, accessToken: accessToken, admitsMasterKey: admitsMasterKey, address: address)
    }

    /// Whether the client accepts an event stream.
    var takesEventStream: Bool { accept?.contains("text/event-stream") == true }

    /// Whether the client is a browser that opens a page.
    var takesPage: Bool { accept?.contains("text/html") == true }

    /// The token of `Bearer <token>` (RFC 6750); nil for other schemes.
    private static func bearerToken(_ value: String) -> String? {
        let space = UInt8(ascii: " ")
        guard let end = value.utf8.firstIndex(of: space), String(value[..<end]).isSameHeader(as: "bearer") else {
            return nil
        }
        let token = value.utf8[end...].drop { $0 == space }
        return token.isEmpty ? nil : String(Substring(token))
    }
}
