import SkyrowModel
import SkyrowProtocol

extension FunctionNeed {
    /// What an action with this need requires of credentials; roles are checked by `check`.
    var requirement: ActionRequirement {
        switch self {
        case .nothing: .nothing
        case .key: .keyOrToken
        case .user: .user
        case .roles: .userOrMaster
        case .administrator: .administrator
        case .master: .master
        }
    }

    /// Checks a caller whose credentials are valid.
    ///
    /// Throws `101 NotAuthenticated` or `102 PermissionDenied`.
    ///
    /// - Parameter hasCredentials: Whether the request has a key or a token.
    func check(_ caller: Caller, hasCredentials: Bool) throws(SkyrowError) {
        if case .nothing = self { return }
        guard hasCredentials || caller.kind != .anonymous else { throw CredentialCheck.credentialsMissing }
        switch self {
        case .nothing, .key: return
        case .user:
            guard caller.userID != nil else { throw CredentialCheck.userMissing }
        case .roles(let roles):
            if caller.isMaster { return }
            guard caller.userID != nil else { throw CredentialCheck.userMissing }
            guard roles.contains(where: caller.roles.contains) else { throw .roleMissing }
        case .administrator:
            if caller.isMaster { return }
            guard caller.userID != nil else { throw CredentialCheck.administratorMissing }
            guard caller.isAdministrator else { throw CredentialCheck.administratorNeeded }
        case .master:
            guard caller.isMaster else { throw CredentialCheck.masterNeeded }
        }
    }

    /// As `function:list` writes it.
    var name: String {
        switch self {
        case .nothing: "nothing"
        case .key: "key"
        case .user: "user"
        case .roles: "roles"
        case .administrator: "administrator"
        case .master: "master"
        }
    }

    /// The roles of which one is required; empty for any other need.
    var roles: [RoleName] { if case .roles(let roles) = self { roles } else { [] } }
}

extension Credentials {
    /// Whether the request has a key or a token.
    var isAny: Bool { !(key ?? "").isEmpty || tokenHash != nil }
}

extension SkyrowError {
    fileprivate static let roleMissing = SkyrowError(
        .permissionDenied,
        "This requires a role that the user does not have."
    )
}
