/// A role, which is given to users and named in access lists.
///
/// A role contains users and other roles, to any depth: the users of those count as its own. Who sees and changes it is
/// said by an access list of its own; without one that is for administrators alone.
public struct Role: Hashable, Sendable {
    public let name: RoleName
    /// Who sees the role with its members, changes them (`update`) and deletes it; nil: administrators alone.
    public var access: AccessList?
    /// Who made it, and passes its list where it has one.
    public var owner: UserID?
    /// Whether new accounts are given it.
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

/// What a role contains.
public enum RoleMember: Hashable, Sendable {
    /// A role whose users are users of the other one.
    case role(RoleName)
    case user(UserID)
}

/// A part of a list, and where the next one begins.
public struct MemberPage<Element: Sendable>: Sendable {
    public var elements: [Element]
    /// What to send as `after` for the next part; nil at the end.
    public var cursor: String?

    public init(_ elements: [Element], cursor: String? = nil) {
        self.elements = elements
        self.cursor = cursor
    }
}

extension MemberPage: Equatable where Element: Equatable {}

/// What is done with a role, as far as its access list is concerned.
package enum RoleAction: Hashable, Sendable, CaseIterable {
    case read
    case changeMembers
    case changeAccess
    case delete
}

/// A role with what its list alone does not say.
package struct RoleStanding: Hashable, Sendable {
    package var role: Role
    /// Whether its users are administrators, by the role itself or by one that contains it.
    package var makesAdministrators: Bool

    package init(_ role: Role, makesAdministrators: Bool) {
        self.role = role
        self.makesAdministrators = makesAdministrators
    }

    /// Whether a caller may do something with the role: the one rule of roles.
    ///
    /// The list says what others than administrators may, and its owner passes it. What decides who is an administrator is
    /// for administrators, whatever the list; which roles do, for the master key.
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

    /// Throws `110 ResourceNotFound` for a role that the caller does not see, and `102 PermissionDenied` for what it may
    /// not do with one that it sees.
    package func require(_ action: RoleAction, by caller: Caller) throws(SkyrowError) {
        guard allows(.read, by: caller) else { throw .roleNotFound }
        guard allows(action, by: caller) else {
            throw SkyrowError(.permissionDenied, "The access list of the role does not allow this.")
        }
    }
}

extension SkyrowError {
    package static let roleNotFound = SkyrowError(.resourceNotFound, "There is no such role.")
}
