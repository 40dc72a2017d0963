/// `role:save`, decoded.
package struct RoleSaveRequest: Sendable {
    package var name: RoleName
    /// nil leaves the list unchanged; an inner nil removes it, so that the role is for administrators only.
    package var access: AccessList??
    /// nil leaves it unchanged.
    package var isDefault: Bool?
    package var isAdministrators: Bool?
    /// Whether the name may be that of a role that was deleted recently.
    package var forces: Bool

    package init(
        name: RoleName,
        access: AccessList?? = nil,
        isDefault: Bool? = nil,
        isAdministrators: Bool? = nil,
        forces: Bool = false
    ) {
        self.name = name
        self.access = access
        self.isDefault = isDefault
        self.isAdministrators = isAdministrators
        self.forces = forces
    }
}

/// `role:add` and `role:remove`, decoded.
package struct RoleChangeRequest: Sendable {
    /// Upper bound on the roles of one change, since each requires a traversal of all roles.
    package static let maximumRoles = 100

    package var role: RoleName
    package var users: [UserID]
    package var roles: [RoleName]

    package init(role: RoleName, users: [UserID] = [], roles: [RoleName] = []) {
        self.role = role
        self.users = users
        self.roles = roles
    }
}

/// The request for a page of `role:list` or `role:members`.
package struct PageRequest: Hashable, Sendable {
    package static let defaultLimit = 100
    package static let maximumLimit = 1000

    package var limit: Int
    /// The cursor of the previous page; nil for the first page.
    package var after: String?

    package init(limit: Int = PageRequest.defaultLimit, after: String? = nil) {
        self.limit = limit
        self.after = after
    }
}

/// `group:add`, `group:remove` and `group:list`, decoded.
package struct GroupRequest: Sendable {
    /// nil for the caller.
    package var userID: UserID?
    package var groups: [GroupName]

    package init(userID: UserID? = nil, groups: [GroupName] = []) {
        self.userID = userID
        self.groups = groups
    }
}

/// The result of an action on roles, groups and relations.
package enum MembershipResult: Sendable {
    /// `role:save`
    case role(Role)
    /// `role:list`
    case roles(MemberPage<Role>)
    /// `role:members`
    case members(MemberPage<RoleMember>)
    /// `role:add`: how many were not in it before.
    case added(Int)
    /// `role:remove`: how many were in it.
    case removed(Int)
    /// `group:add`, `group:remove`, `group:list`
    case groups([GroupName])
    /// `relation:add`, `relation:remove`, `relation:block`
    case relations([RelationOutcome])
    /// `relation:query`, `relation:requests`
    case relationPage(RelationPage)
}
