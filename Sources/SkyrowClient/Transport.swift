public import Foundation

/// Carries a request to the server and its response back.
///
/// The client comes with `URLSessionTransport`; another one can be given to it, for tests or for another HTTP library.
/// `send` throws when no complete response arrived, and returns every response, whatever its status. It may be called by
/// several tasks at once, and ends early when the calling task is cancelled.
public protocol Transport: Sendable {
    func send(_ request: TransportRequest) async throws -> TransportResponse
}

/// An HTTP `POST`.
public struct TransportRequest: Sendable {
    public var url: URL
    /// Names and values, each name once.
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
    /// Names and values, in any case; a transport may leave out all but `X-Skyrow-Access-Token`.
    public var headers: [(name: String, value: String)]
    public var body: [UInt8]

    public init(status: Int, headers: [(name: String, value: String)] = [], body: [UInt8]) {
        self.status = status
        self.headers = headers
        self.body = body
    }
}
