package import SkyrowModel
import SkyrowStore
import Synchronization

extension ActionService {
    /// `role:assign`: ignores unknown users, and creates unknown roles.
    package func assignRoles(
        _ request: RoleMembersRequest,
        by caller: Caller,
        origin: RequestOrigin = RequestOrigin()
    ) async throws(SkyrowError) {
        try await observed(.roleAssign) { () async throws(SkyrowError) in
            try caller.requireAdministrator()
            try checkRoleNames(request.roles)
            let event = AuditEvent(.roleAdd, by: AuditEvent.Actor(caller), from: origin)
            try await store.roles.assign(request.roles, to: try known(request.users), recording: event)
            forgetSessions(of: request.users)
        }
    }

    /// `role:revoke`
    package func revokeRoles(
        _ request: RoleMembersRequest,
        by caller: Caller,
        origin: RequestOrigin = RequestOrigin()
    ) async throws(SkyrowError) {
        try await observed(.roleRevoke) { () async throws(SkyrowError) in
            try caller.requireAdministrator()
            try checkRoleNames(request.roles)
            let event = AuditEvent(.roleRemove, by: AuditEvent.Actor(caller), from: origin)
            try await store.roles.revoke(request.roles, from: try known(request.users), recording: event)
            forgetSessions(of: request.users)
        }
    }

    /// `role:get`: the roles of each of these users, sorted; empty for an unknown user.
    ///
    /// Throws `101 NotAuthenticated` without a user, and `102 PermissionDenied` when a user without an administrator's role asks
    /// about others.
    package func roles(of users: [UserID], by caller: Caller) async throws(SkyrowError) -> [UserID: [RoleName]] {
        try await observed(.roleGet) { () async throws(SkyrowError) in
            if !caller.isMaster {
                guard let user = caller.userID else { throw SkyrowError(.notAuthenticated, "Log in first.") }
                guard caller.isAdministrator || users.allSatisfy({ $0 == user }) else {
                    throw SkyrowError(.permissionDenied, "Only an administrator may ask about the roles of others.")
                }
            }
            return try await store.roles.roles(of: try known(users))
        }
    }

    /// `role:default`: replaces the roles that new users get, and returns them.
    package func setDefaultRoles(
        _ roles: [RoleName],
        by caller: Caller = Caller(kind: .master(actingAs: nil)),
        origin: RequestOrigin = RequestOrigin()
    ) async throws(SkyrowError) -> [RoleName] {
        try await observed(.roleDefault) { () async throws(SkyrowError) in
            try checkRoleNames(roles)
            let event = AuditEvent(.roleSave, by: AuditEvent.Actor(caller), from: origin)
            try await store.roles.setDefault(roles, recording: event)
            return roles
        }
    }

    /// `role:admin`: replaces the roles that make an administrator, and returns them.
    package func setAdminRoles(
        _ roles: [RoleName],
        by caller: Caller = Caller(kind: .master(actingAs: nil)),
        origin: RequestOrigin = RequestOrigin()
    ) async throws(SkyrowError) -> [RoleName] {
        try await observed(.roleAdmin) { () async throws(SkyrowError) in
            try checkRoleNames(roles)
            let event = AuditEvent(.roleSave, by: AuditEvent.Actor(caller), from: origin)
            try await store.roles.setAdmin(roles, recording: event)
            forget(.all)
            return roles
        }
    }

    /// Throws `108` for names that PostgreSQL cannot compare; the names of new roles are checked where they are created.
    func checkRoleNames(_ roles: [RoleName], argument: String = "roles") throws(SkyrowError) {
        guard roles.allSatisfy(\.rawValue.isName) else {
            throw .invalidArgument("The name of a role is 1 to 255 bytes without NUL.", argument)
        }
    }

    /// Returns the ids unchanged; throws `108` for one that PostgreSQL cannot compare.
    func known(_ users: [UserID]) throws(SkyrowError) -> [UserID] {
        guard users.allSatisfy({ !$0.rawValue.hasNUL }) else {
            throw .invalidArgument("A user id holds no NUL.", "users")
        }
        return users
    }

    func forgetSessions(of users: [UserID]) {
        sessions.withLock { $0.removeSessions(of: users) }
        observe(.sessionsForgotten(.users(users.count)))
    }
}

extension Caller {
    /// Requires an administrator or the master key. The endpoint has checked this already; privileged operations are checked
    /// again here.
    func requireAdministrator() throws(SkyrowError) {
        guard isMaster || isAdministrator else {
            throw SkyrowError(.permissionDenied, "This takes an administrator's role or the master key.")
        }
    }
}
