import SkyrowModel
import SkyrowStore
import Synchronization

/// The sessions used since uses were last stored, so that sessions unused for long can end.
///
/// A use is noted when a session is read from the database, which happens once a second for every session in use; the noted uses
/// are stored once a minute. Bounded: a session above the capacity is noted at a later read.
struct SessionUses {
    /// One write a minute is precise enough for an idle limit of hours.
    static let granularity = Duration.seconds(60)

    private let capacity: Int
    private var used: Set<TokenHash> = []

    init(capacity: Int) {
        self.capacity = capacity
    }

    /// Notes a use, unless one within the last minute is stored already.
    mutating func note(_ token: TokenHash, lastUsedAt: Timestamp?, at now: Timestamp) {
        guard let lastUsedAt, lastUsedAt.adding(Self.granularity) <= now, used.count < capacity else { return }
        used.insert(token)
    }

    /// Removes and returns the noted sessions.
    mutating func take() -> [TokenHash] {
        defer { used = [] }
        return Array(used)
    }
}

extension StoredSession {
    /// Returns the session with the end that its last use implies, if that is earlier than its own.
    func ending(unusedFor idle: Duration?) -> StoredSession {
        guard let idle, let lastUsedAt else { return self }
        var session = self
        let end = lastUsedAt.adding(idle)
        session.expiresAt = expiresAt.map { min($0, end) } ?? end
        return session
    }
}

extension ActionService {
    private static let usesInOneStatement = 1000

    /// Stores which sessions and keys were used, once a minute.
    func recordUsesPeriodically() async {
        while (try? await clock.sleep(SessionUses.granularity)) != nil { await recordUses() }
    }

    /// Stores which sessions and keys were used; those of a failed statement are noted again at their next use.
    func recordUses() async {
        let used = sessionUses.withLock { $0.take() }
        let now = clock.now()
        for start in stride(from: 0, to: used.count, by: Self.usesInOneStatement) {
            let part = used[start..<min(start + Self.usesInOneStatement, used.count)]
            do throws(SkyrowError) {
                try await store.sessions.noteUse(of: part.map(\.bytes), at: now)
            } catch {
                observe(.usesLost(error.description))
            }
        }
        let keys = self.keys.held.takeUses()
        guard !keys.isEmpty else { return }
        do throws(SkyrowError) {
            try await store.keys.noteUse(of: keys, at: now)
        } catch {
            observe(.usesLost(error.description))
        }
    }
}
