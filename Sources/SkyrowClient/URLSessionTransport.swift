import Foundation
import SkyrowConcurrency

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A transport over the platform's own HTTP client.
///
/// ```swift
/// let client = SkyrowClient(endpoint: endpoint, apiKey: key, transport: URLSessionTransport(timeout: .seconds(10)))
/// ```
public final class URLSessionTransport: Transport {
    private let session: URLSession
    /// The session for streams, whose delegate receives the bytes as they arrive.
    private let streams: URLSession
    private let receiver = StreamReceiver()

    /// - Parameter timeout: how long a response may take.
    public init(timeout: Duration = .seconds(60)) {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = timeout / .seconds(1)
        configuration.httpShouldSetCookies = false
        configuration.urlCache = nil
        session = URLSession(configuration: configuration, delegate: RedirectionRefusal(), delegateQueue: nil)
        // A stream may be silent; its reader decides for how long.
        configuration.timeoutIntervalForRequest = 24 * 3600
        streams = URLSession(configuration: configuration, delegate: receiver, delegateQueue: nil)
    }

    deinit {
        session.finishTasksAndInvalidate()
        streams.invalidateAndCancel()
    }

    /// Posts a request; throws `URLError` when no complete response arrived.
    public func send(_ request: TransportRequest) async throws -> TransportResponse {
        let (data, response) = try await session.data(for: request.urlRequest)
        guard let response = response as? HTTPURLResponse else { throw URLError(.badServerResponse) }
        return TransportResponse(
            status: response.statusCode,
            headers: response.fields("X-Skyrow-Access-Token"),
            body: Array(data)
        )
    }

    /// Posts a request; throws `URLError` when no response arrived, and while its body is read when the connection breaks.
    public func stream(_ request: TransportRequest) async throws -> TransportStream {
        let task = streams.dataTask(with: request.urlRequest)
        return try await withTaskCancellationHandler {
            let head = receiver.response(of: task)
            task.resume()
            // The task may have been cancelled before the request began.
            if Task.isCancelled { task.cancel() }
            return try await head.value().get()
        } onCancel: {
            task.cancel()
        }
    }
}

extension TransportRequest {
    fileprivate var urlRequest: URLRequest {
        var request = URLRequest(url: url)
        request.httpMethod = "POST"
        request.httpBody = Data(body)
        for (name, value) in headers { request.setValue(value, forHTTPHeaderField: name) }
        return request
    }
}

extension HTTPURLResponse {
    /// Returns these fields, without those that the response lacks.
    func fields(_ names: String...) -> [(name: String, value: String)] {
        names.compactMap { name in value(forHTTPHeaderField: name).map { (name: name, value: $0) } }
    }
}

/// Refuses redirects, so that a response cannot direct the key and token elsewhere.
private final class RedirectionRefusal: NSObject, URLSessionTaskDelegate {
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completionHandler(nil)
    }
}
