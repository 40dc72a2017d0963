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
        try accesses.access(to: database, for: use, by: caller)
    }
}
