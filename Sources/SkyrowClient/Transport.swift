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
///
///     func upload(_ upload: TransportUpload) async throws -> TransportResponse {
///         try await inner.upload(upload)
///     }
///
///     func download(_ download: TransportDownload) async throws -> TransportResponse {
///         try await inner.download(download)
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
    /// Posts a file and returns the whole response.
    ///
    /// Uploads require it; a transport without it throws `ClientError` with the code `unsupported`.
    func upload(_ upload: TransportUpload) async throws -> TransportResponse
    /// Gets a file, hands its bytes over as they arrive, and returns the response without them.
    ///
    /// Downloads require it; a transport without it throws `ClientError` with the code `unsupported`.
    func download(_ download: TransportDownload) async throws -> TransportResponse
}

extension Transport {
    /// Throws `ClientError` with the code `unsupported`.
    public func stream(_ request: TransportRequest) async throws -> TransportStream {
        throw ClientError(.unsupported, "This transport has no event streams, which live queries need.")
    }

    /// Throws `ClientError` with the code `unsupported`.
    public func upload(_ upload: TransportUpload) async throws -> TransportResponse {
        throw ClientError(.unsupported, "This transport uploads no files.")
    }

    /// Throws `ClientError` with the code `unsupported`.
    public func download(_ download: TransportDownload) async throws -> TransportResponse {
        throw ClientError(.unsupported, "This transport downloads no files.")
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

/// An HTTP `POST` whose body is a file.
public struct TransportUpload: Sendable {
    public var url: URL
    /// Names and values; each name occurs once.
    public var headers: [(name: String, value: String)]
    /// The body; a file on disk is read while it is sent, and never as a whole.
    public var content: FileContent
    /// Takes the number of bytes that have been sent, whenever it has grown.
    public var progress: @Sendable (_ sent: Int64) -> Void

    public init(
        url: URL,
        headers: [(name: String, value: String)],
        content: FileContent,
        progress: @escaping @Sendable (_ sent: Int64) -> Void = { _ in }
    ) {
        self.url = url
        self.headers = headers
        self.content = content
        self.progress = progress
    }
}

/// An HTTP `GET` of a file or of a part of it.
public struct TransportDownload: Sendable {
    public var url: URL
    /// Names and values; each name occurs once.
    public var headers: [(name: String, value: String)]
    /// Takes the next bytes of a response with the status 200 or 206, and its head; the body of any other response is returned.
    ///
    /// It may block its thread, which must not be one of Swift's concurrency, and an error that it throws ends the request.
    public var receive: @Sendable (_ head: TransportResponse, _ bytes: Data) throws -> Void

    public init(
        url: URL,
        headers: [(name: String, value: String)],
        receive: @escaping @Sendable (_ head: TransportResponse, _ bytes: Data) throws -> Void
    ) {
        self.url = url
        self.headers = headers
        self.receive = receive
    }
}

/// An HTTP response.
public struct TransportResponse: Sendable {
    public var status: Int
    /// Names and values, in any letter case; a transport may leave out all but `X-Skyrow-Access-Token`, and, of a download,
    /// `Content-Length`, `Content-Range` and `ETag`.
    public var headers: [(name: String, value: String)]
    public var body: [UInt8]

    public init(status: Int, headers: [(name: String, value: String)] = [], body: [UInt8]) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// The value of a header field, whose name is given in lowercase.
    func header(_ name: String) -> String? {
        headers.first { $0.name.lowercased() == name }?.value
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
