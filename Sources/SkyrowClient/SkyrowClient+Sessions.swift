import SkyrowModel
import SkyrowProtocol

extension SkyrowClient {
    /// Adopts the session of an access token, such as one that another part of the application holds.
    @discardableResult
    public func become(token: String) async throws(ClientError) -> Account {
        try await logIn(Actions.authBecome, token)
    }

    /// Replaces the session's access token; the former one is accepted for another 30 seconds.
    @discardableResult
    public func rotateToken() async throws(ClientError) -> Account {
        try await logIn(Actions.authRotate, ())
    }

    /// Returns the sessions of the logged-in user, most recently used first.
    public func sessions() async throws(ClientError) -> [AccountSession] {
        try await call(Actions.sessionList, ())
    }

    /// Proves the user's identity again, for actions that require it (138); returns when the proof expires for the session.
    ///
    /// ```swift
    /// try await client.stepUp(password: "correct horse")
    /// try await client.revokeOtherSessions()
    /// ```
    @discardableResult
    public func stepUp(password: String) async throws(ClientError) -> Timestamp {
        try await call(Actions.authStepUp, .password(password))
    }

    /// Proves the user's identity again by a linked provider, where the user has just signed in again.
    ///
    /// - Parameters:
    ///   - provider: the name of the provider in the settings of the service.
    ///   - idToken: the id token that the provider gave the application within the last ten minutes.
    ///   - nonce: the random text that the application sent to the provider for this sign-in.
    @discardableResult
    public func stepUp(provider: String, idToken: String, nonce: String) async throws(ClientError) -> Timestamp {
        let token = ProviderToken(provider: provider, idToken: idToken, nonce: nonce)
        return try await call(Actions.authStepUp, .token(token))
    }

    /// Proves the user's identity again with a code of the second factor.
    @discardableResult
    public func stepUp(code: String) async throws(ClientError) -> Timestamp {
        try await call(Actions.authStepUp, .code(code))
    }

    /// Ends sessions of the logged-in user; returns how many were ended.
    @discardableResult
    public func revokeSessions(_ ids: [String]) async throws(ClientError) -> Int {
        try await call(Actions.sessionRevoke, .ids(ids))
    }

    /// Ends all other sessions of the logged-in user; returns how many were ended. Requires ``stepUp(password:)``.
    @discardableResult
    public func revokeOtherSessions() async throws(ClientError) -> Int {
        try await call(Actions.sessionRevoke, .all(exceptCurrent: true))
    }

    /// Ends all sessions of the logged-in user, including this one; returns how many were ended. Requires
    /// ``stepUp(password:)``.
    @discardableResult
    public func revokeAllSessions() async throws(ClientError) -> Int {
        let count = try await call(Actions.sessionRevoke, .all(exceptCurrent: false))
        store(nil)
        return count
    }
}
