import SkyrowJSON
import SkyrowModel

/// The calls that Skygear's plugins handled: SDKs of v1 send them as lambdas, with the parameters in `args`.
enum SkygearLambda {
    private static let actions: [String: ActionName] = [
        "user:verify_request": .authVerifyRequest,
        "user:verify_code": .authVerifyConfirm,
        "user:forgot-password": .authResetRequest,
        "user:reset-password": .authResetConfirm,
    ]

    /// Skygear's own actions, which ignore unknown parameters, since its SDKs send additional ones.
    private static let ofSkygear: Set<ActionName> = [
        .recordSave, .recordFetch, .recordQuery, .recordDelete, .schemaFetch, .schemaCreate, .schemaRename,
        .schemaDelete,
        .schemaAccess, .schemaDefaultAccess, .schemaFieldAccessGet, .schemaFieldAccessUpdate, .authSignUp, .authLogIn,
        .authLogOut,
        .authPassword, .authResetPassword, .authDisableSet, .me, .ssoCustomTokenLogIn, .ssoOAuthLogIn, .ssoOAuthSignUp,
        .ssoOAuthLink, .ssoOAuthUnlink, .roleAssign, .roleRevoke, .roleGet, .roleDefault, .roleAdmin, .relationAdd,
        .relationRemove, .relationQuery,
    ]

    static func isOfSkygear(_ action: ActionName) -> Bool {
        ofSkygear.contains(action) || actions.values.contains(action)
    }

    /// Returns the action of a name, which may be that of a lambda, and its parameters; nil for an unknown name.
    static func call(_ name: String, _ parameters: JSONView) -> (ActionName, JSONView)? {
        if let action = ActionName(wireName: name) { return (action, parameters) }
        guard let action = actions[name] else { return nil }
        guard let arguments = parameters["args"], arguments.isObject else { return (action, parameters) }
        return (action, arguments)
    }
}
