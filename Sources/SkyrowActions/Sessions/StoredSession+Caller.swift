import SkyrowModel
import SkyrowStore

extension StoredSession {
    /// The caller that the session authenticates.
    var caller: Caller {
        var caller = Caller(
            kind: .user(userID),
            roles: roles,
            groups: groups,
            isAdministrator: isAdministrator,
            isRegistered: isRegistered,
            isVerified: isVerified
        )
        caller.isElevated = isElevated
        return caller
    }

    func isExpired(at now: Timestamp) -> Bool {
        expiresAt.map { $0 <= now } ?? false
    }

    /// Returns whether the token is no longer valid, without a suspension to report instead.
    func isRevoked(at now: Timestamp) -> Bool {
        isRevoked && suspension(at: now) == nil
    }

    /// Returns the suspension of the account, while it lasts.
    func suspension(at now: Timestamp) -> AccountSuspension? {
        suspension.flatMap { $0.isOver(at: now) ? nil : $0 }
    }
}

extension AccountSuspension {
    func isOver(at now: Timestamp) -> Bool {
        until.map { $0 <= now } ?? false
    }

    /// `127 UserDisabled`, in Skygear's form.
    var error: SkyrowError {
        var info: [String: ErrorInfo] = [:]
        if let message { info["message"] = .string(message) }
        if let until { info["expiry"] = .datetime(until) }
        return SkyrowError(.userDisabled, "This account is disabled.", info: info)
    }
}
