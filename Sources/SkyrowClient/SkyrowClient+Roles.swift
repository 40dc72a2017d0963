import SkyrowJSON
import SkyrowModel
import SkyrowWire

extension SkyrowClient {
    /// Assigns roles to users, as an administrator; missing roles are created.
    public func assignRoles(_ roles: [RoleName], to users: [UserID]) async throws(ClientError) {
        // Assigning a role twice has the effect of assigning it once.
        try await call(.roleAssign, repeatability: .safe) {
            $0.roleParameters(roles: roles, users: users)
        } read: { _ throws(SkyrowError) in
        }
    }

    /// Revokes roles from users, as an administrator.
    public func revokeRoles(_ roles: [RoleName], from users: [UserID]) async throws(ClientError) {
        try await call(.roleRevoke, repeatability: .safe) {
            $0.roleParameters(roles: roles, users: users)
        } read: { _ throws(SkyrowError) in
        }
    }

    /// Returns the roles of each of these users; the caller must be one of them or an administrator.
    public func roles(of users: [UserID]) async throws(ClientError) -> [UserID: [RoleName]] {
        try await call(.roleGet) {
            $0.roleParameters(users: users)
        } read: { json throws(SkyrowError) in
            var roles: [UserID: [RoleName]] = [:]
            for (user, names) in json.uniqueMembers { roles[UserID(user)] = names.roleNames }
            return roles
        }
    }

    /// Replaces the roles that new users get; requires the master key.
    @discardableResult
    public func setDefaultRoles(_ roles: [RoleName]) async throws(ClientError) -> [RoleName] {
        try await setRoles(.roleDefault, roles)
    }

    /// Replaces the roles that make an administrator; requires the master key.
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
