import SkyrowStore
import Synchronization

/// What a service has in memory, for metrics.
package struct ActionStatistics: Sendable {
    /// The sessions that are remembered.
    package let rememberedSessions: Int
    /// How often a remembered one was used.
    package let sessionHits: Int
    /// The sessions that hold, as of the last minute.
    package let liveSessions: Int
    /// How long ago it was found that the rules of types are those of the tables; nil while that is not watched.
    package let rulesAge: Duration?
    /// How long ago the keys of providers were fetched, of those of which they were.
    package let providerKeyAges: [(provider: String, age: Duration)]
    /// The rows in which guesses of passwords are counted, as of the last minute.
    package let throttleRows: Int
    /// The mails that wait to be sent, as of the last minute.
    package let waitingMails: Int
    /// The deletions of accounts that are not finished, as of the last minute.
    package let waitingDeletions: Int
    /// Refusals that the audit log has not got, since the process began.
    package let auditDropped: Int
    /// The passwords that are being hashed or wait for it.
    package let waitingPasswords: Int
    /// The reads that are performed, and those that wait for their client's turn, by the queue that they are in.
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
            auditDropped: auditLog.withLock { $0.dropped },
            waitingPasswords: passwords.waiting,
            reads: [("indexed", reads.all.counts), ("join", reads.joins.counts), ("scan", reads.scans.counts)]
        )
    }
}
