public import SkyrowModel

/// What `role:save` makes of a role.
public struct RoleSave: Sendable {
    public var name: RoleName
    /// nil: as it is; nil inside: no list, so that the role is for administrators alone.
    public var access: AccessList??
    /// nil: as it is.
    public var isDefault: Bool?
    /// nil: as it is.
    public var isAdministrators: Bool?
    /// Whether a role is made under the name of one that was deleted a short time ago.
    public var forces: Bool

    public init(
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

/// The users and roles that `role:add` puts into a role and `role:remove` takes out of it.
public struct RoleChange: Sendable {
    /// Each role asks for a way through all roles, so that a larger change takes several requests.
    package static let maximumRoles = 100

    public var role: RoleName
    public var users: [UserID]
    public var roles: [RoleName]

    public init(role: RoleName, users: [UserID] = [], roles: [RoleName] = []) {
        self.role = role
        self.users = users
        self.roles = roles
    }

    fileprivate static let form = Form(
        RoleChange.init(role:users:roles:),
        Member("role", \.role, .roleName, "The name of the role."),
        Member("users", \.users, .list(of: .userID, atMost: WireLimits.batchCount), "The ids of users.", absent: []),
        Member("roles", \.roles, .list(of: .roleName, atMost: maximumRoles), "The names of roles.", absent: [])
    )
}

/// The roles that `role:assign` gives to users and `role:revoke` takes from them.
public struct RoleAssignment: Sendable {
    public var roles: [RoleName]
    public var users: [UserID]

    public init(roles: [RoleName], users: [UserID]) {
        self.roles = roles
        self.users = users
    }

    fileprivate static let form = Form(
        RoleAssignment.init(roles:users:),
        Member(\.roles, members: rolesForm),
        Member(\.users, members: usersForm)
    )

    fileprivate static let rolesForm = Form<[RoleName]>(
        "roles",
        .list(of: .roleName, atMost: WireLimits.batchCount),
        "The names of roles."
    )

    fileprivate static let usersForm = Form<[UserID]>(
        "users",
        .list(of: .userID, atMost: WireLimits.batchCount),
        "The ids of users."
    )
}

/// Whose members `role:members` returns, and which part of them.
public struct RoleMembersQuery: Sendable {
    public var role: RoleName
    public var limit: Int
    /// The cursor of the part before; nil for the first one.
    public var after: String?

    public init(role: RoleName, limit: Int = 100, after: String? = nil) {
        self.role = role
        self.limit = limit
        self.after = after
    }

    fileprivate static let form = Form(
        { RoleMembersQuery(role: $0, limit: $1.limit, after: $1.after) },
        Member("role", \.role, .roleName, "The name of the role."),
        Member(\.page, members: PageRequest.form)
    )

    private var page: PageRequest { PageRequest(limit: limit, after: after) }
}

extension Actions {
    /// Gives roles to users.
    public static let roleAssign = Action<RoleAssignment, Void>(
        "role:assign",
        "Gives roles to users; unknown users are ignored, and unknown roles are created.",
        requires: .administrator,
        cost: .write,
        effect: .repeatable,
        RoleAssignment.form,
        result: .done
    )

    /// Takes roles away from users.
    public static let roleRevoke = Action<RoleAssignment, Void>(
        "role:revoke",
        "Takes roles away from users.",
        requires: .administrator,
        cost: .write,
        effect: .repeatable,
        RoleAssignment.form,
        result: .done
    )

    /// The roles of users.
    public static let roleGet = Action<[UserID], [UserID: [RoleName]]>(
        "role:get",
        "Returns the roles of users; only administrators see those of others.",
        requires: .userOrMaster,
        scope: .account(.reading),
        cost: .read,
        RoleAssignment.usersForm,
        result: .table(of: .list(of: .roleName)) {
            $0.rawValue
        } key: {
            UserID($0)
        }
    )

    /// Replaces the roles that new users get, and returns them.
    public static let roleDefault = Action<[RoleName], [RoleName]>(
        "role:default",
        "Replaces the set of roles that new users get.",
        requires: .masterOrDevelopment,
        cost: .write,
        effect: .repeatable,
        RoleAssignment.rolesForm,
        result: .list(of: .roleName)
    )

    /// Replaces the roles that make administrators, and returns them.
    public static let roleAdmin = Action<[RoleName], [RoleName]>(
        "role:admin",
        "Replaces the set of roles that make an administrator.",
        requires: .masterOrDevelopment,
        cost: .write,
        effect: .repeatable,
        RoleAssignment.rolesForm,
        result: .list(of: .roleName)
    )

    /// Makes a role or changes it, and returns it.
    public static let roleSave = Action<RoleSave, Role>(
        "role:save",
        "Creates a role, or changes its access list and whether new users get it or administrators have it.",
        requires: .userOrMaster,
        cost: .write,
        effect: .repeatable,
        errors: [.duplicated],
        Form(
            RoleSave.init(name:access:isDefault:isAdministrators:forces:),
            Member("name", \.name, .roleName, "The name of the role, which cannot be changed."),
            Member(
                keep: "access",
                \.access,
                .accessList,
                "Who may see the role, change its members (`update`) and delete it; null for administrators only."
            ),
            Member(
                optional: "by_default",
                \.isDefault,
                .boolean,
                "Whether new users get the role; only for the master key."
            ),
            Member(
                optional: "is_admin",
                \.isAdministrators,
                .boolean,
                "Whether its users are administrators; only for the master key."
            ),
            Member(
                "force",
                \.forces,
                .boolean,
                "Whether the name may be that of a role which was deleted within the last 30 days.",
                absent: false
            )
        ),
        result: .role
    )

    /// Deletes a role.
    public static let roleDelete = Action<RoleName, Void>(
        "role:delete",
        "Deletes a role, but not its users and the roles in it.",
        requires: .userOrMaster,
        cost: .write,
        errors: [.resourceNotFound],
        Form("name", .roleName, "The name of the role."),
        result: .status
    )

    /// Puts users and roles into a role; returns how many were not in it before.
    public static let roleAdd = Action<RoleChange, Int>(
        "role:add",
        "Adds users and roles to a role; the users of these roles then have it, too.",
        requires: .userOrMaster,
        cost: .write,
        effect: .repeatable,
        errors: [.resourceNotFound, .duplicated],
        RoleChange.form,
        result: .count("added", "How many were not in the role before.")
    )

    /// Takes users and roles out of a role; returns how many were in it.
    public static let roleRemove = Action<RoleChange, Int>(
        "role:remove",
        "Removes users and roles from a role.",
        requires: .userOrMaster,
        cost: .write,
        effect: .repeatable,
        errors: [.resourceNotFound],
        RoleChange.form,
        result: .count("removed", "How many were in the role.")
    )

    /// A part of what a role contains itself, roles before users.
    public static let roleMembers = Action<RoleMembersQuery, MemberPage<RoleMember>>(
        "role:members",
        "Returns the direct members of a role, roles and users, in pages.",
        requires: .userOrMaster,
        cost: .read,
        narrowing: .limit,
        errors: [.resourceNotFound],
        RoleMembersQuery.form,
        result: .page("members", of: .roleMember)
    )

    /// A part of the roles that the caller sees.
    package static let roleList = Action<PageRequest, MemberPage<Role>>(
        "role:list",
        "Returns the roles that the caller sees, in the order of their names and in pages.",
        requires: .userOrMaster,
        cost: .read,
        narrowing: .limit,
        PageRequest.form,
        result: .page("roles", of: .role)
    )
}
