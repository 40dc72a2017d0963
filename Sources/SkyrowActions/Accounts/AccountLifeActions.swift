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
    /// Every process applies it within a second. Throws `110 ResourceNotFound` for an unknown user.
    fileprivate func setDisabled(_ state: DisabledState, _ call: Call) async throws(SkyrowError) {
        try call.caller.requireAdministrator()
        // Also when it is unknown whether the change was committed.
        defer { forget(.user(state.userID)) }
        let event = call.audit(state.isDisabled ? .disable : .enable)
        let isKnown =
            state.isDisabled
            ? try await store.users.suspend(
                state.userID,
                AccountSuspension(message: state.message, until: state.expiry),
                recording: event
            )
            : try await store.users.reopen(state.userID, recording: event)
        guard isKnown else { throw SkyrowError.userNotFound }
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
