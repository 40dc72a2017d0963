import SkyrowModel
import SkyrowProtocol
import SkyrowStore

extension ActionTable {
    static let accountLife: [any AnyEntry] = [
        Entry(Actions.authDelete, ActionService.deleteOwnAccount),
        Entry(Actions.userDelete, ActionService.deleteUser),
        Entry(Actions.authDisableSet, ActionService.setDisabled),
        Entry(Actions.authInvite, ActionService.invite),
        Entry(Actions.authMerge, ActionService.merge(_:_:)),
        Entry(Actions.authDefaultAccessSet, ActionService.setOwnDefaultAccess),
    ]
}

extension ActionService {
    /// Throws `110 ResourceNotFound` for an unknown user.
    fileprivate func setDisabled(_ state: DisabledState, _ call: Call) async throws(SkyrowError) {
        try call.caller.requireAdministrator()
        // Also when it is unknown whether the change was committed.
        defer { forget(.user(state.userID)) }
        try await AccountDesk(store: store, passwords: passwords).setDisabled(
            state,
            by: AuditEvent.Actor(call.caller),
            from: call.origin
        )
    }

    /// Throws `101 NotAuthenticated` without a user, and `110 ResourceNotFound` if the master key names an unknown one.
    fileprivate func setOwnDefaultAccess(_ access: AccessList?, _ call: Call) async throws(SkyrowError) -> AccessList? {
        guard let user = call.caller.userID else { throw SkyrowError(.notAuthenticated, "Log in first.") }
        guard try await store.users.setDefaultAccess(access, of: user, recording: call.audit(.rule)) else {
            throw SkyrowError.userNotFound
        }
        return access
    }
}
