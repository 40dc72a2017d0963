import SkyrowModel
import SkyrowStore

extension ActionService {
    /// Returns the access of a caller to the records of a database, decided once for a request, before anything else.
    ///
    /// Throws `101 NotAuthenticated`, `102 PermissionDenied` or `111 NotSupported` if the database is not open to the caller.
    func recordAccess(
        to database: DatabaseName,
        for use: RecordAccess.Use,
        by caller: Caller
    ) throws(SkyrowError) -> RecordAccess {
        try accesses.access(to: database, for: use, by: caller)
    }
}
