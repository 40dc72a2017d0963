import SkyrowModel
import SkyrowStore

/// Sessions cached between requests: bounded, and each for a short time only.
///
/// Two generations approximate the order of use: a session that is looked up moves to the young one; when that is full, it
/// becomes the old one, and the previous old one is dropped. The time is passed in; the owner provides the lock.
struct SessionCache {
    private struct Entry {
        let session: StoredSession
        let loadedAt: ContinuousClock.Instant
    }

    private var young: [TokenHash: Entry] = [:]
    private var old: [TokenHash: Entry] = [:]
    private let generationSize: Int
    private let freshness: Duration

    /// Grows with every invalidation, so that a session loaded before one is not cached after it.
    private(set) var epoch = 0

    private(set) var hits = 0

    /// - Parameter freshness: how long an entry is used after it was loaded.
    init(capacity: Int, freshness: Duration) {
        generationSize = max(1, capacity / 2)
        self.freshness = freshness
    }

    var count: Int { young.count + old.count }

    /// Returns the session, while its entry is fresh.
    mutating func session(_ token: TokenHash, at now: ContinuousClock.Instant) -> StoredSession? {
        if let entry = young[token] { return fresh(entry, at: now) }
        guard let entry = old.removeValue(forKey: token), let session = fresh(entry, at: now) else { return nil }
        keep(entry, for: token)
        return session
    }

    /// Caches a session.
    ///
    /// - Parameters:
    ///   - loadedAt: the time before the statement that loaded it was sent.
    ///   - epoch: the epoch at that time; after an invalidation since then the session is not cached.
    mutating func insert(
        _ session: StoredSession,
        for token: TokenHash,
        loadedAt: ContinuousClock.Instant,
        epoch: Int
    ) {
        guard epoch == self.epoch else { return }
        var session = session
        if let known = (young[token] ?? old[token])?.session {
            // Shared arrays compare as equal without comparing their elements.
            if known.roles == session.roles { session.roles = known.roles }
            if known.groups == session.groups { session.groups = known.groups }
        }
        old[token] = nil
        keep(Entry(session: session, loadedAt: loadedAt), for: token)
    }

    mutating func remove(_ token: TokenHash) {
        epoch += 1
        young[token] = nil
        old[token] = nil
    }

    mutating func removeSessions(of users: [UserID]) {
        epoch += 1
        let users = Set(users)
        young = young.filter { !users.contains($0.value.session.userID) }
        old = old.filter { !users.contains($0.value.session.userID) }
    }

    mutating func removeAll() {
        epoch += 1
        young = [:]
        old = [:]
    }

    private mutating func fresh(_ entry: Entry, at now: ContinuousClock.Instant) -> StoredSession? {
        guard now - entry.loadedAt < freshness else { return nil }
        hits += 1
        return entry.session
    }

    private mutating func keep(_ entry: Entry, for token: TokenHash) {
        if young.count >= generationSize, young[token] == nil {
            old = young
            young = [:]
        }
        young[token] = entry
    }
}
