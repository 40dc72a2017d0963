import SkyrowModel
import SkyrowProtocol

/// One run of a watched query, which is watched again after a reset.
final class WatchRun: SubscriptionRun {
    let link: StreamLink
    private var result = WatchedResult()
    /// Whether a result has arrived.
    private var isEstablished = false
    /// Whether the next step adds the subscription to the stream, and after which delay.
    private var joins: (Bool, after: Duration?) = (true, nil)

    /// Upper bound on the bytes of JSON that wait to be read; when they exceed it, the query is watched again.
    private static let byteLimit = 4 << 20

    init(_ database: RecordDatabase, _ subject: LiveWatchRequest.Subject) {
        let request = LiveWatchRequest(name: "", database: database.name, subject)
        link = StreamLink(.watch(request), of: database.client, byteLimit: Self.byteLimit)
    }

    func step() async throws(ClientError) -> WatchedResult? {
        if joins.0 {
            try await link.attach(.anew, after: joins.after)
            joins = (false, nil)
        }
        switch try await link.listen() {
        case .result(let changes, let isWhole):
            // Changes before the first whole result have nothing to apply to.
            guard isWhole || isEstablished else { return nil }
            isEstablished = true
            link.accepted()
            result.apply(changes, isWhole: isWhole)
            return result
        case .reset(_, _, let pause): joins = (true, pause)
        case .dropped: joins = (true, nil)
        case .refused(let refusal):
            joins = (true, try link.pause(after: refusal.error, isEstablished: isEstablished))
        case .changes, .checkpoint, .restarted: break
        }
        return nil
    }
}
