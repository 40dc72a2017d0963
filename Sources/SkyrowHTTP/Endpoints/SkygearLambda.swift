import SkyrowJSON
import SkyrowModel

/// The calls that Skygear's plugins answered: SDKs of v1 send them as lambdas, with the parameters in `args`.
enum SkygearLambda {
    private static let actions: [String: ActionName] = [
        "user:verify_request": .authVerifyRequest,
        "user:verify_code": .authVerifyConfirm,
        "user:forgot-password": .authResetRequest,
        "user:reset-password": .authResetConfirm,
    ]

    /// Skygear's own actions: what they do not know they ignore, since its SDKs send more than that.
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

    /// The action of a name, by its own or by that of a lambda, and where its parameters are; nil for no action.
    static func call(_ name: String, _ parameters: JSONView) -> (ActionName, JSONView)? {
        if let action = ActionName(wireName: name) { return (action, parameters) }
        guard let action = actions[name] else { return nil }
        guard let arguments = parameters["args"], arguments.isObject else { return (action, parameters) }
        return (action, arguments)
    }
}
