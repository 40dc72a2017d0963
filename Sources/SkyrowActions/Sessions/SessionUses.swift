import SkyrowModel
import SkyrowStore
import Synchronization

/// The sessions that were used since this was last written down, so that those unused for long can end.
///
/// A session is noted when it is read from the database, which every session in use is once a second, and written down
/// with all others once a minute. Bounded: a session for which there is no place is noted at a later reading.
struct SessionUses {
    /// One write a minute keeps an idle limit of hours exact enough.
    static let granularity = Duration.seconds(60)

    private let capacity: Int
    private var used: Set<TokenHash> = []

    init(capacity: Int) {
        self.capacity = capacity
    }

    /// Notes a use, unless one within the last minute is written down already.
    mutating func note(_ token: TokenHash, lastUsedAt: Timestamp?, at now: Timestamp) {
        guard let lastUsedAt, lastUsedAt.adding(Self.granularity) <= now, used.count < capacity else { return }
        used.insert(token)
    }

    /// The sessions to write down; from now on none is noted.
    mutating func take() -> [TokenHash] {
        defer { used = [] }
        return Array(used)
    }
}

extension StoredSession {
    /// The session with the end that its last use sets, when that is earlier than its own.
    func ending(unusedFor idle: Duration?) -> StoredSession {
        guard let idle, let lastUsedAt else { return self }
        var session = self
        let end = lastUsedAt.adding(idle)
        session.expiresAt = expiresAt.map { min($0, end) } ?? end
        return session
    }
}

extension ActionService {
    /// So many sessions are written down in one statement.
    private static let usesInOneStatement = 1000

    /// Writes down which sessions and keys were used, once a minute.
    func recordUsesPeriodically() async {
        while !Task.isCancelled {
            do {
                try await clock.sleep(SessionUses.granularity)
            } catch {
                return
            }
            await recordUses()
        }
    }

    /// Writes down which sessions and keys were used; those of a statement that fails are noted again at their next use.
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
