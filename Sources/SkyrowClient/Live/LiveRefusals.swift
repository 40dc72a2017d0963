import SkyrowModel

/// The number of consecutive refusals of a subscription, which determines the delay before the next attempt.
///
/// An established subscription is retried without a limit; a new one gives up after some attempts.
struct LiveRefusals {
    /// Upper bound on the attempts of a new subscription.
    let maximumAttempts: Int
    private var count = 0

    init(maximumAttempts: Int) {
        self.maximumAttempts = maximumAttempts
    }

    /// Resets the count, since the service has accepted the subscription.
    mutating func passed() {
        count = 0
    }

    /// Returns the delay before the next attempt; throws the refusal when another attempt cannot succeed.
    mutating func pause(after error: ClientError, isEstablished: Bool) throws(ClientError) -> Duration {
        let mayPass: Bool =
            switch error.serverCode {
            case .overloaded, .rateLimited, .responseTimeout, .unexpectedUnableToOpenDatabase, .unexpectedError: true
            case nil: isEstablished
            default: false
            }
        count += 1
        guard mayPass, isEstablished || count < maximumAttempts else { throw error }
        return LivePauses.before(attempt: count, asked: error.serverError?.retryAfter, share: .random(in: 0...1))
    }
}

extension LiveStream {
    /// Adds a subscription to the stream; throws `135 Overloaded` when there are too many.
    func join(_ subscription: LiveSubscription, _ start: LiveStart, of client: SkyrowClient) throws(ClientError) {
        guard attach(subscription, start, of: client) else {
            throw .refused(
                SkyrowError(
                    .overloaded,
                    "A client can have at most \(LiveStreamPlan.maximumCount) live queries at a time."
                )
            )
        }
    }
}

extension SkyrowClient {
    func waitToSubscribe(_ pause: Duration) async throws(ClientError) {
        do {
            try await self.pause(pause)
        } catch {
            throw ClientError(.cancelled, "The live query was cancelled.", underlying: error)
        }
    }
}
