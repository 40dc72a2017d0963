import Logging
import NIOCore
import SkyrowActions
package import SkyrowModel
package import SkyrowProtocol
import Synchronization

/// The context of one request: its id, trace, action and memory account.
package struct RequestContext: Sendable {
    package let id: RequestID
    /// The trace of the request, our own or its caller's.
    package var traceID: TraceID?
    /// The action; nil before it is known.
    package internal(set) var action: ActionName?
    /// The account to which the memory of results is charged.
    let account: ResponseAccount
    /// The access token that replaces the one of the request's session, for the response.
    let renewedToken = RenewedToken()
    /// The WebSocket or event stream of the call; nil for an ordinary request.
    var connection: (any CallConnection)?
    /// When the request times out; nil for a message of a connection.
    var end: NIODeadline?

    /// The same on the clock of actions; computed for those that call functions.
    var deadline: ContinuousClock.Instant? {
        end.map { ContinuousClock.now + .nanoseconds(($0 - NIODeadline.now()).nanoseconds) }
    }

    var metadata: Logger.Metadata {
        var metadata: Logger.Metadata = ["request_id": .string(id.description)]
        if let action { metadata["action"] = .string(action.rawValue) }
        if let traceID { metadata["trace_id"] = .string(traceID.description) }
        return metadata
    }
}

/// A token that several calls of one request may set; one of them does.
final class RenewedToken: Sendable {
    private let value = Mutex<String?>(nil)

    var token: String? {
        get { value.withLock { $0 } }
        set { value.withLock { $0 = newValue } }
    }
}
