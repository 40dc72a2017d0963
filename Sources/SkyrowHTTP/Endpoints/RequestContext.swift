import Logging
package import SkyrowModel
import Synchronization

/// What belongs to one request: its id, trace, action and memory account.
package struct RequestContext: Sendable {
    package let id: RequestID
    /// The trace that the request is part of, ours or its caller's.
    package var traceID: TraceID?
    /// What is being done; nil before that is known.
    package internal(set) var action: ActionName?
    /// Where the memory of its results is taken from.
    let account: ResponseAccount
    /// The access token that the session of the request has got in place of its own, for the response to carry.
    let renewedToken = RenewedToken()
    /// Whether the response has a place for such a token.
    var takesRenewedToken: Bool { connection == nil }
    /// The WebSocket or event stream that the call came by; nil for a request with a response of its own.
    var connection: (any CallConnection)?

    var metadata: Logger.Metadata {
        var metadata: Logger.Metadata = ["request_id": .string(id.description)]
        if let action { metadata["action"] = .string(action.rawValue) }
        if let traceID { metadata["trace_id"] = .string(traceID.description) }
        return metadata
    }
}

/// A token that several calls of one request may set, of which one does.
final class RenewedToken: Sendable {
    private let value = Mutex<String?>(nil)

    var token: String? {
        get { value.withLock { $0 } }
        set { value.withLock { $0 = newValue } }
    }
}
