import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The transport of the platform's own HTTP client.
public final class URLSessionTransport: Transport {
    private let session: URLSession

    /// - Parameter timeout: how long a response may take.
    public init(timeout: Duration = .seconds(60)) {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = timeout / .seconds(1)
        configuration.httpShouldSetCookies = false
        configuration.urlCache = nil
        session = URLSession(configuration: configuration, delegate: RedirectionRefusal(), delegateQueue: nil)
    }

    deinit {
        session.finishTasksAndInvalidate()
    }

    /// Posts a request; throws `URLError` when no complete response arrived.
    public func send(_ request: TransportRequest) async throws -> TransportResponse {
        var urlRequest = URLRequest(url: request.url)
        urlRequest.httpMethod = "POST"
        urlRequest.httpBody = Data(request.body)
        for (name, value) in request.headers { urlRequest.setValue(value, forHTTPHeaderField: name) }
        let (data, response) = try await session.data(for: urlRequest)
        guard let response = response as? HTTPURLResponse else { throw URLError(.badServerResponse) }
        let token = response.value(forHTTPHeaderField: "X-Skyrow-Access-Token")
        return TransportResponse(
            status: response.statusCode,
            headers: token.map { [(name: "X-Skyrow-Access-Token", value: $0)] } ?? [],
            body: Array(data)
        )
    }
}

/// Keeps key and token from going wherever a response points.
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
