package import SkyrowModel
package import SkyrowProtocol
import SkyrowStore

extension ActionService {
    /// Refuses an action that requires step-up unless the user has authenticated again within the last minutes.
    ///
    /// Throws `138 StepUpRequired`, `101 NotAuthenticated` without a user, and `104 AccessTokenNotAccepted` if the session has
    /// ended.
    ///
    /// - Parameter isAsked: whether this call requires it because of its parameters.
    package func requireStepUp(
        for action: ActionDescription,
        isAsked: Bool,
        by caller: Caller,
        with credentials: Credentials
    ) async throws(SkyrowError) {
        guard isAsked || action.stepUp == .always || isNamed(action.name) else { return }
        if let refusal = try await stepUpRefusal(of: caller, with: credentials) { throw refusal }
    }

    private func isNamed(_ action: ActionName) -> Bool {
        !configuration.stepUp.isEmpty && configuration.stepUp.contains(action)
    }

    /// Returns why a caller may not do what requires step-up; nil if it may.
    ///
    /// Otherwise throws as ``requireStepUp(for:isAsked:by:with:)`` does.
    func stepUpRefusal(of caller: Caller, with credentials: Credentials) async throws(SkyrowError) -> SkyrowError? {
        guard !caller.isMaster, !caller.isElevated else { return nil }
        let user = try caller.requiredUserID
        let hash = credentials.ownToken(of: caller).map { TokenHash(of: $0).bytes }
        // The cached session may be older than a step-up in another process.
        guard let standing = try await store.sessions.stepUpStanding(of: user, tokenHash: hash) else {
            if let hash { forget(.token(hash: hash)) }
            throw CredentialCheck.tokenNotAccepted
        }
        guard !standing.isElevated else { return nil }
        return Elevation.required(
            (standing.hasPassword && configuration.accounts.admitsPasswords ? ["password"] : [])
                + (standing.hasProvider ? ["provider"] : [])
                + (standing.hasSecondFactor ? ["totp", "recovery"] : [])
        )
    }

    /// Authenticates the user again, and returns until when that is valid for the session.
    ///
    /// Throws `105 InvalidCredentials` for a wrong password, after exactly one hash, for a code of the second factor that is
    /// wrong or used, and for a provider's token that is not accepted, belongs to another user or was issued too long ago; `131
    /// RateLimited` after too many attempts; `101 NotAuthenticated` without a session, and `104 AccessTokenNotAccepted` if it has
    /// ended.
    func stepUp(_ proof: StepUpProof, _ call: Call) async throws(SkyrowError) -> Timestamp {
        let user = try call.caller.requiredUserID
        guard let hash = call.sessionHash else { throw CredentialCheck.userMissing }
        // Also when it is unknown whether the step-up was stored.
        defer { forget(.token(hash: hash)) }
        let event = AuditEvent(.stepUp, by: .itself, from: call.origin)
        let actor = call.actor
        return try await auditing(.stepUp, of: user, by: actor, from: call.origin) { () async throws(SkyrowError) in
            switch proof {
            case .password(let password):
                let account = try await account(of: user, provedBy: password, from: call.client)
                return try await elevate(hash, of: account, recording: event)
            case .token(let token):
                let account = try await accountProved(by: token, user, from: call.client)
                return try await elevate(hash, of: account, recording: event)
            case .code(let code):
                return try await proving(code, of: user, from: call.client) { proof async throws(SkyrowError) in
                    let end = try await self.store.sessions.elevate(hash, of: user, with: proof, recording: event)
                    guard let end else { throw .factorRefused }
                    return end
                }
            }
        }
    }

    /// Elevates a session, and returns until when; throws `104 AccessTokenNotAccepted` if it has ended.
    @discardableResult
    func elevate(
        _ tokenHash: [UInt8],
        of account: AccountCredentials,
        recording event: AuditEvent
    ) async throws(SkyrowError) -> Timestamp {
        guard let end = try await store.sessions.elevate(tokenHash, of: account, recording: event) else {
            throw CredentialCheck.tokenNotAccepted
        }
        return end
    }

    func account(
        of user: UserID,
        provedBy password: String,
        from client: ClientKey
    ) async throws(SkyrowError) -> AccountCredentials {
        try configuration.accounts.requirePasswords()
        let password = try Password.checked(password, argument: "password")
        let guess = Guess(user: user, from: client)
        let (found, verdict) = try await judge(password, guess, replacingWeak: false) {
            () async throws(SkyrowError) in
            try await self.store.users.credentials(of: user)
        }
        guard let found, verdict.isRight else { throw SkyrowError(.invalidCredentials, "The password is wrong.") }
        return found
    }
}
