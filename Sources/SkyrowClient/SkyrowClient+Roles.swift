import SkyrowJSON
import SkyrowModel
import SkyrowWire

extension SkyrowClient {
    /// Gives roles to users, as an administrator; roles that are not there come into being.
    public func assignRoles(_ roles: [RoleName], to users: [UserID]) async throws(ClientError) {
        // To have a role twice is to have it once.
        try await call(.roleAssign, repeatability: .safe) {
            $0.roleParameters(roles: roles, users: users)
        } read: { _ throws(SkyrowError) in
        }
    }

    /// Takes roles away from users, as an administrator.
    public func revokeRoles(_ roles: [RoleName], from users: [UserID]) async throws(ClientError) {
        try await call(.roleRevoke, repeatability: .safe) {
            $0.roleParameters(roles: roles, users: users)
        } read: { _ throws(SkyrowError) in
        }
    }

    /// The roles of each of these users, as one of them or an administrator.
    public func roles(of users: [UserID]) async throws(ClientError) -> [UserID: [RoleName]] {
        try await call(.roleGet) {
            $0.roleParameters(users: users)
        } read: { json throws(SkyrowError) in
            var roles: [UserID: [RoleName]] = [:]
            for (user, names) in json.uniqueMembers { roles[UserID(user)] = names.roleNames }
            return roles
        }
    }

    /// Replaces the roles that new users get, with the master key.
    @discardableResult
    public func setDefaultRoles(_ roles: [RoleName]) async throws(ClientError) -> [RoleName] {
        try await setRoles(.roleDefault, roles)
    }

    /// Replaces the roles that make an administrator, with the master key.
    @discardableResult
    public func setAdministratorRoles(_ roles: [RoleName]) async throws(ClientError) -> [RoleName] {
        try await setRoles(.roleAdmin, roles)
    }

    private func setRoles(_ action: ActionName, _ roles: [RoleName]) async throws(ClientError) -> [RoleName] {
        try await call(action, repeatability: .safe) {
            $0.roleParameters(roles: roles)
        } read: { json throws(SkyrowError) in
            json.roleNames
        }
    }
}

extension JSONView {
    fileprivate var roleNames: [RoleName] {
        elements.compactMap { $0.string.map { RoleName($0) } }
    }
}
