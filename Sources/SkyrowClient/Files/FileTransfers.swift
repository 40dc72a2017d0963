import Foundation
import SkyrowConcurrency
import Synchronization

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The uploads and downloads of a session. Writing to a disk may block the thread of its delegate.
final class FileTransfers: TaskReceiver {
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

    func didSend(_ count: Int64, of task: URLSessionTask) {
        let progress = transfers.withLock { $0[task.taskIdentifier]?.progress }
        progress?(count)
    }

    func didReceive(_ response: URLResponse, of task: URLSessionDataTask) -> URLSession.ResponseDisposition {
        guard let response = response as? HTTPURLResponse else {
            end(task, URLError(.badServerResponse))
            return .cancel
        }
        let head = TransportResponse(
            status: response.statusCode,
            headers: response.fields("Content-Length", "Content-Range", "ETag", "X-Skyrow-Access-Token"),
            body: []
        )
        transfers.withLock { $0[task.taskIdentifier]?.response = head }
        return .allow
    }

    func didReceive(_ data: Data, of task: URLSessionDataTask) {
        guard let transfer = transfers.withLock({ $0[task.taskIdentifier] }), transfer.failure == nil else { return }
        if let receive = transfer.receive, [200, 206].contains(transfer.response.status) {
            do {
                try receive(transfer.response, data)
            } catch {
                end(task, error)
            }
        } else if transfer.response.body.count + data.count > Self.maximumBody {
            end(task, URLError(.dataLengthExceedsMaximum))
        } else {
            transfers.withLock { $0[task.taskIdentifier]?.response.body += data }
        }
    }

    func didComplete(_ task: URLSessionTask, _ error: (any Error)?) {
        guard let transfer = transfers.withLock({ $0.removeValue(forKey: task.taskIdentifier) }) else { return }
        if let failure = transfer.failure ?? error {
            transfer.outcome.settle(.failure(failure))
        } else {
            transfer.outcome.settle(.success(transfer.response))
        }
    }

    private func end(_ task: URLSessionTask, _ failure: any Error) {
        transfers.withLock { $0[task.taskIdentifier]?.failure = failure }
        task.cancel()
    }
}
