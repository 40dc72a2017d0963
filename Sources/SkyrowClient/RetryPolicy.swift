import SkyrowModel

/// How often and how soon a call is made again.
///
/// Only what cannot happen twice is repeated: calls that read, saves and deletes (which carry an idempotency key), and
/// calls of which the server said that it did nothing.
public struct RetryPolicy: Hashable, Sendable {
    /// Calls altogether; 1 means that nothing is repeated.
    public var maximumAttempts: Int
    /// The longest wait before the second attempt; it doubles with every further one.
    public var initialDelay: Duration
    /// The longest wait of all.
    public var maximumDelay: Duration

    public init(
        maximumAttempts: Int = 4,
        initialDelay: Duration = .milliseconds(200),
        maximumDelay: Duration = .seconds(5)
    ) {
        self.maximumAttempts = maximumAttempts
        self.initialDelay = initialDelay
        self.maximumDelay = maximumDelay
    }

    /// No call is made twice.
    public static let never = RetryPolicy(maximumAttempts: 1)
}

/// Whether a call may be carried out twice without harm.
enum Repeatability: Hashable {
    /// It reads, or the server recognises it by its idempotency key.
    case safe
    case unsafe
}

extension RetryPolicy {
    /// How long to wait before the next attempt; nil when there is none.
    ///
    /// - Parameters:
    ///   - attempt: how many there were, 1 after the first.
    ///   - share: where in the range to wait, 0 to 1; at random, so that clients do not come back together.
    func delay(
        afterAttempt attempt: Int,
        failure: ClientError,
        repeatability: Repeatability,
        share: Double
    ) -> Duration? {
        guard attempt < maximumAttempts, isWorthRepeating(failure, repeatability) else { return nil }
        let longest = min(initialDelay * (1 << min(attempt - 1, 20)), maximumDelay)
        let jittered = longest * (0.5 + share / 2)
        // A server that says when to come back is obeyed, within reason.
        guard case .integer(let seconds) = failure.serverError?.info["retry_after"] else { return jittered }
        let asked = Duration.seconds(max(seconds, 0))
        return asked > maximumDelay ? nil : max(asked, jittered)
    }

    private func isWorthRepeating(_ failure: ClientError, _ repeatability: Repeatability) -> Bool {
        switch failure.code {
        case .refused:
            switch failure.serverCode {
            // Nothing was done.
            case .overloaded, .rateLimited: true
            // It may have been done, or the next attempt may meet another server.
            case .outcomeUnknown, .responseTimeout, .unexpectedUnableToOpenDatabase: repeatability == .safe
            default: false
            }
        case .noResponse: repeatability == .safe
        default: false
        }
    }
}
