import SkyrowModel
import SkyrowStore

/// Sessions cached between requests: bounded, and each for a short time only (``FreshCache``).
struct SessionCache {
    private var sessions: FreshCache<TokenHash, StoredSession>

    private(set) var hits = 0

    /// - Parameter freshness: how long an entry is used after it was loaded.
    init(capacity: Int, freshness: Duration) {
        sessions = FreshCache(capacity: capacity, freshness: freshness)
    }

    var count: Int { sessions.count }
    var epoch: Int { sessions.epoch }

    /// Returns the session, while its entry is fresh.
    mutating func session(_ token: TokenHash, at now: ContinuousClock.Instant) -> StoredSession? {
        guard let entry = sessions.value(for: token, at: now), entry.isFresh else { return nil }
        hits += 1
        return entry.value
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
        var session = session
        if let known = sessions.value(for: token, at: loadedAt)?.value {
            // Shared arrays compare as equal without comparing their elements.
            if known.roles == session.roles { session.roles = known.roles }
            if known.groups == session.groups { session.groups = known.groups }
        }
        sessions.insert(session, for: token, loadedAt: loadedAt, epoch: epoch)
    }

    mutating func remove(_ token: TokenHash) {
        sessions.remove(token)
    }

    mutating func removeSessions(of users: [UserID]) {
        let users = Set(users)
        sessions.removeAll { users.contains($1.userID) }
    }

    mutating func removeAll() {
        sessions.removeAll()
    }
}
