/// The buckets of all clients or users, in bounded memory.
///
/// Two generations approximate the order of use, as in ``FreshCache``: a used bucket moves to the young one; when that is full
/// it becomes the old one, and the previous old one is dropped. A dropped bucket counts as full again; to exploit that, an
/// attacker needs as many other addresses as a generation holds.
struct BucketTable<Key: Hashable & Sendable>: Sendable {
    private var young: [Key: TokenBucket] = [:]
    private var old: [Key: TokenBucket] = [:]
    private let generationSize: Int

    /// - Parameter capacity: upper bound on the buckets.
    init(capacity: Int) {
        generationSize = max(1, capacity / 2)
    }

    var count: Int { young.count + old.count }

    /// Takes one call of a client or user; without one left, returns the time until the next.
    mutating func take(_ key: Key, _ limit: RateLimit, at now: ContinuousClock.Instant) -> Duration? {
        if let place = young.index(forKey: key) { return young.values[place].take(limit, at: now) }
        var bucket = old.removeValue(forKey: key) ?? TokenBucket(at: now)
        let wait = bucket.take(limit, at: now)
        if young.count >= generationSize {
            old = young
            young = [:]
        }
        young[key] = bucket
        return wait
    }

    mutating func removeAll() {
        young = [:]
        old = [:]
    }
}
