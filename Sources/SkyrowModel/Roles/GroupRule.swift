/// Who changes the groups of users, besides administrators.
package struct GroupRule: Hashable, Sendable {
    /// The groups that users join and leave by themselves.
    package var own: Set<GroupName>

    package init(own: Set<GroupName> = []) {
        self.own = own
    }

    /// Parses `administrators` or `self:golf,chess`; nil for anything else.
    package init?(_ text: String) {
        if text == "administrators" {
            self.init()
            return
        }
        guard text.hasPrefix("self:") else { return nil }
        let names = text.dropFirst(5).split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        guard names.allSatisfy({ (1...64).contains($0.utf8.count) && !$0.hasNUL }) else { return nil }
        self.init(own: Set(names.map { GroupName($0) }))
    }

    /// Throws `101 NotAuthenticated` without a user, and `102 PermissionDenied` for groups and users that the caller may not
    /// change.
    package func require(_ groups: [GroupName], of user: UserID, by caller: Caller) throws(SkyrowError) {
        if caller.isMaster || caller.isAdministrator { return }
        guard let own = caller.userID else { throw SkyrowError(.notAuthenticated, "Log in first.") }
        guard user == own else {
            throw SkyrowError(.permissionDenied, "Only an administrator may change the groups of others.")
        }
        for (place, group) in groups.enumerated() where !self.own.contains(group) {
            throw SkyrowError(.permissionDenied, "Only an administrator may change this group.")
                .at(place).at("groups")
        }
    }
}
