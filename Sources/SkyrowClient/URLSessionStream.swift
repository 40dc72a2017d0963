import Foundation
import Synchronization

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Gives the bytes of responses on as they arrive.
final class StreamReceiver: NSObject, URLSessionDataDelegate {
    private struct Response {
        /// Who waits for the head.
        var head: CheckedContinuation<TransportStream, any Error>?
        var body: AsyncThrowingStream<[UInt8], any Error>.Continuation?
    }

    /// How many pieces may wait to be read, of some 16 KB each; a stream with more of them is ended.
    private static let waitingPieces = 1024

    private let responses = Mutex<[Int: Response]>([:])

    /// Waits for the response of a task, which is resumed afterwards.
    func expect(_ task: URLSessionDataTask, _ head: CheckedContinuation<TransportStream, any Error>) {
        responses.withLock { $0[task.taskIdentifier] = Response(head: head) }
    }

    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        let (body, continuation) = AsyncThrowingStream.makeStream(
            of: [UInt8].self,
            bufferingPolicy: .bufferingOldest(Self.waitingPieces)
        )
        continuation.onTermination = { [weak dataTask] _ in dataTask?.cancel() }
        let head = responses.withLock { responses in
            responses[dataTask.taskIdentifier]?.body = continuation
            return responses[dataTask.taskIdentifier]?.head.take()
        }
        guard let head else { return completionHandler(.cancel) }
        if let response = response as? HTTPURLResponse {
            head.resume(
                returning: TransportStream(
                    status: response.statusCode,
                    headers: response.fields("Content-Type", "X-Skyrow-Access-Token"),
                    body: body
                )
            )
            completionHandler(.allow)
        } else {
            head.resume(throwing: URLError(.badServerResponse))
            completionHandler(.cancel)
        }
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        guard let body = responses.withLock({ $0[dataTask.taskIdentifier]?.body }) else { return }
        if case .dropped = body.yield(Array(data)) {
            body.finish(throwing: URLError(.dataLengthExceedsMaximum))
            dataTask.cancel()
        }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let response = responses.withLock { $0.removeValue(forKey: task.taskIdentifier) }
        response?.head?.resume(throwing: error ?? URLError(.badServerResponse))
        response?.body?.finish(throwing: error)
    }

    /// Keeps key and token from going wherever a response points.
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
