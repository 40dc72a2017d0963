/// A number of calls in a period: that many at once, then refilled evenly.
///
/// ```swift
/// RateLimit(600, per: .seconds(60))  // 600 at once, then 10 a second
/// ```
package struct RateLimit: Hashable, Sendable {
    package let count: Int
    package let period: Duration
    /// The time in which one call is refilled.
    let interval: Duration

    /// - Parameter count: at least one.
    package init(_ count: Int, per period: Duration) {
        self.count = count
        self.period = period
        interval = period / count
    }

    /// The limit of a site whose clients have this limit: one customer may own 256 clients (``ClientKey/site``).
    var ofSite: RateLimit { RateLimit(4 * count, per: period) }
}

/// The rate limits of a service; nil means no limit.
package struct RateLimits: Hashable, Sendable {
    /// Calls of one client; of a site, four times as many.
    package var client: RateLimit?
    /// Calls of one user, from any address.
    package var user: RateLimit?
    /// Calls that hash a password, of one client; of a site, four times as many.
    package var login: RateLimit?

    package init(client: RateLimit? = nil, user: RateLimit? = nil, login: RateLimit? = nil) {
        self.client = client
        self.user = user
        self.login = login
    }

    package static let none = RateLimits()

    var isOff: Bool { client == nil && user == nil && login == nil }
}

/// The remaining calls of one client or user.
///
/// A bucket of `count` calls that refills evenly is described by the time at which it is full again: each call moves it one
/// interval into the future, and it may be at most a whole period away. (This is the generic cell rate algorithm of ITU-T I.371.)
struct TokenBucket: Hashable, Sendable {
    private(set) var fullAt: ContinuousClock.Instant

    /// A full bucket.
    init(at now: ContinuousClock.Instant) {
        fullAt = now
    }

    /// Takes one call; without one left, returns the time until the next, and takes nothing.
    mutating func take(_ limit: RateLimit, at now: ContinuousClock.Instant) -> Duration? {
        let next = max(fullAt, now) + limit.interval
        let excess = (next - now) - limit.period
        if excess > .zero { return excess }
        fullAt = next
        return nil
    }
}
