package import SkyrowModel
import SkyrowStore

extension ActionService {
    /// `auth:disable:set`: disables an account, which revokes its sessions, or enables it again.
    ///
    /// Throws `110 ResourceNotFound` for an unknown user.
    package func setDisabled(
        _ request: SetDisabledRequest,
        by caller: Caller,
        origin: RequestOrigin = RequestOrigin()
    ) async throws(SkyrowError) {
        try await observed(.authDisableSet) { () async throws(SkyrowError) in
            try caller.requireAdministrator()
            // Also when it is unknown whether the change was committed.
            defer { forget(.user(request.userID)) }
            try await AccountDesk(store: store, passwords: passwords).setDisabled(
                request,
                by: AuditEvent.Actor(caller),
                from: origin
            )
        }
    }
}
