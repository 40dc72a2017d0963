// The declarations of the actions on roles that contain roles, and on groups.

extension ActionCatalog {
    static let roleSave = ActionDescription(
        .roleSave,
        "Makes a role, or changes its access list and what it makes of its users.",
        requirement: .userOrMaster,
        parameters: [
            ActionParameter("name", "The name of the role, which it keeps.", .string(maximum: 255), isRequired: true),
            ActionParameter(
                "access",
                "Who sees the role with its members, changes them (`update`) and deletes it; null: administrators alone.",
                accessList
            ),
            ActionParameter("by_default", "Whether new users get the role; takes the master key.", .nullable(.boolean)),
            ActionParameter(
                "is_admin",
                "Whether the role makes administrators; takes the master key.",
                .nullable(.boolean)
            ),
            ActionParameter(
                "force",
                "Whether the name may be that of a role which was deleted within 30 days.",
                .nullable(.boolean)
            ),
        ],
        result: .named(.role),
        errors: [.permissionDenied, .duplicated, .userDisabled],
        cost: .write,
        changesData: true
    )

    static let roleDelete = ActionDescription(
        .roleDelete,
        "Deletes a role; its users and the roles in it stay.",
        requirement: .userOrMaster,
        parameters: [ActionParameter("name", "The name of the role.", .string(maximum: 255), isRequired: true)],
        result: .named(.status),
        errors: [.permissionDenied, .resourceNotFound, .userDisabled],
        cost: .write,
        changesData: true
    )

    static let roleAdd = ActionDescription(
        .roleAdd,
        "Puts users and roles into a role, whose users then count as users of it.",
        requirement: .userOrMaster,
        parameters: [role, memberUsers, memberRoles],
        result: .object([JSONMember("added", .integer(minimum: 0), isRequired: true)]),
        errors: [.permissionDenied, .resourceNotFound, .duplicated, .userDisabled],
        cost: .write,
        changesData: true
    )

    static let roleRemove = ActionDescription(
        .roleRemove,
        "Takes users and roles out of a role.",
        requirement: .userOrMaster,
        parameters: [role, memberUsers, memberRoles],
        result: .object([JSONMember("removed", .integer(minimum: 0), isRequired: true)]),
        errors: [.permissionDenied, .resourceNotFound, .userDisabled],
        cost: .write,
        changesData: true
    )

    static let roleMembers = ActionDescription(
        .roleMembers,
        "Returns the roles and users that a role contains itself, in parts.",
        requirement: .userOrMaster,
        parameters: [role, pageLimit, pageAfter],
        result: .object([
            JSONMember(
                "members",
                .array(of: .object([JSONMember("role", .string()), JSONMember("user_id", .string())])),
                isRequired: true
            ),
            JSONMember("cursor", .string()),
        ]),
        errors: [.permissionDenied, .resourceNotFound, .userDisabled],
        cost: .read,
        changesData: false,
        narrowing: ResultNarrowing(parameters: ["limit"], advice: "send a lower limit.")
    )

    static let roleList = ActionDescription(
        .roleList,
        "Returns the roles that the caller sees, in the order of their names and in parts.",
        requirement: .userOrMaster,
        parameters: [pageLimit, pageAfter],
        result: .object([
            JSONMember("roles", .array(of: .named(.role)), isRequired: true), JSONMember("cursor", .string()),
        ]),
        errors: [.permissionDenied, .userDisabled],
        cost: .read,
        changesData: false,
        narrowing: ResultNarrowing(parameters: ["limit"], advice: "send a lower limit.")
    )

    static let groupAdd = ActionDescription(
        .groupAdd,
        "Gives a user groups, which access lists name, and returns all of the user's.",
        requirement: .userOrMaster,
        parameters: [groupNames, groupUser],
        result: groupList,
        errors: [.permissionDenied, .resourceNotFound, .userDisabled],
        cost: .write,
        changesData: true
    )

    static let groupRemove = ActionDescription(
        .groupRemove,
        "Takes groups from a user, and returns those that are left.",
        requirement: .userOrMaster,
        parameters: [groupNames, groupUser],
        result: groupList,
        errors: [.permissionDenied, .resourceNotFound, .userDisabled],
        cost: .write,
        changesData: true
    )

    static let groupsOfUser = ActionDescription(
        .groupList,
        "Returns the groups of a user; those of others only to an administrator.",
        requirement: .userOrMaster,
        parameters: [groupUser],
        result: groupList,
        errors: [.permissionDenied, .resourceNotFound, .userDisabled],
        cost: .read,
        changesData: false
    )

    /// The shape of a role.
    static let roleShape = JSONShape.object([
        JSONMember("name", .string(), isRequired: true),
        JSONMember("access", accessList, isRequired: true),
        JSONMember("owner", .string()),
        JSONMember("by_default", .boolean, isRequired: true),
        JSONMember("is_admin", .boolean, isRequired: true),
        JSONMember("created_at", .dateTime),
        JSONMember("updated_at", .dateTime),
        JSONMember("revision", .integer(), isRequired: true),
    ])

    private static let groupList = JSONShape.object([
        JSONMember("groups", .array(of: .string()), isRequired: true)
    ])
    private static let role = ActionParameter("role", "The name of the role.", .string(maximum: 255), isRequired: true)
    private static let memberUsers = ActionParameter(
        "users",
        "User ids.",
        .nullable(.array(of: .string(maximum: 255)))
    )
    private static let memberRoles = ActionParameter(
        "roles",
        "The names of at most \(RoleChangeRequest.maximumRoles) roles.",
        .nullable(.array(of: .string(maximum: 255)))
    )
    private static let groupNames = ActionParameter(
        "groups",
        "The names of groups, 1 to 64 bytes each.",
        .array(of: .string(maximum: 64)),
        isRequired: true
    )
    private static let groupUser = ActionParameter(
        "user_id",
        "Whose groups; without it, the caller's.",
        .nullable(.string(maximum: 255))
    )
    private static let pageLimit = ActionParameter(
        "limit",
        "How many entries at most, \(PageRequest.defaultLimit) unless it is said.",
        .nullable(.integer(minimum: 1, maximum: PageRequest.maximumLimit))
    )
    private static let pageAfter = ActionParameter(
        "after",
        "The cursor that the part before came with.",
        .nullable(.string())
    )
}
