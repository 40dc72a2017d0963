import SkyrowModel

/// What a valid access token stands for, as one statement loads it.
struct Session: Sendable, Equatable {
    var userID: UserID
    /// The user's, sorted.
    var roles: [String]
    var isAdministrator: Bool
    /// nil means never.
    var expiresAt: Timestamp?
    var suspension: Suspension?

    /// An account that was disabled.
    struct Suspension: Sendable, Equatable {
        /// When it ends by itself; nil means never.
        var expiry: Timestamp?
        var message: String?
    }

    /// The caller this session makes.
    var caller: Caller {
        Caller(kind: .user(userID), roles: roles, isAdministrator: isAdministrator)
    }

    func isExpired(at now: Timestamp) -> Bool {
        expiresAt.map { $0 <= now } ?? false
    }

    /// The suspension, while it lasts.
    func suspension(at now: Timestamp) -> Suspension? {
        guard let suspension else { return nil }
        if let expiry = suspension.expiry, expiry <= now { return nil }
        return suspension
    }
}
