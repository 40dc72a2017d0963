import SkyrowModel
import SkyrowStore
import Synchronization

/// Refusals queued for storage in batches; those above the capacity are only counted.
///
/// A value without a clock: its owner takes the queued events once a second.
struct AuditLog {
    static let capacity = 10_000
    /// How many are stored in one statement.
    static let batch = 1000

    private var waiting: [AuditEvent] = []
    /// How many were dropped since the process started.
    private(set) var dropped = 0

    mutating func note(_ event: AuditEvent) {
        guard waiting.count < Self.capacity else {
            dropped += 1
            return
        }
        waiting.append(event)
    }

    /// Removes and returns the queued events, oldest first.
    mutating func take() -> [AuditEvent] {
        defer { waiting = [] }
        return waiting
    }

    /// Counts events that were taken and could not be stored.
    mutating func lose(_ count: Int) {
        dropped += count
    }
}

extension ActionService {
    /// Queues a refusal, or an event that no statement stores; it is stored within a second.
    func audit(_ event: AuditEvent) {
        var event = event
        event.time = clock.now()
        auditLog.withLock { $0.note(event) }
    }

    /// Stores queued refusals once a second, and the remaining ones at the end.
    func storeAuditPeriodically() async {
        while (try? await clock.sleep(.seconds(1))) != nil { await storeAudit() }
        // Not in this task, which is cancelled and so cannot use the database; not for long, since the service is ending.
        let storing = Task { await storeAudit() }
        let limit = Task {
            try await clock.sleep(.seconds(2))
            storing.cancel()
        }
        await storing.value
        limit.cancel()
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

    /// Removes events older than `audit-retention`, in batches.
    func purgeAudit() async throws(SkyrowError) {
        guard let retention = configuration.auditRetention else { return }
        let end = clock.now().adding(.zero - retention)
        for _ in 0..<20 {
            guard try await store.audit.removeBefore(end) else { return }
        }
    }

    /// Queues the refusal of a login, a change of the password or the use of a code.
    ///
    /// - Parameter user: the account's user, if there is one; otherwise a code of `accounts` is stored.
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

    /// Runs `body`, and queues its refusal.
    func auditing<Success>(
        _ kind: AuditEvent.Kind,
        of user: UserID? = nil,
        by actor: AuditEvent.Actor = .unknown,
        from origin: RequestOrigin,
        _ body: () async throws(SkyrowError) -> Success
    ) async throws(SkyrowError) -> Success {
        do throws(SkyrowError) {
            return try await body()
        } catch {
            await audit(kind, refusedWith: error, of: user, by: actor, from: origin)
            throw error
        }
    }
}
