public import Foundation

/// Sends requests to the server and returns its responses.
///
/// The client comes with `URLSessionTransport`; pass another transport for tests or for another HTTP library. `send` throws
/// when no complete response arrived, and returns every response, regardless of its status. Several tasks may call it at once,
/// and it ends early when the calling task is cancelled.
///
/// ```swift
/// struct Logging: Transport {
///     let inner = URLSessionTransport()
///
///     func send(_ request: TransportRequest) async throws -> TransportResponse {
///         print(request.url)
///         return try await inner.send(request)
///     }
///
///     func stream(_ request: TransportRequest) async throws -> TransportStream {
///         try await inner.stream(request)
///     }
/// }
/// ```
public protocol Transport: Sendable {
    /// Sends a request and returns the whole response.
    func send(_ request: TransportRequest) async throws -> TransportResponse
    /// Sends a request and returns the head of the response; the body follows as it arrives, possibly for hours.
    ///
    /// Live queries require it; a transport without it throws `ClientError` with the code `unsupported`.
    func stream(_ request: TransportRequest) async throws -> TransportStream
}

extension Transport {
    /// Throws `ClientError` with the code `unsupported`.
    public func stream(_ request: TransportRequest) async throws -> TransportStream {
        throw ClientError(.unsupported, "This transport has no event streams, which live queries need.")
    }
}

/// An HTTP `POST`.
public struct TransportRequest: Sendable {
    public var url: URL
    /// Names and values; each name occurs once.
    public var headers: [(name: String, value: String)]
    public var body: [UInt8]

    public init(url: URL, headers: [(name: String, value: String)], body: [UInt8]) {
        self.url = url
        self.headers = headers
        self.body = body
    }
}

/// An HTTP response.
public struct TransportResponse: Sendable {
    public var status: Int
    /// Names and values, in any letter case; a transport may leave out all but `X-Skyrow-Access-Token`.
    public var headers: [(name: String, value: String)]
    public var body: [UInt8]

    public init(status: Int, headers: [(name: String, value: String)] = [], body: [UInt8]) {
        self.status = status
        self.headers = headers
        self.body = body
    }
}

/// The head of an HTTP response whose body arrives in chunks.
///
/// ```swift
/// let stream = try await transport.stream(request)
/// for try await bytes in stream.body { print(bytes.count) }
/// ```
public struct TransportStream: Sendable {
    /// The HTTP status.
    public var status: Int
    /// Names and values, in any letter case; a transport may leave out all but `Content-Type` and `X-Skyrow-Access-Token`.
    public var headers: [(name: String, value: String)]
    /// The bytes of the body as they arrive. Throws when the connection breaks; dropping it ends the request.
    public var body: AsyncThrowingStream<[UInt8], any Error>

    /// Creates a response whose body comes from a stream.
    public init(status: Int, headers: [(name: String, value: String)], body: AsyncThrowingStream<[UInt8], any Error>) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// Whether the response is an event stream.
    var isEventStream: Bool {
        let type = headers.first { $0.name.lowercased() == "content-type" }?.value.lowercased() ?? ""
        return status == 200 && type.hasPrefix("text/event-stream")
    }
}
