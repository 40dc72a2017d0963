package import SkyrowModel

extension Codec<Role> {
    package static let role = object(roleForm, named: .role)

    static let roleForm = Form(
        Role.init(name:access:owner:isDefault:isAdministrators:createdAt:updatedAt:revision:),
        Member("name", \.name, .roleName),
        Member("access", \.access, .accessList, "Who may see and change the role; null for administrators only."),
        Member(ifAny: "owner", \.owner, .userID, "The user who created the role."),
        Member("by_default", \.isDefault, .boolean, "Whether new users get the role."),
        Member("is_admin", \.isAdministrators, .boolean, "Whether its users are administrators."),
        Member(ifAny: "created_at", \.createdAt, .instant),
        Member(ifAny: "updated_at", \.updatedAt, .instant),
        Member("revision", \.revision, .bigint, "Grows with every change of the role.")
    )
}

extension Codec<RoleMember> {
    /// `{"role": "editor"}` or `{"user_id": "ann"}`.
    package static let roleMember = object(
        Form(
            { role, user in role.map { .role($0) } ?? .user(user ?? UserID("")) },
            Member(ifAny: "role", \.role, .roleName, "The name of a role in the role."),
            Member(ifAny: "user_id", \.user, .userID, "The id of a user in the role.")
        )
    )
}

extension RoleMember {
    fileprivate var role: RoleName? { if case .role(let name) = self { name } else { nil } }

    fileprivate var user: UserID? { if case .user(let id) = self { id } else { nil } }
}
