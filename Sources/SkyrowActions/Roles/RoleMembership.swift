package import SkyrowModel
import SkyrowStore

extension ActionService {
    /// `role:save`: creates a role or changes its access list, and returns it.
    ///
    /// Throws `102 PermissionDenied` to other callers than these: administrators create roles, administrators and the owner of a
    /// role change its list, and the master key sets which roles new users get and which make administrators.
    package func saveRole(
        _ request: RoleSaveRequest,
        by caller: Caller,
        origin: RequestOrigin = RequestOrigin()
    ) async throws(SkyrowError) -> Role {
        try await observed(.roleSave) { () async throws(SkyrowError) in
            try caller.requireUserOrMaster()
            try checkRoleNames([request.name], argument: "name")
            if let list = request.access ?? nil { try RoleList.check(list) }
            let role = try await store.withTransaction { transaction throws(SkyrowError) in
                let known = try await store.roles.standings(of: [request.name], changing: true, in: transaction)
                let standing = known[request.name]
                try RoleSaving.judge(request, standing, by: caller)
                let event = AuditEvent(.roleSave, by: AuditEvent.Actor(caller), from: origin)
                return try await store.roles.save(
                    request,
                    owner: caller.userID,
                    in: transaction,
                    recording: event
                )
            }
            if request.isAdministrators != nil { forget(.all) }
            return role
        }
    }

    /// `role:delete`: deletes a role; a new one with its name is refused for 30 days.
    package func deleteRole(
        _ name: RoleName,
        by caller: Caller,
        origin: RequestOrigin = RequestOrigin()
    ) async throws(SkyrowError) {
        try await observed(.roleDelete) { () async throws(SkyrowError) in
            try caller.requireUserOrMaster()
            try checkRoleNames([name], argument: "name")
            try await store.withTransaction { transaction throws(SkyrowError) in
                let known = try await store.roles.standings(of: [name], changing: true, in: transaction)
                guard let standing = known[name] else { throw .roleNotFound }
                try standing.require(.delete, by: caller)
                let event = AuditEvent(.roleDelete, by: AuditEvent.Actor(caller), from: origin)
                _ = try await store.roles.delete(name, in: transaction, recording: event)
            }
            forget(.all)
        }
    }

    /// `role:add`: adds users and roles to a role; returns how many were added.
    ///
    /// Throws `109 Duplicated` with the path in `info.cycle` if a role would contain itself.
    package func addToRole(
        _ request: RoleChangeRequest,
        by caller: Caller,
        origin: RequestOrigin = RequestOrigin()
    ) async throws(SkyrowError) -> Int {
        try await observed(.roleAdd) { () async throws(SkyrowError) in
            // A role in another one gives its members the other's rights, so the caller needs a right to both.
            try await changeMembers(request, judging: request.roles, by: caller) { transaction throws(SkyrowError) in
                do throws(SkyrowError) {
                    let event = AuditEvent(.roleAdd, by: AuditEvent.Actor(caller), from: origin)
                    return try await store.roles.add(request, in: transaction, recording: event)
                } catch {
                    throw error.hidingRoles(but: [request.role] + request.roles, from: caller)
                }
            }
        }
    }

    /// `role:remove`: removes users and roles from a role; returns how many were in it.
    package func removeFromRole(
        _ request: RoleChangeRequest,
        by caller: Caller,
        origin: RequestOrigin = RequestOrigin()
    ) async throws(SkyrowError) -> Int {
        try await observed(.roleRemove) { () async throws(SkyrowError) in
            try await changeMembers(request, judging: [], by: caller) { transaction throws(SkyrowError) in
                let event = AuditEvent(.roleRemove, by: AuditEvent.Actor(caller), from: origin)
                return try await store.roles.remove(request, in: transaction, recording: event)
            }
        }
    }

    /// - Parameter members: roles that the caller must be able to change, too.
    private func changeMembers(
        _ request: RoleChangeRequest,
        judging members: [RoleName],
        by caller: Caller,
        _ change: (StoreTransaction) async throws(SkyrowError) -> Int
    ) async throws(SkyrowError) -> Int {
        try caller.requireUserOrMaster()
        try checkRoleNames([request.role], argument: "role")
        try checkRoleNames(request.roles)
        _ = try known(request.users)
        let count = try await store.withTransaction { transaction throws(SkyrowError) in
            let standings = try await store.roles.standings(of: [request.role] + members, in: transaction)
            guard let role = standings[request.role] else { throw .roleNotFound.at("role") }
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
            return try await change(transaction)
        }
        if request.roles.isEmpty { forgetSessions(of: request.users) } else { forget(.all) }
        return count
    }

    /// `role:members`: a page of the members of a role, roles before users.
    package func members(
        of role: RoleName,
        _ page: PageRequest,
        by caller: Caller
    ) async throws(SkyrowError) -> MemberPage<RoleMember> {
        try await observed(.roleMembers) { () async throws(SkyrowError) in
            try caller.requireUserOrMaster()
            try checkRoleNames([role], argument: "role")
            let after = page.after.map { RoleMember(position: $0) }
            if case .some(nil) = after {
                throw .invalidArgument("\"after\" is a cursor that an earlier part came with.", "after")
            }
            return try await store.withTransaction { transaction throws(SkyrowError) in
                let known = try await store.roles.standings(of: [role], in: transaction)
                guard let standing = known[role] else { throw .roleNotFound }
                try standing.require(.read, by: caller)
                return try await store.roles.members(
                    of: role,
                    after: after ?? nil,
                    limit: page.limit,
                    in: transaction
                )
            }
        }
    }

    /// `role:list`: a page of the roles that are visible to the caller.
    ///
    /// - Parameter turn: the request's admission to the read queue; nil for none.
    package func roles(
        _ page: PageRequest,
        by caller: Caller,
        turn: ReadTurn? = nil
    ) async throws(SkyrowError) -> MemberPage<Role> {
        try await observed(.roleList) { () async throws(SkyrowError) in
            try caller.requireUserOrMaster()
            let seesAll = caller.isMaster || caller.isAdministrator
            // For a caller who sees few of many roles, all access lists are read.
            if !seesAll { try await turn?.move(to: .scan) }
            var list = try await store.roles.list(readableBy: seesAll ? nil : Audience(of: caller), page)
            for place in list.elements.indices where !seesAll && list.elements[place].owner != caller.userID {
                list.elements[place].access = list.elements[place].access?.shownToAll
            }
            return list
        }
    }
}

/// The permissions of `role:save`.
enum RoleSaving {
    /// Throws `102 PermissionDenied` for a change that the caller may not make.
    ///
    /// - Parameter standing: the current role; nil for one that does not exist.
    static func judge(_ request: RoleSaveRequest, _ standing: RoleStanding?, by caller: Caller) throws(SkyrowError) {
        if caller.isMaster { return }
        let makesDefault = request.isDefault ?? standing?.role.isDefault ?? false
        let makesAdministrators = request.isAdministrators ?? standing?.role.isAdministrators ?? false
        guard let standing, standing.allows(.read, by: caller) else {
            // A caller who may not create roles gets the same error for an existing and a missing one.
            guard caller.isAdministrator else {
                throw SkyrowError(.permissionDenied, "Roles are made by administrators.")
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
        "Which roles new users get and which make administrators takes the master key."
    )
}

/// The subjects that the access list of a role may name.
enum RoleList {
    /// Throws `108 InvalidArgument` for an entry without a meaning for roles, and for too many entries.
    static func check(_ list: AccessList) throws(SkyrowError) {
        guard list.entries.count <= AccessList.defaultMaximum else {
            throw .invalidArgument("A list has at most \(AccessList.defaultMaximum) entries.", "access")
        }
        for entry in list.entries {
            switch entry.subject {
            case .everyone, .users, .registered, .verified, .owner, .user, .role, .group, .apiKey: continue
            case .relation, .field:
                throw .invalidArgument("The access list of a role names no relation.", "access").at("access")
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
