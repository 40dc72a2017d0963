import Foundation
import SkyrowConcurrency
import Synchronization

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The uploads and downloads of a session.
///
/// Its methods are called on the thread of the session's delegate, one after the other, which writing to a disk may block.
final class FileTransfers: NSObject, URLSessionDataDelegate {
    typealias Outcome = Deferred<Result<TransportResponse, any Error>>
    typealias Receive = @Sendable (TransportResponse, Data) throws -> Void

    private struct Transfer {
        let outcome: Outcome
        var progress: (@Sendable (Int64) -> Void)?
        var receive: Receive?
        var response = TransportResponse(status: 0, body: [])
        /// Why the transfer was ended here.
        var failure: (any Error)?
    }

    /// Upper bound on the bytes of a response that are kept, which are those of an asset or an error.
    private static let maximumBody = 65_536

    private let transfers = Mutex<[Int: Transfer]>([:])

    /// Returns the future response of an upload, which must be resumed afterwards.
    func begin(_ task: URLSessionTask, progress: @escaping @Sendable (Int64) -> Void) -> Outcome {
        add(task, Transfer(outcome: Outcome(), progress: progress))
    }

    /// Returns the future response of a download, which must be resumed afterwards.
    func begin(_ task: URLSessionTask, receive: @escaping Receive) -> Outcome {
        add(task, Transfer(outcome: Outcome(), receive: receive))
    }

    private func add(_ task: URLSessionTask, _ transfer: Transfer) -> Outcome {
        transfers.withLock { $0[task.taskIdentifier] = transfer }
        return transfer.outcome
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didSendBodyData bytesSent: Int64,
        totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        let progress = transfers.withLock { $0[task.taskIdentifier]?.progress }
        progress?(totalBytesSent)
    }

    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        guard let response = response as? HTTPURLResponse else {
            end(dataTask, URLError(.badServerResponse))
            return completionHandler(.cancel)
        }
        let head = TransportResponse(
            status: response.statusCode,
            headers: response.fields("Content-Length", "Content-Range", "ETag", "X-Skyrow-Access-Token"),
            body: []
        )
        transfers.withLock { $0[dataTask.taskIdentifier]?.response = head }
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        guard let transfer = transfers.withLock({ $0[dataTask.taskIdentifier] }), transfer.failure == nil else {
            return
        }
        if let receive = transfer.receive, [200, 206].contains(transfer.response.status) {
            do {
                try receive(transfer.response, data)
            } catch {
                end(dataTask, error)
            }
        } else if transfer.response.body.count + data.count > Self.maximumBody {
            end(dataTask, URLError(.dataLengthExceedsMaximum))
        } else {
            transfers.withLock { $0[dataTask.taskIdentifier]?.response.body += data }
        }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        guard let transfer = transfers.withLock({ $0.removeValue(forKey: task.taskIdentifier) }) else { return }
        if let failure = transfer.failure ?? error {
            transfer.outcome.settle(.failure(failure))
        } else {
            transfer.outcome.settle(.success(transfer.response))
        }
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

    private func end(_ task: URLSessionTask, _ failure: any Error) {
        transfers.withLock { $0[task.taskIdentifier]?.failure = failure }
        task.cancel()
    }
}
