package import NIOHTTP1
package import SkyrowProtocol

/// Responds to requests; the only interface that the server channel needs from the layer above.
package protocol HTTPResponder: Sendable {
    /// Responds to a request. Runs on the connection's event loop and must not block; cancelled when it takes too long or the
    /// client is gone.
    func respond(to request: HTTPRequest) async -> HTTPResponse

    /// Returns how the body of a request with this head is read.
    func bodyMode(of head: HTTPRequestHead) -> RequestBodyMode

    /// Judges, by its head alone, the sender of a request whose body is long or slow, before the body is kept.
    func standing(of head: HTTPRequestHead) -> RequestStanding

    /// Responds when a request could not be read, or its response did not come. `head` is set when the head was read.
    func refuse(_ fault: HTTPFault, head: HTTPRequestHead?, id: RequestID, peer: Client) -> HTTPResponse
}

extension HTTPResponder {
    package func bodyMode(of head: HTTPRequestHead) -> RequestBodyMode { .collected() }
}

/// Serves the paths below a prefix, beside those of the service itself.
///
/// The responder adds the common fields of responses, decides who may send a long body, and logs and counts the request.
package protocol HTTPEndpoint: Sendable {
    /// Returns how the body of a request with this head is read.
    func bodyMode(of head: HTTPRequestHead) -> RequestBodyMode

    /// Responds to a request, under the conditions of ``HTTPResponder/respond(to:)``.
    func respond(to request: HTTPRequest) async -> HTTPResponse
}

/// What a head shows of the sender of a body.
package enum RequestStanding: Hashable, Sendable {
    /// The head has a key of the service, or the token of a cached session.
    case accepted
    /// The head has a token that only the database can check.
    case unverified
    /// The head has neither.
    case missing
}

/// Why the server channel responds to a request itself; the connection is closed afterwards.
package enum HTTPFault: Error, Hashable, Sendable, CaseIterable {
    /// The input is not HTTP/1.1.
    case malformed
    case headerTooLarge
    case bodyTooLarge
    /// `Expect` has a value other than `100-continue`.
    case expectationFailed
    /// The request did not arrive completely in time.
    case requestTimeout
    /// No response was ready in time.
    case responseTimeout
    /// The limit of connections, or of body memory, is reached.
    case overloaded
    /// The client has reached its share of connections or of body memory.
    case clientShareExceeded
    /// The body is long, and the head has no key or token that permits it.
    case credentialsRequired
    /// `Transfer-Encoding` has a value other than `chunked`.
    case unsupportedTransferCoding
    /// `Content-Encoding` is set: the body is compressed.
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
