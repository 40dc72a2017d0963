import SkyrowJSON
import SkyrowModel
import SkyrowWire

extension SkyrowClient {
    /// Goes on with the session of an access token, such as one that another part of the application has.
    @discardableResult
    public func become(token: String) async throws(ClientError) -> Account {
        let request = BecomeRequest(token: token)
        return try await logIn(.authBecome) { $0.becomeParameters(request) }
    }

    /// Gives the session another access token; the one before is accepted for 30 seconds more.
    @discardableResult
    public func rotateToken() async throws(ClientError) -> Account {
        try await logIn(.authRotate, parameters: nil)
    }

    /// The sessions of the logged-in user, those used last first.
    public func sessions() async throws(ClientError) -> [AccountSession] {
        try await call(.sessionList) { json throws(SkyrowError) in
            var sessions: [AccountSession] = []
            for element in json.elements { sessions.append(try AccountSession(result: element)) }
            return sessions
        }
    }

    /// Proves once more who the user is, for what takes that (138), and returns until when it counts for the session.
    ///
    /// ```swift
    /// try await client.stepUp(password: "correct horse")
    /// try await client.revokeOtherSessions()
    /// ```
    @discardableResult
    public func stepUp(password: String) async throws(ClientError) -> Timestamp {
        try await stepUp(.password(password))
    }

    /// The same by a provider by which the user logs in, and with which the user has just signed in again.
    ///
    /// - Parameters:
    ///   - provider: its name in the settings of the service.
    ///   - idToken: what the provider gave the application within the last ten minutes.
    ///   - nonce: what the application drew for this sign-in and sent to the provider.
    @discardableResult
    public func stepUp(provider: String, idToken: String, nonce: String) async throws(ClientError) -> Timestamp {
        try await stepUp(.token(ProviderToken(provider: provider, idToken: idToken, nonce: nonce)))
    }

    private func stepUp(_ request: StepUpRequest) async throws(ClientError) -> Timestamp {
        try await call(.authStepUp) {
            $0.stepUpParameters(request)
        } read: { json throws(SkyrowError) in
            guard let end = json["elevated_until"]?.string else {
                throw SkyrowError(.badRequest, "The result says until when the proof counts.")
            }
            return try Timestamp(rfc3339: end)
        }
    }

    /// The same by a code of the second factor.
    @discardableResult
    public func stepUp(code: String) async throws(ClientError) -> Timestamp {
        try await stepUp(.code(code))
    }

    /// Ends sessions of the logged-in user; returns how many of them there were.
    @discardableResult
    public func revokeSessions(_ ids: [String]) async throws(ClientError) -> Int {
        try await revoke(.ids(ids))
    }

    /// Ends all sessions of the logged-in user but this one; returns how many there were. It takes ``stepUp(password:)``.
    @discardableResult
    public func revokeOtherSessions() async throws(ClientError) -> Int {
        try await revoke(.all(exceptCurrent: true))
    }

    /// Ends all sessions of the logged-in user, this one too; returns how many there were. It takes ``stepUp(password:)``.
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
                throw SkyrowError(.badRequest, "The result says how many sessions were ended.")
            }
            return count
        }
    }
}
