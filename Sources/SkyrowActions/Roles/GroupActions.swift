package import SkyrowModel
import SkyrowStore

extension ActionService {
    /// `group:add`: adds groups to a user, and returns all of the user's, sorted.
    package func addGroups(
        _ request: GroupRequest,
        by caller: Caller,
        origin: RequestOrigin = RequestOrigin()
    ) async throws(SkyrowError) -> [GroupName] {
        try await observed(.groupAdd) { () async throws(SkyrowError) in
            let user = try changedUser(request, by: caller)
            let event = AuditEvent(.groupAdd, by: AuditEvent.Actor(caller), from: origin)
            let groups = try await store.groups.add(request.groups, to: user, recording: event)
            forgetSessions(of: [user])
            return groups
        }
    }

    /// `group:remove`: removes groups from a user, and returns the remaining ones, sorted.
    package func removeGroups(
        _ request: GroupRequest,
        by caller: Caller,
        origin: RequestOrigin = RequestOrigin()
    ) async throws(SkyrowError) -> [GroupName] {
        try await observed(.groupRemove) { () async throws(SkyrowError) in
            let user = try changedUser(request, by: caller)
            let event = AuditEvent(.groupRemove, by: AuditEvent.Actor(caller), from: origin)
            let groups = try await store.groups.remove(request.groups, from: user, recording: event)
            forgetSessions(of: [user])
            return groups
        }
    }

    /// `group:list`: the groups of a user, sorted; those of others only for administrators.
    package func groups(of named: UserID?, by caller: Caller) async throws(SkyrowError) -> [GroupName] {
        try await observed(.groupList) { () async throws(SkyrowError) in
            let user = try user(named, by: caller)
            guard caller.isMaster || caller.isAdministrator || caller.userID == user else {
                throw SkyrowError(.permissionDenied, "Only an administrator may ask about the groups of others.")
            }
            return try await store.groups.groups(of: user)
        }
    }

    private func changedUser(_ request: GroupRequest, by caller: Caller) throws(SkyrowError) -> UserID {
        let user = try user(request.userID, by: caller)
        try configuration.groupRule.require(request.groups, of: user, by: caller)
        return user
    }

    /// Returns the user in the request, otherwise the acting one.
    private func user(_ named: UserID?, by caller: Caller) throws(SkyrowError) -> UserID {
        try caller.requireUserOrMaster()
        guard let user = named ?? caller.userID else { throw .invalidArgument("\"user_id\" is missing.", "user_id") }
        guard !user.rawValue.hasNUL else { throw .invalidArgument("A user id holds no NUL.", "user_id") }
        return user
    }
}
