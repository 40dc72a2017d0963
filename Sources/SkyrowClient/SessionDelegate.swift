import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Takes what arrives for the tasks of a session.
///
/// Its methods are called on the thread of the session's delegate, one after the other.
protocol TaskReceiver: Sendable {
    /// - Parameter count: the bytes of the body that have been sent so far.
    func didSend(_ count: Int64, of task: URLSessionTask)
    func didReceive(_ response: URLResponse, of task: URLSessionDataTask) -> URLSession.ResponseDisposition
    func didReceive(_ data: Data, of task: URLSessionDataTask)
    func didComplete(_ task: URLSessionTask, _ error: (any Error)?)
}

extension TaskReceiver {
    func didSend(_ count: Int64, of task: URLSessionTask) {}
}

/// The delegate of every session: it refuses redirects, and passes on what arrives.
final class SessionDelegate: NSObject, URLSessionDataDelegate {
    private let receiver: (any TaskReceiver)?

    /// - Parameter receiver: nil for a session whose tasks have completion handlers.
    init(_ receiver: (any TaskReceiver)? = nil) {
        self.receiver = receiver
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

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didSendBodyData bytesSent: Int64,
        totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        receiver?.didSend(totalBytesSent, of: task)
    }

    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        completionHandler(receiver?.didReceive(response, of: dataTask) ?? .allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        receiver?.didReceive(data, of: dataTask)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        receiver?.didComplete(task, error)
    }
}
