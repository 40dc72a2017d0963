package import NIOHTTP1

/// Responds to requests; all that the server channel needs from the layer above.
package protocol HTTPResponder: Sendable {
    /// Responds to a request. Runs on the connection's event loop and must not block; cancelled when it takes too long or
    /// the client is gone.
    func respond(to request: HTTPRequest) async -> HTTPResponse

    /// How the body of a request with this head is taken.
    func bodyMode(of head: HTTPRequestHead) -> RequestBodyMode

    /// Judges a request whose body is long or slow by its head alone, before the body is kept.
    func standing(of head: HTTPRequestHead) -> RequestStanding

    /// Responds in place of a request that never became one, or whose response never came. `head` is there when it was read.
    func refuse(_ fault: HTTPFault, head: HTTPRequestHead?, id: RequestID, peer: Client) -> HTTPResponse
}

extension HTTPResponder {
    package func bodyMode(of head: HTTPRequestHead) -> RequestBodyMode { .collected() }
}

/// What serves the paths below a prefix, beside those of the service itself.
///
/// The responder adds what every response carries, judges who may send a long body, and logs and counts the request.
package protocol HTTPEndpoint: Sendable {
    /// How the body of a request with this head is taken.
    func bodyMode(of head: HTTPRequestHead) -> RequestBodyMode

    /// Responds to a request, on the same terms as ``HTTPResponder/respond(to:)``.
    func respond(to request: HTTPRequest) async -> HTTPResponse
}

/// What a head says about the sender of a body.
package enum RequestStanding: Hashable, Sendable {
    /// It has a key of the service, or the token of a session that is remembered.
    case accepted
    /// It has a token, which only the database can judge.
    case unverified
    /// It has neither.
    case missing
}

/// Why the server channel responds to a request itself; the connection is closed afterwards.
package enum HTTPFault: Error, Hashable, Sendable, CaseIterable {
    /// What came is not HTTP/1.1.
    case malformed
    case headerTooLarge
    case bodyTooLarge
    /// `Expect` asks for something other than `100-continue`.
    case expectationFailed
    /// The request did not arrive whole in time.
    case requestTimeout
    /// No response was ready in time.
    case responseTimeout
    /// There are more connections, or bodies waiting in memory, than the limits allow.
    case overloaded
    /// The client has more connections, or bodies waiting in memory, than its share.
    case clientShareExceeded
    /// The body is long, and the head has no key or token that would let it be.
    case credentialsRequired
    /// `Transfer-Encoding` is something other than `chunked`.
    case unsupportedTransferCoding
    /// `Content-Encoding` is there: the body is compressed.
    case unsupportedContentCoding

    package var status: HTTPResponseStatus {
        switch self {
        case .malformed: .badRequest
        case .headerTooLarge: .requestHeaderFieldsTooLarge
        case .bodyTooLarge: .payloadTooLarge
        case .expectationFailed: .expectationFailed
        case .requestTimeout: .requestTimeout
        case .responseTimeout, .overloaded: .serviceUnavailable
        case .clientShareExceeded: .tooManyRequests
        case .credentialsRequired: .unauthorized
        case .unsupportedTransferCoding: .notImplemented
        case .unsupportedContentCoding: .unsupportedMediaType
        }
    }
}
