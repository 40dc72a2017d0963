/// So many calls in so long a time: as many at once, and then as evenly as they come back.
///
/// ```swift
/// RateLimit(600, per: .seconds(60))  // 600 at once, then 10 a second
/// ```
package struct RateLimit: Hashable, Sendable {
    package let count: Int
    package let period: Duration
    /// How long one call takes to come back.
    let interval: Duration

    /// - Parameter count: more than none.
    package init(_ count: Int, per period: Duration) {
        self.count = count
        self.period = period
        interval = period / count
    }

    /// What a site may do whose clients may do this: one customer may own 256 clients (``ClientKey/site``).
    var ofSite: RateLimit { RateLimit(4 * count, per: period) }
}

/// What a service lets its callers do, nil where there is no limit.
package struct RateLimits: Hashable, Sendable {
    /// Calls of one client; of a site, four times as many.
    package var client: RateLimit?
    /// Calls of one user, from wherever.
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

/// What one client or user has left of a limit.
///
/// A bucket of `count` calls that fills evenly is known by a single moment, that at which it is full again: each call
/// moves it one interval into the future, and it may never be further away than a whole period. (This is the generic
/// cell rate algorithm of ITU-T I.371.)
struct TokenBucket: Hashable, Sendable {
    private(set) var fullAt: ContinuousClock.Instant

    /// A full one.
    init(at now: ContinuousClock.Instant) {
        fullAt = now
    }

    /// Takes one call out; when there is none left, returns how long until there is one, and takes nothing.
    mutating func take(_ limit: RateLimit, at now: ContinuousClock.Instant) -> Duration? {
        let next = max(fullAt, now) + limit.interval
        let excess = (next - now) - limit.period
        if excess > .zero { return excess }
        fullAt = next
        return nil
    }
}
