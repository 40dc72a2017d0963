package import NIOHTTP1

/// Answers requests; the one thing the server channel knows of what lies above it.
package protocol HTTPResponder: Sendable {
    /// Answers a request. Runs on the connection's event loop and must not block; cancelled when it takes too long or
    /// the client is gone.
    func respond(to request: HTTPRequest) async -> HTTPResponse

    /// Answers for a request that never became one, or whose answer never came. `head` is there when it was read.
    func refuse(_ fault: HTTPFault, head: HTTPRequestHead?, id: RequestID, peer: Client) -> HTTPResponse
}

/// Why the server channel answers a request itself; the connection is closed afterwards.
package enum HTTPFault: Hashable, Sendable, CaseIterable {
    /// What came is not HTTP/1.1.
    case malformed
    case headerTooLarge
    case bodyTooLarge
    /// `Expect` asks for something other than `100-continue`.
    case expectationFailed
    /// The request did not arrive whole in time.
    case requestTimeout
    /// No answer was ready in time.
    case responseTimeout
    /// There are more connections, or bodies waiting in memory, than the limits allow.
    case overloaded

    package var status: HTTPResponseStatus {
        switch self {
        case .malformed: .badRequest
        case .headerTooLarge: .requestHeaderFieldsTooLarge
        case .bodyTooLarge: .payloadTooLarge
        case .expectationFailed: .expectationFailed
        case .requestTimeout: .requestTimeout
        case .responseTimeout, .overloaded: .serviceUnavailable
        }
    }
}
