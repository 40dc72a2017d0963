import SkyrowModel
import SkyrowProtocol
import SkyrowStore

extension ActionService {
    func addGroups(_ change: GroupChange, _ call: Call) async throws(SkyrowError) -> [GroupName] {
        let user = try changedUser(change, by: call.caller)
        let groups = try await store.groups.add(change.groups, to: user, recording: call.audit(.groupAdd))
        forgetSessions(of: [user])
        return groups
    }

    func removeGroups(_ change: GroupChange, _ call: Call) async throws(SkyrowError) -> [GroupName] {
        let user = try changedUser(change, by: call.caller)
        let groups = try await store.groups.remove(change.groups, from: user, recording: call.audit(.groupRemove))
        forgetSessions(of: [user])
        return groups
    }

    func groups(of named: UserID?, _ call: Call) async throws(SkyrowError) -> [GroupName] {
        let caller = call.caller
        let user = try user(named, by: caller)
        guard caller.isMaster || caller.isAdministrator || caller.userID == user else {
            throw SkyrowError(.permissionDenied, "Only administrators can see the groups of others.")
        }
        return try await store.groups.groups(of: user)
    }

    private func changedUser(_ change: GroupChange, by caller: Caller) throws(SkyrowError) -> UserID {
        let user = try user(change.user, by: caller)
        try configuration.groupRule.require(change.groups, of: user, by: caller)
        return user
    }

    /// Returns the user that a request names, else the acting user.
    private func user(_ named: UserID?, by caller: Caller) throws(SkyrowError) -> UserID {
        try caller.requireUserOrMaster()
        guard let user = named ?? caller.userID else { throw .invalidArgument("\"user_id\" is missing.", "user_id") }
        return user
    }
}
