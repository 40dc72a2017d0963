import SkyrowModel
import SkyrowStore
import Synchronization

/// Refusals that wait to be stored with others; those beyond the bound are counted alone.
///
/// A value without a clock: who holds it takes what waits once a second.
struct AuditLog {
    static let capacity = 10_000
    /// How many are stored in one statement.
    static let batch = 1000

    private var waiting: [AuditEvent] = []
    /// How many found no place, since the process began.
    private(set) var dropped = 0

    mutating func note(_ event: AuditEvent) {
        guard waiting.count < Self.capacity else {
            dropped += 1
            return
        }
        waiting.append(event)
    }

    /// What waits, the oldest first; from now on nothing does.
    mutating func take() -> [AuditEvent] {
        defer { waiting = [] }
        return waiting
    }

    /// What was taken and could not be stored.
    mutating func lose(_ count: Int) {
        dropped += count
    }
}

extension ActionService {
    /// Notes a refusal, which is stored within a second.
    func audit(_ event: AuditEvent) {
        var event = event
        event.time = clock.now()
        auditLog.withLock { $0.note(event) }
    }

    /// Stores what was refused, once a second, and at the end what is left.
    func storeAuditPeriodically() async {
        while !Task.isCancelled {
            do {
                try await clock.sleep(.seconds(1))
            } catch {
                break
            }
            await storeAudit()
        }
    }

    func storeAudit() async {
        let events = auditLog.withLock { $0.take() }
        for start in stride(from: 0, to: events.count, by: AuditLog.batch) {
            let part = Array(events[start..<min(start + AuditLog.batch, events.count)])
            do throws(SkyrowError) {
                try await store.audit.record(part)
            } catch {
                auditLog.withLock { $0.lose(part.count) }
                observe(.auditLost(part.count, error.description))
            }
        }
    }

    /// Removes what is older than `audit-retention`, in parts.
    func purgeAudit() async throws(SkyrowError) {
        guard let retention = configuration.auditRetention else { return }
        let end = clock.now().adding(.zero - retention)
        for _ in 0..<20 {
            guard try await store.audit.removeBefore(end) else { return }
        }
    }

    /// Reports a login, a change of the password or the use of a code that was refused.
    ///
    /// - Parameter user: whose account it is, if there is one; else `accounts` are stored as a code.
    func audit(
        _ kind: AuditEvent.Kind,
        refusedWith error: SkyrowError,
        of user: UserID?,
        accounts: [GuessSource.Account] = [],
        by actor: AuditEvent.Actor = .unknown,
        from origin: RequestOrigin
    ) async {
        let refusals: [ErrorCode] = [
            .invalidCredentials, .invalidToken, .userDisabled, .verificationRequired, .rateLimited,
            .passwordPolicyViolated,
            .secondFactorRequired,
        ]
        guard refusals.contains(error.code) else { return }
        var code: String?
        if user == nil, !accounts.isEmpty { code = try? await store.audit.code(of: accounts) }
        audit(
            AuditEvent(
                error.code == .rateLimited ? .lockout : kind,
                refusal: error.code,
                of: user,
                by: actor,
                from: origin,
                accountCode: code
            )
        )
    }
}
