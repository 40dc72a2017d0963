import Foundation
import SkyrowConcurrency
import Synchronization

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Delivers the bytes of responses as they arrive.
final class StreamReceiver: NSObject, URLSessionDataDelegate {
    typealias Head = Deferred<Result<TransportStream, any Error>>

    private struct Response {
        /// Nil once it has arrived: it refers to the stream, which ends when its reader drops the last reference.
        var head: Head?
        var body: AsyncThrowingStream<[UInt8], any Error>.Continuation?
    }

    /// Upper bound on unread chunks, of some 16 KB each; a stream that exceeds it is ended.
    private static let waitingPieces = 1024

    private let responses = Mutex<[Int: Response]>([:])

    /// Returns the future response of a task, which must be resumed afterwards.
    func response(of task: URLSessionDataTask) -> Head {
        let head = Head()
        responses.withLock { $0[task.taskIdentifier] = Response(head: head) }
        return head
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
        guard let response = response as? HTTPURLResponse else {
            head?.settle(.failure(URLError(.badServerResponse)))
            return completionHandler(.cancel)
        }
        let stream = TransportStream(
            status: response.statusCode,
            headers: response.fields("Content-Type", "X-Skyrow-Access-Token"),
            body: body
        )
        completionHandler(head?.settle(.success(stream)) == true ? .allow : .cancel)
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
        response?.head?.settle(.failure(error ?? URLError(.badServerResponse)))
        response?.body?.finish(throwing: error)
    }

    /// Refuses redirects, so that a response cannot direct the key and token elsewhere.
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
