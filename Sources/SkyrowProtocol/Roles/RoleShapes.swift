package import SkyrowModel

extension Codec<Role> {
    package static let role = object(roleForm, named: .role)

    static let roleForm = Form(
        Role.init(name:access:owner:isDefault:isAdministrators:createdAt:updatedAt:revision:),
        Member("name", \.name, .roleName),
        Member("access", \.access, .accessList),
        Member(ifAny: "owner", \.owner, .userID),
        Member("by_default", \.isDefault, .boolean),
        Member("is_admin", \.isAdministrators, .boolean),
        Member(ifAny: "created_at", \.createdAt, .instant),
        Member(ifAny: "updated_at", \.updatedAt, .instant),
        Member("revision", \.revision, .bigint)
    )
}

extension Codec<RoleMember> {
    /// `{"role": "editor"}` or `{"user_id": "ann"}`.
    package static let roleMember = object(
        Form(
            { role, user in role.map { .role($0) } ?? .user(user ?? UserID("")) },
            Member(ifAny: "role", \.role, .roleName),
            Member(ifAny: "user_id", \.user, .userID)
        )
    )
}

extension RoleMember {
    fileprivate var role: RoleName? { if case .role(let name) = self { name } else { nil } }

    fileprivate var user: UserID? { if case .user(let id) = self { id } else { nil } }
}
