package import SkyrowModel
import SkyrowProtocol
import SkyrowStore

extension ActionService {
    /// `auth:become`: returns the account of an access token, with that token; it opens no session.
    ///
    /// Throws `104 AccessTokenNotAccepted` for a token without a session, and `127 UserDisabled`.
    package func become(_ request: BecomeRequest) async throws(SkyrowError) -> AuthResult {
        try await observed(.authBecome) { () async throws(SkyrowError) in
            guard !request.token.isEmpty else { throw CredentialCheck.tokenNotAccepted }
            let caller = try await authenticate(Credentials(accessToken: request.token), for: .user)
            return try await account(of: caller.requiredUserID, with: request.token)
        }
    }

    /// `auth:rotate`: gives the session of the request another token; the former one is accepted for 30 more seconds.
    ///
    /// Throws `101 NotAuthenticated` without a session, and `104 AccessTokenNotAccepted` if the session has ended, or has got
    /// another token meanwhile.
    package func rotateToken(
        by caller: Caller,
        with credentials: Credentials
    ) async throws(SkyrowError) -> AuthResult {
        try await observed(.authRotate) { () async throws(SkyrowError) in
            let user = try caller.requiredUserID
            guard let token = credentials.ownToken(of: caller) else { throw CredentialCheck.userMissing }
            var result = try await account(of: user, with: token)
            guard let renewed = try await rotate(token, of: user) else { throw CredentialCheck.tokenNotAccepted }
            result.accessToken = renewed
            return result
        }
    }

    /// `session:list`: the sessions of the user, most recently used first.
    package func sessions(
        by caller: Caller,
        with credentials: Credentials
    ) async throws(SkyrowError) -> [AccountSession] {
        try await observed(.sessionList) { () async throws(SkyrowError) in
            let now = clock.now()
            return try await store.sessions.sessions(
                of: caller.requiredUserID,
                current: credentials.ownToken(of: caller).map { TokenHash(of: $0).bytes },
                unusedSince: configuration.sessionIdle.map { now.adding(.zero - $0) },
                at: now
            )
        }
    }

    /// `session:revoke`: ends sessions of the user, and returns how many.
    ///
    /// Throws `104 AccessTokenNotAccepted` if the session to keep has itself ended.
    package func revokeSessions(
        _ request: RevokeSessionsRequest,
        by caller: Caller,
        with credentials: Credentials,
        origin: RequestOrigin = RequestOrigin()
    ) async throws(SkyrowError) -> Int {
        try await observed(.sessionRevoke) { () async throws(SkyrowError) in
            let user = try caller.requiredUserID
            // Also when it is unknown whether the change was committed.
            defer { forget(.user(user)) }
            let event = AuditEvent(.session, by: AuditEvent.Actor(caller), from: origin)
            switch request {
            case .ids(let ids):
                return try await store.sessions.delete(ids, of: user, recording: event)
            case .all(let exceptCurrent):
                let kept = exceptCurrent ? credentials.ownToken(of: caller).map { TokenHash(of: $0).bytes } : nil
                if let count = try await store.sessions.revokeAll(of: user, keeping: kept, recording: event) {
                    return count
                }
                // The master key may act as a user without an account.
                guard kept != nil else { return 0 }
                throw CredentialCheck.tokenNotAccepted
            }
        }
    }

    /// Gives the session of a request another token after the time of `session-rotate`.
    ///
    /// Returns the new token; nil if the current one stays valid. A failure does not fail the request: a later one tries again.
    ///
    /// - Parameter action: an action that returns a token itself, or ends the session, needs no new token.
    package func renewToken(
        of credentials: Credentials,
        by caller: Caller,
        for action: ActionName
    ) async -> String? {
        guard let age = configuration.sessionRotation, let token = credentials.ownToken(of: caller),
            ActionCatalog[action].requirement.looksAtToken,
            ![.authRotate, .authPassword, .authLogOut].contains(action)
        else { return nil }
        guard let session = cachedSession(TokenHash(of: token)), session.token == .current,
            let givenAt = session.tokenGivenAt, givenAt.adding(age) <= clock.now()
        else { return nil }
        return (try? await rotate(token, of: session.userID)) ?? nil
    }

    /// Returns the new token; nil if the session has ended, or has got another one meanwhile.
    private func rotate(_ token: String, of user: UserID) async throws(SkyrowError) -> String? {
        let renewed = AccessToken()
        let hash = TokenHash(of: token).bytes
        defer { forget(.token(hash: hash)) }
        return try await store.sessions.rotate(hash, of: user, to: renewed.hash.bytes) ? renewed.text : nil
    }
}

extension AuditEvent.Actor {
    init(_ caller: Caller) {
        switch caller.kind {
        case .anonymous: self = .unknown
        case .user(let id): self = .user(id)
        case .master:
            if let key = caller.key { self = .key(key.id) } else { self = .master }
        }
    }
}

extension Credentials {
    /// Returns the access token if the caller is the user of its session: the master key may name another user.
    func ownToken(of caller: Caller) -> String? {
        guard let accessToken, !accessToken.isEmpty, !caller.isMaster || actingUserID == nil else { return nil }
        return accessToken
    }
}
