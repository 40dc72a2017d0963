import Foundation
import SkyrowConcurrency
import Synchronization

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Delivers the bytes of responses as they arrive.
final class StreamReceiver: TaskReceiver {
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

    func didReceive(_ response: URLResponse, of task: URLSessionDataTask) -> URLSession.ResponseDisposition {
        let (body, continuation) = AsyncThrowingStream.makeStream(
            of: [UInt8].self,
            bufferingPolicy: .bufferingOldest(Self.waitingPieces)
        )
        continuation.onTermination = { [weak task] _ in task?.cancel() }
        let head = responses.withLock { responses in
            responses[task.taskIdentifier]?.body = continuation
            return responses[task.taskIdentifier]?.head.take()
        }
        guard let response = response as? HTTPURLResponse else {
            head?.settle(.failure(URLError(.badServerResponse)))
            return .cancel
        }
        let stream = TransportStream(
            status: response.statusCode,
            headers: response.fields("Content-Type", "X-Skyrow-Access-Token"),
            body: body
        )
        return head?.settle(.success(stream)) == true ? .allow : .cancel
    }

    func didReceive(_ data: Data, of task: URLSessionDataTask) {
        guard let body = responses.withLock({ $0[task.taskIdentifier]?.body }) else { return }
        if case .dropped = body.yield(Array(data)) {
            body.finish(throwing: URLError(.dataLengthExceedsMaximum))
            task.cancel()
        }
    }

    func didComplete(_ task: URLSessionTask, _ error: (any Error)?) {
        let response = responses.withLock { $0.removeValue(forKey: task.taskIdentifier) }
        response?.head?.settle(.failure(error ?? URLError(.badServerResponse)))
        response?.body?.finish(throwing: error)
    }
}
