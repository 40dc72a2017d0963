import SkyrowActions
import SkyrowJSON
import SkyrowModel
import SkyrowProtocol

/// The calls that Skygear's plugins handled: SDKs of v1 send them as lambdas, with the parameters in `args`.
enum SkygearLambda {
    private static let actions: [String: ActionName] = [
        "user:verify_request": "auth:verify:request",
        "user:verify_code": "auth:verify:confirm",
        "user:forgot-password": "auth:reset:request",
        "user:reset-password": "auth:reset:confirm",
    ]

    /// Skygear's own actions, which ignore unknown parameters, since its SDKs send additional ones.
    private static let ofSkygear: Set<ActionName> = [
        "record:save", "record:fetch", "record:query", "record:delete", "schema:fetch", "schema:create",
        "schema:rename", "schema:delete", "schema:access", "schema:default_access", "schema:field_access:get",
        "schema:field_access:update", "auth:signup", "auth:login", "auth:logout", "auth:password",
        "auth:reset_password", "auth:disable:set", "me", "sso:custom_token:login", "sso:oauth:login",
        "sso:oauth:signup", "sso:oauth:link", "sso:oauth:unlink", "role:assign", "role:revoke", "role:get",
        "role:default", "role:admin", "relation:add", "relation:remove", "relation:query",
    ]

    static func isOfSkygear(_ action: ActionName) -> Bool {
        ofSkygear.contains(action) || actions.values.contains(action)
    }

    /// Whether a name is that of a built-in action.
    static func knows(_ name: String) -> Bool { ActionTable[ActionName(name)] != nil || actions[name] != nil }

    /// Returns the action of a name, which may be that of a lambda, and its parameters; nil for an unknown name.
    static func call(_ name: String, _ parameters: JSONView) -> (any AnyEntry, JSONView)? {
        if let action = ActionTable[ActionName(name)] { return (action, parameters) }
        guard let action = actions[name].flatMap({ ActionTable[$0] }) else { return nil }
        guard let arguments = parameters["args"], arguments.isObject else { return (action, parameters) }
        return (action, arguments)
    }
}
