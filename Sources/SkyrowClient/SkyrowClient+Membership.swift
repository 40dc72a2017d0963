import SkyrowModel
import SkyrowProtocol

extension SkyrowClient {
    /// Creates a role, or changes its access list, as an administrator.
    ///
    /// ```swift
    /// let moderators = try await client.saveRole("Moderators", access: AccessList([AccessEntry(.user("ann"), .update)]))
    /// ```
    ///
    /// - Parameters:
    ///   - name: the name, of 1 to 64 bytes; it never changes.
    ///   - access: who sees the role with its members, changes them and deletes it; nil for administrators only.
    ///   - forces: whether the name may be that of a role that was deleted within 30 days, which access lists may still name.
    @discardableResult
    public func saveRole(
        _ name: RoleName,
        access: AccessList?,
        forces: Bool = false
    ) async throws(ClientError) -> Role {
        try await call(Actions.roleSave, RoleSave(name: name, access: .some(access), forces: forces))
    }

    /// Deletes a role; its users and the roles in it remain.
    public func deleteRole(_ name: RoleName) async throws(ClientError) {
        try await call(Actions.roleDelete, name)
    }

    /// Adds users and roles to a role; returns how many were not in it before.
    @discardableResult
    public func add(
        users: [UserID] = [],
        roles: [RoleName] = [],
        toRole role: RoleName
    ) async throws(ClientError) -> Int {
        try await call(Actions.roleAdd, RoleChange(role: role, users: users, roles: roles))
    }

    /// Removes users and roles from a role; returns how many were in it.
    @discardableResult
    public func remove(
        users: [UserID] = [],
        roles: [RoleName] = [],
        fromRole role: RoleName
    ) async throws(ClientError) -> Int {
        try await call(Actions.roleRemove, RoleChange(role: role, users: users, roles: roles))
    }

    /// Returns a page of the direct members of a role, roles before users.
    ///
    /// - Parameters:
    ///   - role: the role.
    ///   - limit: the largest number of members in the page.
    ///   - after: the cursor of the previous page.
    public func members(
        ofRole role: RoleName,
        limit: Int = 100,
        after: String? = nil
    ) async throws(ClientError) -> MemberPage<RoleMember> {
        try await call(Actions.roleMembers, RoleMembersQuery(role: role, limit: limit, after: after))
    }

    /// Returns a page of the roles that the caller sees, ordered by name.
    ///
    /// - Parameters:
    ///   - limit: the largest number of roles in the page.
    ///   - after: the cursor of the previous page.
    public func roles(limit: Int = 100, after: String? = nil) async throws(ClientError) -> MemberPage<Role> {
        try await call(Actions.roleList, PageRequest(limit: limit, after: after))
    }

    /// Adds groups to a user; returns all groups of the user, sorted.
    ///
    /// - Parameters:
    ///   - groups: the groups to add.
    ///   - user: the user; nil for the logged-in user.
    @discardableResult
    public func addGroups(_ groups: [GroupName], to user: UserID? = nil) async throws(ClientError) -> [GroupName] {
        try await call(Actions.groupAdd, GroupChange(groups: groups, user: user))
    }

    /// Removes groups from a user; returns the remaining groups, sorted.
    ///
    /// - Parameters:
    ///   - groups: the groups to remove.
    ///   - user: the user; nil for the logged-in user.
    @discardableResult
    public func removeGroups(_ groups: [GroupName], from user: UserID? = nil) async throws(ClientError) -> [GroupName] {
        try await call(Actions.groupRemove, GroupChange(groups: groups, user: user))
    }

    /// Returns the groups of a user, sorted.
    ///
    /// - Parameter user: the user; nil for the logged-in user.
    public func groups(of user: UserID? = nil) async throws(ClientError) -> [GroupName] {
        try await call(Actions.groupList, user)
    }
}
