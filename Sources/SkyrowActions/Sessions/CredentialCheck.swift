import SkyrowModel
import SkyrowProtocol
import SkyrowStore

/// The check of a request's credentials, as a value: in one step without the database, and one with the session.
///
/// The two styles are Skygear's: requirements of a key (`key`, `master`, `masterOrDevelopment`) ignore an access token, so that a
/// stale one does not prevent a login; for all others an invalid token fails the request, even with a valid key.
struct CredentialCheck {
    /// The result of the first step.
    enum Step: Equatable {
        /// The caller is known without a session.
        case settled(Caller)
        /// `judge` decides by the session of this token.
        case session(TokenHash, key: Key)
    }

    /// The kind of the request's key, if it has one.
    enum Key: Equatable {
        case none
        case api
        case master(actingAs: UserID?)
        /// A key with scopes.
        case held(KeyGrant)
    }

    let requirement: ActionRequirement
    let isDevelopment: Bool
    /// The action for which a key needs scopes; nil for no check.
    let action: ActionDescription?

    init(requirement: ActionRequirement, isDevelopment: Bool) {
        self.requirement = requirement
        self.isDevelopment = isDevelopment
        action = nil
    }

    init(of action: ActionDescription, isDevelopment: Bool) {
        requirement = action.requirement
        self.isDevelopment = isDevelopment
        self.action = action
    }

    /// Checks everything but the session.
    ///
    /// - Parameters:
    ///   - keys: the keys of the application.
    ///   - now: the time for their expiry.
    func start(
        _ credentials: Credentials,
        keys: AccessKeys,
        at now: @autoclosure () -> Timestamp = ServiceClock.system.now()
    ) throws(SkyrowError) -> Step {
        let key = try self.key(credentials, keys: keys, at: now())
        switch requirement {
        case .key, .master, .masterOrDevelopment:
            guard key != .none else { throw SkyrowError(.notAuthenticated, "Send an API key with this request.") }
            return .settled(try judge(nil, key: key, at: .negativeInfinity))
        case .nothing, .keyOrToken, .user, .userOrMaster, .administrator:
            if let token = credentials.tokenHash { return .session(token, key: key) }
            guard key != .none || requirement == .nothing else { throw CredentialCheck.credentialsMissing }
            return .settled(try judge(nil, key: key, at: .negativeInfinity))
        }
    }

    /// Checks the session of the token, or that none was needed.
    ///
    /// - Parameter now: the time for expiry and suspension.
    func judge(_ session: StoredSession?, key: Key, at now: Timestamp) throws(SkyrowError) -> Caller {
        if let session, session.isExpired(at: now) || session.isRevoked(at: now) {
            throw CredentialCheck.tokenNotAccepted
        }
        var caller: Caller
        switch key {
        case .master(let acting):
            caller = Caller(kind: .master(actingAs: acting ?? session?.userID))
            guard requirement != .user || caller.userID != nil else { throw CredentialCheck.userMissing }
            return caller
        case .held(let grant) where grant.kind == .server:
            caller = Caller(kind: .master(actingAs: session?.userID))
            caller.key = grant
            caller.keyName = grant.name
            guard requirement != .user || caller.userID != nil else { throw CredentialCheck.userMissing }
            return caller
        case .held, .none, .api:
            caller = session?.caller ?? .anonymous
        }
        if let suspension = session?.suspension(at: now) {
            guard !requirement.requiresUser else { throw suspension.error }
            // As in Skygear, a disabled user counts as anonymous if the user is optional.
            caller = .anonymous
        }
        if case .held(let grant) = key {
            caller.keyName = grant.name
            if !grant.isUnlimited { caller.key = grant }
        }
        switch requirement {
        case .nothing, .key, .keyOrToken:
            return caller
        case .masterOrDevelopment:
            guard isDevelopment else {
                throw SkyrowError(.permissionDenied, "Outside development mode, this requires the master key.")
            }
            return caller
        case .master:
            throw CredentialCheck.masterNeeded
        case .user, .userOrMaster:
            guard caller.userID != nil else { throw CredentialCheck.userMissing }
            return caller
        case .administrator:
            guard caller.userID != nil else { throw CredentialCheck.administratorMissing }
            guard caller.isAdministrator else { throw CredentialCheck.administratorNeeded }
            return caller
        }
    }

    static let masterNeeded = SkyrowError(.permissionDenied, "This requires the master key.")

    static let credentialsMissing = SkyrowError(
        .notAuthenticated,
        "Send an API key or an access token with this request."
    )

    static let userMissing = SkyrowError(.notAuthenticated, "Log in first.")

    static let administratorMissing = SkyrowError(.notAuthenticated, "Log in as an administrator first.")

    static let administratorNeeded = SkyrowError(
        .permissionDenied,
        "This requires an administrator's role or the master key."
    )

    static let tokenNotAccepted = SkyrowError(
        .accessTokenNotAccepted,
        "The access token is unknown or has expired; log in again."
    )

    private func key(
        _ credentials: Credentials,
        keys: AccessKeys,
        at now: @autoclosure () -> Timestamp
    ) throws(SkyrowError) -> Key {
        guard let key = credentials.key, !key.isEmpty else { return .none }
        switch keys.kind(of: key, at: now()) {
        case .neither:
            throw .keyNotAccepted
        case .master where !credentials.admitsMasterKey:
            throw .keyNotAccepted
        case .api:
            return .api
        case .held(let held, let isPrevious):
            guard held.counts(isPrevious: isPrevious, from: credentials.address, at: now()) else {
                throw .keyNotAccepted
            }
            held.noteUse()
            if let action, let scope = held.grant.missing(for: action) { throw .scopeMissing(scope) }
            return .held(held.grant)
        case .master:
            if let acting = credentials.actingUserID, !acting.fitsAccount {
                throw .invalidArgument(
                    "A user id must be 1 to 255 bytes without NUL and '/', and must not begin with '_' or '~'.",
                    "_user_id"
                )
            }
            return .master(actingAs: credentials.actingUserID)
        }
    }
}

extension ActionRequirement {
    /// Whether a disabled user is refused instead of treated as anonymous.
    fileprivate var requiresUser: Bool {
        switch self {
        case .user, .userOrMaster, .administrator: true
        case .nothing, .key, .keyOrToken, .master, .masterOrDevelopment: false
        }
    }
}
