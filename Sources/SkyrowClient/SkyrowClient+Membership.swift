import SkyrowJSON
import SkyrowModel
import SkyrowWire

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
        let request = RoleSaveRequest(name: name, access: .some(access), forces: forces)
        return try await call(.roleSave, repeatability: .safe) {
            $0.roleSaveParameters(request)
        } read: { json throws(SkyrowError) in
            try Role(result: json)
        }
    }

    /// Deletes a role; its users and the roles in it remain.
    public func deleteRole(_ name: RoleName) async throws(ClientError) {
        try await call(.roleDelete) {
            $0.roleNameParameters(name)
        } read: { _ throws(SkyrowError) in
        }
    }

    /// Adds users and roles to a role; returns how many were not in it before.
    @discardableResult
    public func add(
        users: [UserID] = [],
        roles: [RoleName] = [],
        toRole role: RoleName
    ) async throws(ClientError) -> Int {
        let request = RoleChangeRequest(role: role, users: users, roles: roles)
        return try await call(.roleAdd) {
            $0.roleChangeParameters(request)
        } read: { json throws(SkyrowError) in
            json.count(of: "added")
        }
    }

    /// Removes users and roles from a role; returns how many were in it.
    @discardableResult
    public func remove(
        users: [UserID] = [],
        roles: [RoleName] = [],
        fromRole role: RoleName
    ) async throws(ClientError) -> Int {
        let request = RoleChangeRequest(role: role, users: users, roles: roles)
        return try await call(.roleRemove) {
            $0.roleChangeParameters(request)
        } read: { json throws(SkyrowError) in
            json.count(of: "removed")
        }
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
        try await call(.roleMembers) {
            $0.pageParameters(PageRequest(limit: limit, after: after), of: role)
        } read: { json throws(SkyrowError) in
            let members = (json["members"]?.elements).map { elements in
                elements.compactMap { entry in
                    entry["role"]?.string.map { RoleMember.role(RoleName($0)) }
                        ?? entry["user_id"]?.string.map { RoleMember.user(UserID($0)) }
                }
            }
            return MemberPage(members ?? [], cursor: json["cursor"]?.string)
        }
    }

    /// Returns a page of the roles that the caller sees, ordered by name.
    ///
    /// - Parameters:
    ///   - limit: the largest number of roles in the page.
    ///   - after: the cursor of the previous page.
    public func roles(limit: Int = 100, after: String? = nil) async throws(ClientError) -> MemberPage<Role> {
        try await call(.roleList) {
            $0.pageParameters(PageRequest(limit: limit, after: after))
        } read: { json throws(SkyrowError) in
            var roles: [Role] = []
            if let list = json["roles"] {
                for entry in list.elements { roles.append(try Role(result: entry)) }
            }
            return MemberPage(roles, cursor: json["cursor"]?.string)
        }
    }

    /// Adds groups to a user; returns all groups of the user, sorted.
    ///
    /// - Parameters:
    ///   - groups: the groups to add.
    ///   - user: the user; nil for the logged-in user.
    @discardableResult
    public func addGroups(_ groups: [GroupName], to user: UserID? = nil) async throws(ClientError) -> [GroupName] {
        try await changeGroups(.groupAdd, groups, user)
    }

    /// Removes groups from a user; returns the remaining groups, sorted.
    ///
    /// - Parameters:
    ///   - groups: the groups to remove.
    ///   - user: the user; nil for the logged-in user.
    @discardableResult
    public func removeGroups(_ groups: [GroupName], from user: UserID? = nil) async throws(ClientError) -> [GroupName] {
        try await changeGroups(.groupRemove, groups, user)
    }

    /// Returns the groups of a user, sorted.
    ///
    /// - Parameter user: the user; nil for the logged-in user.
    public func groups(of user: UserID? = nil) async throws(ClientError) -> [GroupName] {
        try await call(.groupList) {
            $0.groupParameters(user: user)
        } read: { json throws(SkyrowError) in
            json.groupNames
        }
    }

    private func changeGroups(
        _ action: ActionName,
        _ groups: [GroupName],
        _ user: UserID?
    ) async throws(ClientError) -> [GroupName] {
        // Adding or removing a group twice has the effect of doing it once.
        try await call(action, repeatability: .safe) {
            $0.groupParameters(groups: groups, user: user)
        } read: { json throws(SkyrowError) in
            json.groupNames
        }
    }
}

extension JSONView {
    fileprivate func count(of name: StaticString) -> Int {
        self[name]?.wholeNumber.flatMap { Int(exactly: $0) } ?? 0
    }

    fileprivate var groupNames: [GroupName] {
        guard let groups = self["groups"] else { return [] }
        return groups.elements.compactMap { $0.string.map { GroupName($0) } }
    }
}
