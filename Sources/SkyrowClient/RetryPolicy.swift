import SkyrowModel

/// How often a call is retried, and after which delays.
///
/// Only calls that cannot take effect twice are retried: reads, saves and deletes (which carry an idempotency key), and calls
/// that the server refused before it did anything.
public struct RetryPolicy: Hashable, Sendable {
    /// The total number of attempts; 1 disables retries.
    public var maximumAttempts: Int
    /// The longest delay before the second attempt; it doubles with each further attempt.
    public var initialDelay: Duration
    /// Upper bound on every delay.
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

    /// The policy without retries.
    public static let never = RetryPolicy(maximumAttempts: 1)
}

/// Whether a call may be carried out twice without harm.
enum Repeatability: Hashable {
    /// The call only reads, or the server recognises it by its idempotency key.
    case safe
    case unsafe
}

extension RetryPolicy {
    /// Returns the delay before the next attempt; nil when the call is not retried.
    ///
    /// - Parameters:
    ///   - attempt: the number of attempts so far, 1 after the first.
    ///   - share: the position in the range of delays, 0 to 1; random, so that clients do not retry at the same time.
    func delay(
        afterAttempt attempt: Int,
        failure: ClientError,
        repeatability: Repeatability,
        share: Double
    ) -> Duration? {
        guard attempt < maximumAttempts, isWorthRepeating(failure, repeatability) else { return nil }
        let longest = min(initialDelay * (1 << min(attempt - 1, 20)), maximumDelay)
        let jittered = longest * (0.5 + share / 2)
        // The server's `retry_after` is a lower bound; one above the maximum delay ends the retries.
        guard let asked = failure.serverError?.retryAfter else { return jittered }
        return asked > maximumDelay ? nil : max(asked, jittered)
    }

    private func isWorthRepeating(_ failure: ClientError, _ repeatability: Repeatability) -> Bool {
        switch failure.code {
        case .refused:
            switch failure.serverCode {
            // The server did nothing.
            case .overloaded, .rateLimited: true
            // The call may have been carried out, or the next attempt may reach another server.
            case .outcomeUnknown, .responseTimeout, .unexpectedUnableToOpenDatabase: repeatability == .safe
            default: false
            }
        case .noResponse: repeatability == .safe
        default: false
        }
    }
}

extension SkyrowError {
    /// The shortest delay before the next attempt, when the service asks for one.
    var retryAfter: Duration? {
        guard case .integer(let seconds)? = info["retry_after"] else { return nil }
        return .seconds(max(seconds, 0))
    }
}
