import SkyrowModel

/// How often in a row the service has refused a subscription, and how long to wait before the next attempt.
///
/// A subscription that was there waits for better times; a new one gives up after some attempts.
struct LiveRefusals {
    /// The most attempts of a new one.
    let maximumAttempts: Int
    private var count = 0

    init(maximumAttempts: Int) {
        self.maximumAttempts = maximumAttempts
    }

    /// Begins to count anew: the service has accepted it.
    mutating func passed() {
        count = 0
    }

    /// The pause before the next attempt; throws the refusal where another attempt has no prospect.
    mutating func pause(after error: ClientError, isEstablished: Bool) throws(ClientError) -> Duration {
        let mayPass: Bool =
            switch error.serverCode {
            case .overloaded, .rateLimited, .responseTimeout, .unexpectedUnableToOpenDatabase, .unexpectedError: true
            case nil: isEstablished
            default: false
            }
        count += 1
        guard mayPass, isEstablished || count < maximumAttempts else { throw error }
        var asked: Duration?
        if case .integer(let seconds)? = error.serverError?.info["retry_after"] { asked = .seconds(max(seconds, 0)) }
        return LivePauses.before(attempt: count, asked: asked, share: .random(in: 0...1))
    }
}

extension LiveStream {
    /// Takes a subscription into the stream; throws `135 Overloaded` when there are too many.
    func join(_ subscription: LiveSubscription, _ start: LiveStart, of client: SkyrowClient) throws(ClientError) {
        guard attach(subscription, start, of: client) else {
            throw .refused(
                SkyrowError(
                    .overloaded,
                    "A client has at most \(LiveStreamPlan.maximumCount) live queries at a time."
                )
            )
        }
    }
}

extension SkyrowClient {
    /// Waits before a subscription is made again.
    func waitToSubscribe(_ pause: Duration) async throws(ClientError) {
        do {
            try await self.pause(pause)
        } catch {
            throw ClientError(.cancelled, "The live query was cancelled.", underlying: error)
        }
    }
}
