import Foundation
import SkyrowModel
import Synchronization

/// A download in progress: the plan of its requests, and where its bytes go.
final class FileDownload: Sendable {
    private let plan: Mutex<DownloadPlan>
    private let target: any DownloadTarget
    private let progress: (@Sendable (FileProgress) -> Void)?

    init(_ plan: DownloadPlan, into target: any DownloadTarget, progress: (@Sendable (FileProgress) -> Void)?) {
        self.plan = Mutex(plan)
        self.target = target
        self.progress = progress
    }

    var isComplete: Bool { plan.withLock(\.isComplete) }

    /// Returns the request of the next part.
    func nextRequest(
        to url: URL,
        _ headers: [(name: String, value: String)]
    ) -> TransportDownload {
        let range = plan.withLock { $0.nextRequest() }
        return TransportDownload(url: url, headers: headers + range) { [self] head, bytes in
            try receive(bytes, head)
        }
    }

    private func receive(_ bytes: Data, _ head: TransportResponse) throws(ClientError) {
        let (earlier, progress) = try plan.withLock { plan throws(ClientError) in
            (try plan.receive(bytes.count, head), plan.progress)
        }
        if earlier == .go { try target.empty() }
        try target.append(bytes)
        if let progress { self.progress?(progress) }
    }

    /// Takes the end of a part.
    func finish(_ response: TransportResponse) throws(ClientError) {
        let earlier = try plan.withLock { plan throws(ClientError) in try plan.finish(response) }
        if earlier == .go { try target.empty() }
    }
}
