/// `role:save`, decoded.
package struct RoleSaveRequest: Sendable {
    package var name: RoleName
    /// nil: as it is; nil inside: no list, so that the role is for administrators alone.
    package var access: AccessList??
    /// nil: as it is.
    package var isDefault: Bool?
    package var isAdministrators: Bool?
    /// Whether a role is made under the name of one that was deleted a short time ago.
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
    /// Beyond these, which each ask for a way through all roles, a change takes several requests.
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

/// A part of a list that is asked for: `role:list` and `role:members`.
package struct PageRequest: Hashable, Sendable {
    package static let defaultLimit = 100
    package static let maximumLimit = 1000

    package var limit: Int
    /// The cursor of the part before; nil for the first one.
    package var after: String?

    package init(limit: Int = PageRequest.defaultLimit, after: String? = nil) {
        self.limit = limit
        self.after = after
    }
}

/// `group:add`, `group:remove` and `group:list`, decoded.
package struct GroupRequest: Sendable {
    /// nil: the caller.
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
