import SkyrowModel

/// One run of a result that is kept current: takes what the stream brings, and has the query watched again after a reset.
final class WatchRun {
    private let client: SkyrowClient
    private let subscription: LiveSubscription
    private var result = WatchedResult()
    private var refusals: LiveRefusals
    /// Whether a result has come.
    private var isEstablished = false
    /// Whether the stream is to take the subscription in, after a pause.
    private var joins: (Bool, after: Duration?) = (true, nil)
    private var hasEnded = false

    /// The most bytes of JSON that wait to be read; beyond it the query is watched again.
    static let byteLimit = 4 << 20

    init(_ database: RecordDatabase, _ subject: LiveWatchRequest.Subject) {
        client = database.client
        let request = LiveWatchRequest(name: "", database: database.name, subject)
        subscription = client.live.subscription(.watch(request), byteLimit: Self.byteLimit)
        refusals = LiveRefusals(maximumAttempts: client.retryPolicy.maximumAttempts)
    }

    deinit {
        client.live.remove(subscription, of: client)
    }

    /// The next result; nil when the task is cancelled, and after an error.
    func next(isolation actor: isolated (any Actor)? = #isolation) async throws(ClientError) -> WatchedResult? {
        if hasEnded { return nil }
        do throws(ClientError) {
            while !Task.isCancelled {
                if joins.0 {
                    if let pause = joins.after { try await client.waitToSubscribe(pause) }
                    try client.live.join(subscription, .anew, of: client)
                    joins = (false, nil)
                }
                guard let item = await subscription.next() else { break }
                if let result = try take(item) { return result }
            }
            end()
            return nil
        } catch {
            end()
            if error.code == .cancelled { return nil }
            throw error
        }
    }

    private func end() {
        hasEnded = true
        client.live.remove(subscription, of: client)
    }

    /// The result that an item makes; nil where it stays.
    private func take(_ item: LiveItem) throws(ClientError) -> WatchedResult? {
        switch item {
        case .result(let changes, let isWhole):
            // Before the whole result there is nothing that changes.
            guard isWhole || isEstablished else { return nil }
            isEstablished = true
            refusals.passed()
            result.apply(changes, isWhole: isWhole)
            return result
        case .reset(.session, _, _):
            throw .refused(SkyrowError(.accessTokenNotAccepted, "The session has ended; log in again."))
        case .reset(_, _, let pause):
            joins = (true, pause)
        case .dropped:
            joins = (true, nil)
        case .refused(let refusal):
            joins = (true, try refusals.pause(after: refusal.error, isEstablished: isEstablished))
        case .changes, .checkpoint, .restarted: break
        }
        return nil
    }
}
