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
    /// The session for streams, whose receiver takes the bytes as they arrive.
    private let streams: URLSession
    private let receiver = StreamReceiver()
    /// The session for files, on whose delegate's thread files are written.
    private let files: URLSession
    private let transfers = FileTransfers()

    /// - Parameter timeout: how long a response may take, and how long a transfer of a file may stand still.
    public init(timeout: Duration = .seconds(60)) {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = timeout / .seconds(1)
        configuration.httpShouldSetCookies = false
        configuration.urlCache = nil
        session = URLSession(configuration: configuration, delegate: SessionDelegate(), delegateQueue: nil)
        files = URLSession(configuration: configuration, delegate: SessionDelegate(transfers), delegateQueue: nil)
        // A stream may be silent; its reader decides for how long.
        configuration.timeoutIntervalForRequest = 24 * 3600
        streams = URLSession(configuration: configuration, delegate: SessionDelegate(receiver), delegateQueue: nil)
    }

    deinit {
        session.finishTasksAndInvalidate()
        files.finishTasksAndInvalidate()
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

    /// Posts a file; throws `URLError` when no complete response arrived.
    public func upload(_ upload: TransportUpload) async throws -> TransportResponse {
        let request = URLRequest(url: upload.url, method: "POST", headers: upload.headers)
        let task =
            switch upload.content {
            case .data(let data): files.uploadTask(with: request, from: data)
            case .file(let file): files.uploadTask(with: request, fromFile: file)
            }
        return try await response(of: task) { transfers.begin(task, progress: upload.progress) }
    }

    /// Gets a file; throws `URLError` when the connection breaks before its end.
    public func download(_ download: TransportDownload) async throws -> TransportResponse {
        let task = files.dataTask(with: URLRequest(url: download.url, method: "GET", headers: download.headers))
        return try await response(of: task) { transfers.begin(task, receive: download.receive) }
    }

    private func response(
        of task: URLSessionTask,
        _ begin: () -> FileTransfers.Outcome
    ) async throws -> TransportResponse {
        try await withTaskCancellationHandler {
            let outcome = begin()
            task.resume()
            // The task may have been cancelled before the request began.
            if Task.isCancelled { task.cancel() }
            return try await outcome.value().get()
        } onCancel: {
            task.cancel()
        }
    }
}

extension URLRequest {
    fileprivate init(url: URL, method: String, headers: [(name: String, value: String)]) {
        self.init(url: url)
        httpMethod = method
        for (name, value) in headers { setValue(value, forHTTPHeaderField: name) }
    }
}

extension TransportRequest {
    fileprivate var urlRequest: URLRequest {
        var request = URLRequest(url: url, method: "POST", headers: headers)
        request.httpBody = Data(body)
        return request
    }
}

extension HTTPURLResponse {
    /// Returns these fields, without those that the response lacks.
    func fields(_ names: String...) -> [(name: String, value: String)] {
        names.compactMap { name in value(forHTTPHeaderField: name).map { (name: name, value: $0) } }
    }
}
