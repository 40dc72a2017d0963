import SkyrowJSON
import SkyrowModel
import SkyrowProtocol

extension SkyrowClient {
    /// Adopts the session of an access token, such as one that another part of the application holds.
    @discardableResult
    public func become(token: String) async throws(ClientError) -> Account {
        let request = BecomeRequest(token: token)
        return try await logIn(.authBecome) { $0.becomeParameters(request) }
    }

    /// Replaces the session's access token; the former one is accepted for another 30 seconds.
    @discardableResult
    public func rotateToken() async throws(ClientError) -> Account {
        try await logIn(.authRotate, parameters: nil)
    }

    /// Returns the sessions of the logged-in user, most recently used first.
    public func sessions() async throws(ClientError) -> [AccountSession] {
        try await call(.sessionList) { json throws(SkyrowError) in
            var sessions: [AccountSession] = []
            for element in json.elements { sessions.append(try AccountSession(result: element)) }
            return sessions
        }
    }

    /// Proves the user's identity again, for actions that require it (138); returns when the proof expires for the session.
    ///
    /// ```swift
    /// try await client.stepUp(password: "correct horse")
    /// try await client.revokeOtherSessions()
    /// ```
    @discardableResult
    public func stepUp(password: String) async throws(ClientError) -> Timestamp {
        try await stepUp(.password(password))
    }

    /// Proves the user's identity again by a linked provider, where the user has just signed in again.
    ///
    /// - Parameters:
    ///   - provider: the name of the provider in the settings of the service.
    ///   - idToken: the id token that the provider gave the application within the last ten minutes.
    ///   - nonce: the random text that the application sent to the provider for this sign-in.
    @discardableResult
    public func stepUp(provider: String, idToken: String, nonce: String) async throws(ClientError) -> Timestamp {
        try await stepUp(.token(ProviderToken(provider: provider, idToken: idToken, nonce: nonce)))
    }

    private func stepUp(_ request: StepUpRequest) async throws(ClientError) -> Timestamp {
        try await call(.authStepUp) {
            $0.stepUpParameters(request)
        } read: { json throws(SkyrowError) in
            guard let end = json["elevated_until"]?.string else {
                throw SkyrowError(.badRequest, "The result must have elevated_until.")
            }
            return try Timestamp(rfc3339: end)
        }
    }

    /// Proves the user's identity again with a code of the second factor.
    @discardableResult
    public func stepUp(code: String) async throws(ClientError) -> Timestamp {
        try await stepUp(.code(code))
    }

    /// Ends sessions of the logged-in user; returns how many were ended.
    @discardableResult
    public func revokeSessions(_ ids: [String]) async throws(ClientError) -> Int {
        try await revoke(.ids(ids))
    }

    /// Ends all other sessions of the logged-in user; returns how many were ended. Requires ``stepUp(password:)``.
    @discardableResult
    public func revokeOtherSessions() async throws(ClientError) -> Int {
        try await revoke(.all(exceptCurrent: true))
    }

    /// Ends all sessions of the logged-in user, including this one; returns how many were ended. Requires
    /// ``stepUp(password:)``.
    @discardableResult
    public func revokeAllSessions() async throws(ClientError) -> Int {
        let count = try await revoke(.all(exceptCurrent: false))
        store(nil)
        return count
    }

    private func revoke(_ request: RevokeSessionsRequest) async throws(ClientError) -> Int {
        try await call(.sessionRevoke) {
            $0.revokeSessionsParameters(request)
        } read: { json throws(SkyrowError) in
            guard let count = json["revoked"]?.wholeNumber.flatMap({ Int(exactly: $0) }) else {
                throw SkyrowError(.badRequest, "The result must have the number revoked.")
            }
            return count
        }
    }
}
