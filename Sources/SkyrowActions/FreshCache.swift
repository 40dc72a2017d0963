/// Values of the database that are cached between requests: bounded, and each for a short time only.
///
/// Two generations approximate the order of use: a value that is looked up moves to the young one; when that is full, it
/// becomes the old one, and the previous old one is dropped. The time is passed in; the owner provides the lock.
struct FreshCache<Key: Hashable, Value> {
    private struct Entry {
        let value: Value
        let loadedAt: ContinuousClock.Instant
    }

    private var young: [Key: Entry] = [:]
    private var old: [Key: Entry] = [:]
    private let generationSize: Int
    private let freshness: Duration

    /// Grows with every invalidation, so that a value loaded before one is not cached after it.
    private(set) var epoch = 0

    /// - Parameter freshness: how long a value is fresh after it was loaded.
    init(capacity: Int, freshness: Duration) {
        generationSize = max(1, capacity / 2)
        self.freshness = freshness
    }

    var count: Int { young.count + old.count }

    /// Returns a value, and whether it is fresh.
    mutating func value(for key: Key, at now: ContinuousClock.Instant) -> (value: Value, isFresh: Bool)? {
        guard let entry = young[key] ?? used(key) else { return nil }
        return (entry.value, now - entry.loadedAt < freshness)
    }

    /// Caches a value.
    ///
    /// - Parameters:
    ///   - loadedAt: the time before the statement that loaded it was sent.
    ///   - epoch: the epoch at that time; after an invalidation since then the value is not cached.
    mutating func insert(_ value: Value, for key: Key, loadedAt: ContinuousClock.Instant, epoch: Int) {
        guard epoch == self.epoch else { return }
        old[key] = nil
        keep(Entry(value: value, loadedAt: loadedAt), for: key)
    }

    mutating func remove(_ key: Key) {
        epoch += 1
        young[key] = nil
        old[key] = nil
    }

    mutating func removeAll(where isRemoved: (Key, Value) -> Bool) {
        epoch += 1
        young = young.filter { !isRemoved($0.key, $0.value.value) }
        old = old.filter { !isRemoved($0.key, $0.value.value) }
    }

    mutating func removeAll() {
        epoch += 1
        young = [:]
        old = [:]
    }

    /// Removes what was loaded before a time, which invalidates nothing.
    mutating func removeAll(loadedBefore time: ContinuousClock.Instant) {
        young = young.filter { $0.value.loadedAt >= time }
        old = old.filter { $0.value.loadedAt >= time }
    }

    /// Moves an entry of the old generation to the young one.
    private mutating func used(_ key: Key) -> Entry? {
        guard let entry = old.removeValue(forKey: key) else { return nil }
        keep(entry, for: key)
        return entry
    }

    private mutating func keep(_ entry: Entry, for key: Key) {
        if young.count >= generationSize, young[key] == nil {
            old = young
            young = [:]
        }
        young[key] = entry
    }
}
