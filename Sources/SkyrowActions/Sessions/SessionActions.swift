package import SkyrowModel
package import SkyrowProtocol
import SkyrowStore

extension ActionTable {
    static let sessions: [any AnyEntry] = [
        Entry(Actions.me, ActionService.me),
        Entry(Actions.authLogOut, ActionService.logOut),
        Entry(Actions.authBecome, ActionService.become),
        Entry(Actions.authRotate, ActionService.rotateToken),
        Entry(Actions.authStepUp, ActionService.stepUp),
        Entry(Actions.sessionList, ActionService.sessions(_:_:)),
        Entry(Actions.sessionRevoke, ActionService.revokeSessions),
        Entry(Actions.liveTicket, ActionService.liveTicket),
        Entry(Actions.connectionAuthenticate, ActionService.authenticateConnection),
    ]
}

extension ActionService {
    /// It creates no token, so none outlives the session that it was requested with. For the master key and a user id it opens
    /// a session.
    ///
    /// Throws `104 AccessTokenNotAccepted` when the session has ended meanwhile.
    fileprivate func me(_: Void, _ call: Call) async throws(SkyrowError) -> AuthResult {
        let user = try call.caller.requiredUserID
        if let token = call.credentials.ownToken(of: call.caller) { return try await account(of: user, with: token) }
        let opening = Opening(.master, origin: call.origin)
        return try await openSession(for: user, opening) { session throws(SkyrowError) in
            guard let account = try await store.users.open(user, session: session) else {
                throw SkyrowError.userNotFound
            }
            return account
        }
    }

    /// Ends the session of the access token, if there is one.
    fileprivate func logOut(_: Void, _ call: Call) async throws(SkyrowError) {
        guard let token = call.credentials.accessToken, !token.isEmpty else { return }
        let hash = TokenHash(of: token).bytes
        let event = AuditEvent(.logOut, by: .itself, from: call.origin)
        try await store.sessions.delete(tokenHash: hash, recording: event)
        forget(.token(hash: hash))
        await runHooks(afterLogOutOf: call.caller.userID, for: hookCaller(of: call))
    }

    /// Throws `104 AccessTokenNotAccepted` for a token without a session, and `127 UserDisabled`.
    fileprivate func become(_ token: String, _: Call) async throws(SkyrowError) -> AuthResult {
        guard !token.isEmpty else { throw CredentialCheck.tokenNotAccepted }
        let caller = try await authenticate(Credentials(accessToken: token), for: .user)
        return try await account(of: caller.requiredUserID, with: token)
    }

    /// Throws `101 NotAuthenticated` without a session, and `104 AccessTokenNotAccepted` if the session has ended, or has got
    /// another token meanwhile.
    fileprivate func rotateToken(_: Void, _ call: Call) async throws(SkyrowError) -> AuthResult {
        let user = try call.caller.requiredUserID
        guard let token = call.credentials.ownToken(of: call.caller) else { throw CredentialCheck.userMissing }
        var result = try await account(of: user, with: token)
        guard let renewed = try await rotate(token, of: user) else { throw CredentialCheck.tokenNotAccepted }
        result.accessToken = renewed
        return result
    }

    fileprivate func sessions(_: Void, _ call: Call) async throws(SkyrowError) -> [AccountSession] {
        let now = clock.now()
        return try await store.sessions.sessions(
            of: call.caller.requiredUserID,
            current: call.sessionHash,
            unusedSince: configuration.sessionIdle.map { now.adding(.zero - $0) },
            at: now
        )
    }

    /// Throws `104 AccessTokenNotAccepted` if the session to keep has itself ended.
    fileprivate func revokeSessions(_ revoked: SessionsToRevoke, _ call: Call) async throws(SkyrowError) -> Int {
        let user = try call.caller.requiredUserID
        // Also when it is unknown whether the change was committed.
        defer { forget(.user(user)) }
        let event = call.audit(.session)
        switch revoked {
        case .ids(let ids):
            return try await store.sessions.delete(ids, of: user, recording: event)
        case .all(let exceptCurrent):
            let kept = exceptCurrent ? call.sessionHash : nil
            if let count = try await store.sessions.revokeAll(of: user, keeping: kept, recording: event) {
                return count
            }
            // The master key may act as a user without an account.
            guard kept != nil else { return 0 }
            throw CredentialCheck.tokenNotAccepted
        }
    }

    /// The credentials are those of the call by now.
    fileprivate func authenticateConnection(_: Credentials, _ call: Call) async throws(SkyrowError) {
        guard let connection = call.connection else {
            throw SkyrowError(
                .notSupported,
                "This action authenticates a WebSocket; send the credentials of other requests with the request."
            )
        }
        try connection.authenticate(as: call.caller, with: call.credentials, of: self)
    }

    /// Gives the session of a request another token after the time of `session-rotate`.
    ///
    /// Returns the new token; nil if the current one stays valid. A failure does not fail the request: a later one tries again.
    ///
    /// - Parameter action: an action that returns a token itself, or ends the session, needs no new token.
    package func renewToken(
        of credentials: Credentials,
        by caller: Caller,
        for action: ActionDescription
    ) async -> String? {
        guard let age = configuration.sessionRotation, let token = credentials.ownToken(of: caller),
            action.requirement.looksAtToken, !Self.replacingTokens.contains(action.name)
        else { return nil }
        guard let session = cachedSession(TokenHash(of: token)), session.token == .current,
            let givenAt = session.tokenGivenAt, givenAt.adding(age) <= clock.now()
        else { return nil }
        return (try? await rotate(token, of: session.userID)) ?? nil
    }

    private static let replacingTokens = [
        Actions.authRotate.name, Actions.authPassword.name, Actions.authLogOut.name,
    ]

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
        case .master: if let key = caller.key { self = .key(key.id) } else { self = .master }
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
