import SkyrowModel
import SkyrowProtocol

extension SkyrowClient {
    /// Assigns roles to users, as an administrator; missing roles are created.
    public func assignRoles(_ roles: [RoleName], to users: [UserID]) async throws(ClientError) {
        try await call(Actions.roleAssign, RoleAssignment(roles: roles, users: users))
    }

    /// Revokes roles from users, as an administrator.
    public func revokeRoles(_ roles: [RoleName], from users: [UserID]) async throws(ClientError) {
        try await call(Actions.roleRevoke, RoleAssignment(roles: roles, users: users))
    }

    /// Returns the roles of each of these users; the caller must be one of them or an administrator.
    public func roles(of users: [UserID]) async throws(ClientError) -> [UserID: [RoleName]] {
        try await call(Actions.roleGet, users)
    }

    /// Replaces the roles that new users get; requires the master key.
    @discardableResult
    public func setDefaultRoles(_ roles: [RoleName]) async throws(ClientError) -> [RoleName] {
        try await call(Actions.roleDefault, roles)
    }

    /// Replaces the roles that make an administrator; requires the master key.
    @discardableResult
    public func setAdministratorRoles(_ roles: [RoleName]) async throws(ClientError) -> [RoleName] {
        try await call(Actions.roleAdmin, roles)
    }
}
