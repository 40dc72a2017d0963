package import SkyrowModel
import SkyrowStore
import Synchronization

extension ActionService {
    /// Finds out who calls and whether that satisfies `need`.
    ///
    /// Throws `101 NotAuthenticated`, `103 AccessKeyNotAccepted`, `104 AccessTokenNotAccepted`, `102 PermissionDenied` or
    /// `127 UserDisabled`.
    package func authenticate(_ credentials: Credentials, for need: ActionNeed) async throws(SkyrowError) -> Caller {
        if let caller = try cachedCaller(credentials, for: need) { return caller }
        // The cache had no fresh session, so there is a token to look up.
        return try await refusing { () async throws(SkyrowError) in
            let check = CredentialCheck(need: need, isDevelopment: isDevelopment)
            switch try start(check, credentials) {
            case .settled(let caller):
                return caller
            case .session(let token, let key):
                guard let session = try await loadSession(TokenHash(of: token)) else {
                    throw CredentialCheck.tokenNotAccepted
                }
                return try check.judge(session, key: key, at: clock.now())
            }
        }
    }

    /// The same without waiting: nil when the database must be asked, which `authenticate` does.
    package func cachedCaller(_ credentials: Credentials, for need: ActionNeed) throws(SkyrowError) -> Caller? {
        do {
            let check = CredentialCheck(need: need, isDevelopment: isDevelopment)
            switch try start(check, credentials) {
            case .settled(let caller):
                return caller
            case .session(let token, let key):
                guard let session = cachedSession(TokenHash(of: token)) else { return nil }
                return try check.judge(session, key: key, at: clock.now())
            }
        } catch {
            observe(.refused(error.code))
            throw error
        }
    }

    private func start(_ check: CredentialCheck, _ credentials: Credentials) throws(SkyrowError) -> CredentialCheck.Step {
        try check.start(
            credentials,
            isAPIKey: { configuration.apiKey.matches($0) },
            isMasterKey: { configuration.masterKey.matches($0) }
        )
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
            observe(.refused(error.code))
            throw error
        }
    }

    private func cachedSession(_ token: TokenHash) -> Session? {
        let now = clock.instant()
        return sessions.withLock { $0.session(token, at: now) }
    }

    /// Reads a session from the database and remembers it.
    private func loadSession(_ token: TokenHash) async throws(SkyrowError) -> Session? {
        // Both are taken before the statement is sent: what it sees is at least as new.
        let loadedAt = clock.instant()
        let epoch = sessions.withLock { $0.epoch }
        let session = try await storedSession(token)
        observe(.sessionLoaded(found: session != nil))
        if let session {
            sessions.withLock { $0.insert(session, for: token, loadedAt: loadedAt, epoch: epoch) }
        }
        return session
    }

    private func storedSession(_ token: TokenHash) async throws(SkyrowError) -> Session? {
        nil
    }
}
