/// The buckets of one limit by client, and by the sites of clients.
struct ClientBuckets: Sendable {
    private var clients = BucketTable<ClientKey>(capacity: RateLimiter.capacity)
    private var sites = BucketTable<ClientKey>(capacity: RateLimiter.capacity)

    /// Takes one call of a client and of its site; if one of them has none left, returns the time until the next.
    mutating func take(_ client: ClientKey, _ limit: RateLimit, at now: ContinuousClock.Instant) -> Duration? {
        if let wait = clients.take(client, limit, at: now) { return wait }
        return client.site.flatMap { sites.take($0, limit.ofSite, at: now) }
    }

    mutating func removeAll() {
        clients.removeAll()
        sites.removeAll()
    }
}
