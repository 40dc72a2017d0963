import SkyrowModel
import SkyrowProtocol
import SkyrowStore
import Synchronization

extension ActionTable {
    static let roles: [any AnyEntry] = [
        Entry(Actions.roleAssign, ActionService.assignRoles),
        Entry(Actions.roleRevoke, ActionService.revokeRoles),
        Entry(Actions.roleGet, ActionService.rolesByUser),
        Entry(Actions.roleDefault, ActionService.setDefaultRoles),
        Entry(Actions.roleAdmin, ActionService.setAdministratorRoles),
        Entry(Actions.roleSave, ActionService.saveRole),
        Entry(Actions.roleDelete, ActionService.deleteRole),
        Entry(Actions.roleAdd, ActionService.addToRole),
        Entry(Actions.roleRemove, ActionService.removeFromRole),
        Entry(Actions.roleMembers, ActionService.members),
        Entry(Actions.roleList, ActionService.roles),
        Entry(Actions.groupAdd, ActionService.addGroups),
        Entry(Actions.groupRemove, ActionService.removeGroups),
        Entry(Actions.groupList, ActionService.groups(of:_:)),
    ]
}

extension ActionService {
    /// Throws `102 PermissionDenied` to other callers than these: administrators create roles, administrators and the owner of a
    /// role change its list, and the master key sets which roles new users get and which make administrators.
    fileprivate func saveRole(_ save: RoleSave, _ call: Call) async throws(SkyrowError) -> Role {
        try call.caller.requireUserOrMaster()
        if let list = save.access ?? nil { try RoleList.check(list) }
        let role = try await store.withTransaction { transaction throws(SkyrowError) in
            let known = try await store.roles.standings(of: [save.name], changing: true, in: transaction)
            try RoleSaving.judge(save, known[save.name], by: call.caller)
            return try await store.roles.save(
                save,
                owner: call.caller.userID,
                in: transaction,
                recording: call.audit(.roleSave)
            )
        }
        if save.isAdministrators != nil { forget(.all) }
        return role
    }

    /// A new role with the name is refused for 30 days.
    fileprivate func deleteRole(_ name: RoleName, _ call: Call) async throws(SkyrowError) {
        try call.caller.requireUserOrMaster()
        try await store.withTransaction { transaction throws(SkyrowError) in
            let known = try await store.roles.standings(of: [name], changing: true, in: transaction)
            guard let standing = known[name] else { throw .roleNotFound }
            try standing.require(.delete, by: call.caller)
            _ = try await store.roles.delete(name, in: transaction, recording: call.audit(.roleDelete))
        }
        forget(.all)
    }

    /// Throws `109 Duplicated` with the path in `info.cycle` if a role would contain itself.
    fileprivate func addToRole(_ change: RoleChange, _ call: Call) async throws(SkyrowError) -> Int {
        // A role in another one gives its members the other's rights, so the caller needs a right to both.
        try await changeMembers(change, judging: change.roles, by: call.caller) { transaction throws(SkyrowError) in
            do throws(SkyrowError) {
                return try await store.roles.add(change, in: transaction, recording: call.audit(.roleAdd))
            } catch {
                throw error.hidingRoles(but: [change.role] + change.roles, from: call.caller)
            }
        }
    }

    fileprivate func removeFromRole(_ change: RoleChange, _ call: Call) async throws(SkyrowError) -> Int {
        try await changeMembers(change, judging: [], by: call.caller) { transaction throws(SkyrowError) in
            try await store.roles.remove(change, in: transaction, recording: call.audit(.roleRemove))
        }
    }

    /// - Parameter members: roles that the caller must be able to change, too.
    private func changeMembers(
        _ change: RoleChange,
        judging members: [RoleName],
        by caller: Caller,
        _ perform: (StoreTransaction) async throws(SkyrowError) -> Int
    ) async throws(SkyrowError) -> Int {
        try caller.requireUserOrMaster()
        let count = try await store.withTransaction { transaction throws(SkyrowError) in
            let standings = try await store.roles.standings(of: [change.role] + members, in: transaction)
            guard let role = standings[change.role] else { throw .roleNotFound.at("role") }
            do throws(SkyrowError) {
                try role.require(.changeMembers, by: caller)
            } catch {
                throw error.at("role")
            }
            for (place, name) in members.enumerated() {
                do throws(SkyrowError) {
                    guard let member = standings[name] else { throw .roleNotFound }
                    try member.require(.changeMembers, by: caller)
                } catch {
                    throw error.at(place).at("roles")
                }
            }
            return try await perform(transaction)
        }
        if change.roles.isEmpty { forgetSessions(of: change.users) } else { forget(.all) }
        return count
    }

    fileprivate func members(
        _ query: RoleMembersQuery,
        _ call: Call
    ) async throws(SkyrowError) -> MemberPage<RoleMember> {
        try call.caller.requireUserOrMaster()
        let after = query.after.map { RoleMember(position: $0) }
        if case .some(nil) = after {
            throw .invalidArgument("\"after\" must be the cursor of an earlier page.", "after")
        }
        return try await store.withTransaction { transaction throws(SkyrowError) in
            let known = try await store.roles.standings(of: [query.role], in: transaction)
            guard let standing = known[query.role] else { throw .roleNotFound }
            try standing.require(.read, by: call.caller)
            return try await store.roles.members(
                of: query.role,
                after: after ?? nil,
                limit: query.limit,
                in: transaction
            )
        }
    }

    fileprivate func roles(_ page: PageRequest, _ call: Call) async throws(SkyrowError) -> MemberPage<Role> {
        let caller = call.caller
        try caller.requireUserOrMaster()
        let seesAll = caller.isMaster || caller.isAdministrator
        // For a caller who sees few of many roles, all access lists are read.
        if !seesAll { try await call.turn?.move(to: .scan) }
        var list = try await store.roles.list(readableBy: seesAll ? nil : Audience(of: caller), page)
        for place in list.elements.indices where !seesAll && list.elements[place].owner != caller.userID {
            list.elements[place].access = list.elements[place].access?.shownToAll
        }
        return list
    }
}

// MARK: The roles of users

extension ActionService {
    fileprivate func assignRoles(_ assignment: RoleAssignment, _ call: Call) async throws(SkyrowError) {
        try call.caller.requireAdministrator()
        try await store.roles.assign(assignment.roles, to: assignment.users, recording: call.audit(.roleAdd))
        forgetSessions(of: assignment.users)
    }

    fileprivate func revokeRoles(_ assignment: RoleAssignment, _ call: Call) async throws(SkyrowError) {
        try call.caller.requireAdministrator()
        try await store.roles.revoke(assignment.roles, from: assignment.users, recording: call.audit(.roleRemove))
        forgetSessions(of: assignment.users)
    }

    /// An unknown user has no roles. Throws `102 PermissionDenied` to a caller who is no administrator and asks about others.
    fileprivate func rolesByUser(_ users: [UserID], _ call: Call) async throws(SkyrowError) -> [UserID: [RoleName]] {
        let caller = call.caller
        try caller.requireUserOrMaster()
        guard caller.isMaster || caller.isAdministrator || users.allSatisfy({ $0 == caller.userID }) else {
            throw SkyrowError(.permissionDenied, "Only administrators can see the roles of others.")
        }
        return try await store.roles.roles(of: users)
    }

    fileprivate func setDefaultRoles(_ roles: [RoleName], _ call: Call) async throws(SkyrowError) -> [RoleName] {
        try await store.roles.setDefault(roles, recording: call.audit(.roleSave))
        return roles
    }

    fileprivate func setAdministratorRoles(_ roles: [RoleName], _ call: Call) async throws(SkyrowError) -> [RoleName] {
        try await store.roles.setAdmin(roles, recording: call.audit(.roleSave))
        forget(.all)
        return roles
    }

    func forgetSessions(of users: [UserID]) {
        sessions.withLock { $0.removeSessions(of: users) }
        observe(.sessionsForgotten(.users(users.count)))
    }
}

/// The permissions of `role:save`.
enum RoleSaving {
    /// Throws `102 PermissionDenied` for a change that the caller may not make.
    ///
    /// - Parameter standing: the current role; nil for one that does not exist.
    static func judge(_ request: RoleSave, _ standing: RoleStanding?, by caller: Caller) throws(SkyrowError) {
        if caller.isMaster { return }
        let makesDefault = request.isDefault ?? standing?.role.isDefault ?? false
        let makesAdministrators = request.isAdministrators ?? standing?.role.isAdministrators ?? false
        guard let standing, standing.allows(.read, by: caller) else {
            // A caller who may not create roles gets the same error for an existing and a missing one.
            guard caller.isAdministrator else {
                throw SkyrowError(.permissionDenied, "Only administrators can create roles.")
            }
            guard !makesDefault, !makesAdministrators else { throw ofMaster }
            return
        }
        guard makesDefault == standing.role.isDefault, makesAdministrators == standing.role.isAdministrators else {
            throw ofMaster
        }
        try standing.require(.changeAccess, by: caller)
    }

    private static let ofMaster = SkyrowError(
        .permissionDenied,
        "Only the master key can set which roles new users get and which make administrators."
    )
}

/// The subjects that the access list of a role may name.
enum RoleList {
    /// Throws `108 InvalidArgument` for an entry without a meaning for roles, and for too many entries.
    static func check(_ list: AccessList) throws(SkyrowError) {
        guard list.entries.count <= AccessList.defaultMaximum else {
            throw .invalidArgument("An access list can have at most \(AccessList.defaultMaximum) entries.", "access")
        }
        for entry in list.entries {
            switch entry.subject {
            case .everyone, .users, .registered, .verified, .owner, .user, .role, .group, .apiKey: continue
            case .relation, .field:
                throw .invalidArgument("The access list of a role cannot name relations.", "access").at("access")
            }
        }
    }
}

extension SkyrowError {
    /// Returns the error without the path of a cycle that contains roles which the caller did not name.
    fileprivate func hidingRoles(but named: [RoleName], from caller: Caller) -> SkyrowError {
        guard !caller.isMaster, !caller.isAdministrator, case .list(let way) = info["cycle"] else { return self }
        let names = Set(named.map { ErrorInfo.string($0.rawValue) })
        if way.allSatisfy({ names.contains($0) }) { return self }
        var error = self
        error.info["cycle"] = nil
        return error
    }
}

extension Caller {
    /// Requires a user or the master key. The endpoint has checked this already; it is checked again before acting for a user.
    func requireUserOrMaster() throws(SkyrowError) {
        guard isMaster || userID != nil else { throw SkyrowError(.notAuthenticated, "Log in first.") }
    }
}

extension Caller {
    /// Requires an administrator or the master key. The endpoint has checked this already; privileged operations are checked
    /// again here.
    func requireAdministrator() throws(SkyrowError) {
        guard isMaster || isAdministrator else { throw CredentialCheck.administratorNeeded }
    }
}
