package import SkyrowModel


extension ActionService {
    /// `role:assign`
    package func assignRoles(_ request: RoleMembersRequest, by caller: Caller) async throws(SkyrowError) {
        throw SkyrowError(.overloaded, "The service is not ready.")
    }

    /// `role:revoke`
    package func revokeRoles(_ request: RoleMembersRequest, by caller: Caller) async throws(SkyrowError) {
        throw SkyrowError(.overloaded, "The service is not ready.")
    }

    /// `role:get`: the roles of each of these users, sorted; an unknown user has none.
    package func roles(of users: [UserID], by caller: Caller) async throws(SkyrowError) -> [UserID: [String]] {
        throw SkyrowError(.overloaded, "The service is not ready.")
    }

    /// `role:default`: replaces the roles that new users get, and answers them.
    package func setDefaultRoles(_ roles: [String]) async throws(SkyrowError) -> [String] {
        throw SkyrowError(.overloaded, "The service is not ready.")
    }

    /// `role:admin`: replaces the roles that make an administrator, and answers them.
    package func setAdminRoles(_ roles: [String]) async throws(SkyrowError) -> [String] {
        throw SkyrowError(.overloaded, "The service is not ready.")
    }
}
