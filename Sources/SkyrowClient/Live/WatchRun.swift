import SkyrowModel

/// One run of a result that is kept current, which is watched again after a reset.
final class WatchRun: SubscriptionRun {
    let link: StreamLink
    private var result = WatchedResult()
    /// Whether a result has come.
    private var isEstablished = false
    /// Whether the stream is to take the subscription in, after a pause.
    private var joins: (Bool, after: Duration?) = (true, nil)

    /// The most bytes of JSON that wait to be read; beyond it the query is watched again.
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
            // Before the whole result there is nothing that changes.
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
