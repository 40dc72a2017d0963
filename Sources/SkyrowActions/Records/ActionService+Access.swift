import SkyrowModel
import SkyrowStore

extension ActionService {
    /// What a caller may do with the records of a database: asked once a request, and before everything else.
    ///
    /// Throws `101 NotAuthenticated`, `102 PermissionDenied` or `111 NotSupported` where the database is not open.
    func recordAccess(
        to database: DatabaseName,
        for use: RecordAccess.Use,
        by caller: Caller
    ) throws(SkyrowError) -> RecordAccess {
        try RecordAccess(opening: database, for: use, by: caller, variables: variables(of: caller))
    }

    /// nil for a caller whom no access list can name.
    private func variables(of caller: Caller) -> AccessVariables? {
        guard !caller.isMaster, let user = caller.userID else { return nil }
        return accessVariables.variables(of: user, roles: caller.roles)
    }
}
