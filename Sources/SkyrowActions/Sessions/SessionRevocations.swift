import SkyrowModel
import SkyrowStore
import SkyrowSystem
import Synchronization

extension ActionService {
    /// Removes sessions and files from the caches when any process, or a user of psql, ends or changes them.
    func listenForRevocations() async {
        while !Task.isCancelled {
            do {
                for await notice in try await store.sessions.notices() { forget(notice) }
                return
            } catch {
                // Until then a cached session is used for a second at most.
                try? await ServiceTimer.sleep(for: .seconds(1))
            }
        }
    }

    /// Removes sessions and files from the caches, so that the database is queried again.
    func forget(_ notice: SessionNotice) {
        defer {
            if notice != .files, notice != .functions { live.rightsMayHaveChanged() }
            heldSessions.doubt(notice)
        }
        switch notice {
        case .listening(let again):
            // Earlier notifications were missed.
            forgetKeys()
            sessions.withLock { $0.removeAll() }
            files?.forget()
            functions.reload()
            observe(.listening(again: again))
        case .token(let hash):
            guard let token = TokenHash(bytes: hash) else { return }
            sessions.withLock { $0.remove(token) }
            observe(.sessionsForgotten(.token))
        case .user(let user):
            sessions.withLock { $0.removeSessions(of: [user]) }
            observe(.sessionsForgotten(.users(1)))
        case .keys:
            forgetKeys()
        case .files:
            guard let files else { return }
            files.forget()
            observe(.filesForgotten)
        case .functions:
            functions.reload()
        case .all:
            forgetKeys()
            sessions.withLock { $0.removeAll() }
            files?.forget()
            observe(.sessionsForgotten(.all))
        }
    }

    /// Removes expired data, at once and then every ten minutes.
    func purgePeriodically() async {
        while !Task.isCancelled {
            await purge()
            guard (try? await clock.sleep(.seconds(600))) != nil else { return }
        }
    }

    func purge() async {
        files?.forgetUnused(at: clock.instant())
        do throws(SkyrowError) {
            let idle = configuration.sessionIdle
            // A process that is briefly disconnected may hold uses that are not stored yet.
            let unusedSince = idle.map { clock.now().adding(.zero - $0 - .seconds(600)) }
            let sessions = try await store.sessions.purgeExpired(unusedSince: unusedSince)
            let keys = try await store.idempotency.purgeExpired()
            try await store.keys.purgeRevoked()
            try await purgeAudit()
            try await store.codes.purgeExpired()
            try await store.liveTickets.purgeExpired()
            try await store.identities.purgeUsedTokens()
            try await store.flows.purge()
            try await store.deletions.purge()
            try await store.merges.purge()
            try await expireAnonymousAccounts()
            try await store.factors.purgeExpired()
            let mails = try await store.mails.purge()
            if mails > 0 { observe(.mail(.dead, count: mails)) }
            observe(.purged(sessions: sessions, idempotencyKeys: keys))
        } catch {
            observe(.purgeFailed(error.description))
        }
    }
}
