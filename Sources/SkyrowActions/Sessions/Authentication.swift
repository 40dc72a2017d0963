package import SkyrowModel
package import SkyrowProtocol
import SkyrowStore
import Synchronization

extension ActionService {
    /// Authenticates the caller, and checks that the caller satisfies `requirement`.
    ///
    /// Throws `101 NotAuthenticated`, `103 AccessKeyNotAccepted`, `104 AccessTokenNotAccepted`, `102 PermissionDenied` or `127
    /// UserDisabled`, and errors of the database.
    ///
    package func authenticate(
        _ credentials: Credentials,
        for requirement: ActionRequirement
    ) async throws(SkyrowError) -> Caller {
        try await authenticate(credentials, CredentialCheck(requirement: requirement, isDevelopment: isDevelopment))
    }

    /// Does the same for an action, which the scopes of a key must permit.
    package func authenticate(
        _ credentials: Credentials,
        for action: ActionDescription
    ) async throws(SkyrowError) -> Caller {
        try await authenticate(credentials, CredentialCheck(of: action, isDevelopment: isDevelopment))
    }

    private func authenticate(
        _ credentials: Credentials,
        _ check: CredentialCheck
    ) async throws(SkyrowError) -> Caller {
        try await refusing { () async throws(SkyrowError) in
            if needsKeys(for: credentials) {
                try await refreshKeys()
            } else if let caller = try cachedCaller(credentials, check) {
                return caller
            }
            // The cache has no fresh session, so the token is looked up.
            switch try check.start(credentials, keys: keys, at: clock.now()) {
            case .settled(let caller):
                return caller
            case .session(let hash, let key):
                if let token = callToken(of: credentials) {
                    guard let session = try await session(for: token) else { throw CredentialCheck.tokenNotAccepted }
                    return try check.judge(session, key: key, at: clock.now())
                }
                if let session = cachedSession(hash) { return try check.judge(session, key: key, at: clock.now()) }
                guard let session = try await loadSession(hash, isHeld: credentials.isHeld) else {
                    throw CredentialCheck.tokenNotAccepted
                }
                return try check.judge(session, key: key, at: clock.now())
            }
        }
    }

    /// Does the same without waiting; returns nil when `authenticate` must query the database.
    ///
    /// A refusal is not observed, since the request may not be the current one yet; `noteRefusal` does that.
    package func cachedCaller(
        _ credentials: Credentials,
        for action: ActionDescription
    ) throws(SkyrowError) -> Caller? {
        try cachedCaller(credentials, CredentialCheck(of: action, isDevelopment: isDevelopment))
    }

    private func cachedCaller(_ credentials: Credentials, _ check: CredentialCheck) throws(SkyrowError) -> Caller? {
        if needsKeys(for: credentials) { return nil }
        switch try check.start(credentials, keys: keys, at: clock.now()) {
        case .settled(let caller):
            return caller
        case .session(let token, let key):
            let call = callToken(of: credentials)
            guard let session = call.map({ cachedSession(for: $0) }) ?? cachedSession(token) else { return nil }
            return try check.judge(session, key: key, at: clock.now())
        }
    }

    /// Returns whether the text is the master key, which passes every rule.
    package func isMasterKey(_ text: String) -> Bool {
        kind(of: text) == .master
    }

    /// Emits that credentials were not sufficient.
    package func noteRefusal(_ error: SkyrowError) {
        observe(.refused(error.code))
    }

    private var isDevelopment: Bool {
        switch store.mode {
        case .development: true
        case .production: false
        }
    }

    private func refusing(_ body: () async throws(SkyrowError) -> Caller) async throws(SkyrowError) -> Caller {
        do {
            return try await body()
        } catch {
            noteRefusal(error)
            throw error
        }
    }

    func cachedSession(_ token: TokenHash) -> StoredSession? {
        let now = clock.instant()
        return sessions.withLock { $0.session(token, at: now) }
    }

    /// Reads a session from the database and caches it.
    ///
    /// - Parameter isHeld: whether a connection has kept the token since before it was replaced.
    private func loadSession(_ token: TokenHash, isHeld: Bool) async throws(SkyrowError) -> StoredSession? {
        // Taken before the statement is sent, so that its result is at least as new.
        let moment = momentOfLoading
        let stored = try await store.sessions.session(tokenHash: token.bytes)
        observe(.sessionLoaded(found: stored != nil))
        guard let session = stored?.ending(unusedFor: configuration.sessionIdle) else { return nil }
        guard session.token != .reused || !isHeld else { return nil }
        guard session.token != .reused else {
            // A thief uses it, or a client that lost a response; the two cannot be distinguished.
            try await store.sessions.delete(tokenHash: token.bytes, recording: AuditEvent(.reuse, by: .unknown))
            forget(.user(session.userID))
            observe(.tokenReused)
            return nil
        }
        observe(.audienceLoaded(roles: session.roles.count))
        remember(session, for: token, loadedAt: moment)
        let now = clock.now()
        if configuration.sessionIdle != nil, !session.isExpired(at: now) {
            sessionUses.withLock { $0.note(token, lastUsedAt: session.lastUsedAt, at: now) }
        }
        return session
    }

    var momentOfLoading: MomentOfLoading {
        MomentOfLoading(instant: clock.instant(), epoch: sessions.withLock { $0.epoch })
    }

    func remember(_ session: StoredSession, for token: TokenHash, loadedAt moment: MomentOfLoading) {
        sessions.withLock { $0.insert(session, for: token, loadedAt: moment.instant, epoch: moment.epoch) }
    }
}

/// When the query for a session began, by the clock and by the count of revocations.
struct MomentOfLoading {
    let instant: ContinuousClock.Instant
    let epoch: Int
}
