package import SkyrowStore
import Synchronization

/// The in-memory state of a service, for metrics.
package struct ActionStatistics: Sendable {
    /// The number of cached sessions.
    package let rememberedSessions: Int
    /// The number of cache hits.
    package let sessionHits: Int
    /// The number of valid sessions, as of the last minute.
    package let liveSessions: Int
    /// The time since the cached rules of types were compared with the tables; nil while that is not monitored.
    package let rulesAge: Duration?
    /// The time since the keys of providers were fetched, for providers with keys.
    package let providerKeyAges: [(provider: String, age: Duration)]
    /// The number of rows with counted guesses, as of the last minute.
    package let throttleRows: Int
    /// The number of queued mails, as of the last minute.
    package let waitingMails: Int
    /// The number of unfinished account deletions, as of the last minute.
    package let waitingDeletions: Int
    /// The number of files, as of the last hour; nil without a storage for files.
    package let files: AssetTotals?
    /// The number of refusals that the audit log has lost since the process started.
    package let auditDropped: Int
    /// The number of passwords being hashed or waiting.
    package let waitingPasswords: Int
    /// The numbers of running and waiting reads, by queue.
    package let reads: [(queue: String, ReadCounts)]
}

extension ActionService {
    package var statistics: ActionStatistics {
        let (count, hits) = sessions.withLock { ($0.count, $0.hits) }
        return ActionStatistics(
            rememberedSessions: count,
            sessionHits: hits,
            liveSessions: liveSessions.load(ordering: .relaxed),
            rulesAge: store.rulesAge,
            providerKeyAges: providers.compactMap { provider in
                provider.keyAge(at: clock.instant()).map { (provider.configuration.name, $0) }
            },
            throttleRows: throttleRows.load(ordering: .relaxed),
            waitingMails: waitingMails.load(ordering: .relaxed),
            waitingDeletions: waitingDeletions.load(ordering: .relaxed),
            files: files.map { $0.totals.withLock { $0 } },
            auditDropped: auditLog.withLock { $0.dropped },
            waitingPasswords: passwords.waiting,
            reads: [("indexed", reads.all.counts), ("join", reads.joins.counts), ("scan", reads.scans.counts)]
        )
    }
}
