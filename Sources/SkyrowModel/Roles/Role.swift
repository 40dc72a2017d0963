/// A role, which is assigned to users and named in access lists.
///
/// A role contains users and other roles, to any depth; the users of contained roles count as its own. The access list of a
/// role says who sees and changes it; without one only administrators do.
public struct Role: Hashable, Sendable {
    public let name: RoleName
    /// Who sees the role with its members, changes them (`update`) and deletes it; nil for administrators only.
    public var access: AccessList?
    /// The creator, who passes the role's access list if it has one.
    public var owner: UserID?
    /// Whether new accounts get the role.
    public var isDefault: Bool
    /// Whether its users are administrators.
    public var isAdministrators: Bool
    public var createdAt: Timestamp?
    public var updatedAt: Timestamp?
    public var revision: Int64

    public init(
        name: RoleName,
        access: AccessList? = nil,
        owner: UserID? = nil,
        isDefault: Bool = false,
        isAdministrators: Bool = false,
        createdAt: Timestamp? = nil,
        updatedAt: Timestamp? = nil,
        revision: Int64 = 0
    ) {
        self.name = name
        self.access = access
        self.owner = owner
        self.isDefault = isDefault
        self.isAdministrators = isAdministrators
        self.createdAt = createdAt
        self.updatedAt = updatedAt
        self.revision = revision
    }
}

/// A member of a role.
public enum RoleMember: Hashable, Sendable {
    /// A role whose users are also users of the containing role.
    case role(RoleName)
    case user(UserID)
}

/// A page of a list, and the cursor of the next page.
public struct MemberPage<Element: Sendable>: Sendable {
    public var elements: [Element]
    /// The value of `after` for the next page; nil at the end.
    public var cursor: String?

    public init(_ elements: [Element], cursor: String? = nil) {
        self.elements = elements
        self.cursor = cursor
    }
}

extension MemberPage: Equatable where Element: Equatable {}

/// An action on a role that its access list controls.
package enum RoleAction: Hashable, Sendable, CaseIterable {
    case read
    case changeMembers
    case changeAccess
    case delete
}

/// A role with what decides about actions on it besides its access list.
package struct RoleStanding: Hashable, Sendable {
    package var role: Role
    /// Whether its users are administrators, by the role itself or by one that contains it.
    package var makesAdministrators: Bool

    package init(_ role: Role, makesAdministrators: Bool) {
        self.role = role
        self.makesAdministrators = makesAdministrators
    }

    /// Whether a caller may perform an action on the role: the one rule of roles.
    ///
    /// The access list says what callers other than administrators may do, and its owner passes it. Only administrators change
    /// what determines who is an administrator, regardless of the list; only the master key decides which roles do.
    package func allows(_ action: RoleAction, by caller: Caller) -> Bool {
        if caller.isMaster { return true }
        if caller.isAdministrator { return action != .delete || !(role.isAdministrators || role.isDefault) }
        guard let user = caller.userID, let access = role.access else { return false }
        let isOwner = role.owner == user
        switch action {
        case .read:
            return isOwner || access.admits(Audience(of: caller), .read)
        case .changeMembers:
            return !makesAdministrators && (isOwner || access.admits(Audience(of: caller), .update))
        case .changeAccess:
            return isOwner
        case .delete:
            guard !makesAdministrators, !role.isDefault else { return false }
            return isOwner || access.admits(Audience(of: caller), .delete)
        }
    }

    /// Throws `110 ResourceNotFound` for a role that the caller does not see, and `102 PermissionDenied` for a forbidden action
    /// on a visible role.
    package func require(_ action: RoleAction, by caller: Caller) throws(SkyrowError) {
        guard allows(.read, by: caller) else { throw .roleNotFound }
        guard allows(action, by: caller) else {
            throw SkyrowError(.permissionDenied, "The access list of the role does not allow this.")
        }
    }
}

extension SkyrowError {
    package static let roleNotFound = SkyrowError(.resourceNotFound, "The role does not exist.")
}
