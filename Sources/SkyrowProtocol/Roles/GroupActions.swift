public import SkyrowModel

/// The groups that `group:add` gives to a user and `group:remove` takes away.
public struct GroupChange: Sendable {
    public var groups: [GroupName]
    /// nil: the caller.
    public var user: UserID?

    public init(groups: [GroupName], user: UserID? = nil) {
        self.groups = groups
        self.user = user
    }

    fileprivate static let form = Form(
        GroupChange.init(groups:user:),
        Member("groups", \.groups, .list(of: .groupName, atMost: 200), "The names of groups."),
        Member(\.user, members: userForm)
    )

    fileprivate static let userForm = Form(optional: "user_id", .userID, "The id of the user; the caller by default.")
}

extension Actions {
    /// Gives a user groups, and returns all of the user's, sorted.
    public static let groupAdd = Action<GroupChange, [GroupName]>(
        "group:add",
        "Adds a user to groups, which access lists name, and returns all groups of the user.",
        requires: .userOrMaster,
        cost: .write,
        effect: .repeatable,
        errors: [.resourceNotFound],
        GroupChange.form,
        result: groups
    )

    /// Takes groups from a user, and returns those that are left, sorted.
    public static let groupRemove = Action<GroupChange, [GroupName]>(
        "group:remove",
        "Removes a user from groups, and returns the remaining ones.",
        requires: .userOrMaster,
        cost: .write,
        effect: .repeatable,
        errors: [.resourceNotFound],
        GroupChange.form,
        result: groups
    )

    /// The groups of a user, sorted; nil stands for the caller.
    public static let groupList = Action<UserID?, [GroupName]>(
        "group:list",
        "Returns the groups of a user; only administrators see those of others.",
        requires: .userOrMaster,
        scope: .account(.reading),
        cost: .read,
        errors: [.resourceNotFound],
        GroupChange.userForm,
        result: groups
    )

    private static let groups = Codec<[GroupName]>.object(
        Form("groups", .list(of: .groupName), "All groups of the user, sorted.")
    )
}
