/// The name of every action, as JSON-RPC's `method`, the v1 envelope's `action` and `rpc.discover` spell it.
package enum ActionName: String, Hashable, Sendable, CaseIterable {
    case recordSave = "record:save"
    case recordFetch = "record:fetch"
    case recordQuery = "record:query"
    case recordAggregate = "record:aggregate"
    case recordUpdate = "record:update"
    case recordDelete = "record:delete"
    case recordTransfer = "record:transfer"
    case schemaFetch = "schema:fetch"
    case schemaCreate = "schema:create"
    case schemaRename = "schema:rename"
    case schemaDelete = "schema:delete"
    case schemaIndexCreate = "schema:index:create"
    case schemaIndexDelete = "schema:index:delete"
    case schemaIndexList = "schema:index:list"
    case schemaAccess = "schema:access"
    case schemaAccessSet = "schema:access:set"
    case schemaAccessGet = "schema:access:get"
    case schemaDefaultAccess = "schema:default_access"
    case schemaFieldAccessGet = "schema:field_access:get"
    case schemaFieldAccessUpdate = "schema:field_access:update"
    case authSignUp = "auth:signup"
    case authLogIn = "auth:login"
    case authLogOut = "auth:logout"
    case authPassword = "auth:password"
    case authStepUp = "auth:stepup"
    case authLogInFactor = "auth:login:factor"
    case authTOTPEnrol = "auth:totp:enrol"
    case authTOTPConfirm = "auth:totp:confirm"
    case authTOTPRemove = "auth:totp:remove"
    case authFactorList = "auth:factor:list"
    case authRegister = "auth:register"
    case authDelete = "auth:delete"
    case authDisableSet = "auth:disable:set"
    case authInvite = "auth:invite"
    case userDelete = "user:delete"
    case authDefaultAccessSet = "auth:default_access:set"
    case authVerifyRequest = "auth:verify:request"
    case authVerifyConfirm = "auth:verify:confirm"
    case authResetRequest = "auth:reset:request"
    case authResetConfirm = "auth:reset:confirm"
    case authResetPassword = "auth:reset_password"
    case authEmailChange = "auth:email:change"
    case authEmailConfirm = "auth:email:confirm"
    case authEmailUndo = "auth:email:undo"
    case authLinkRequest = "auth:link:request"
    case authLinkLogIn = "auth:link:login"
    case authMerge = "auth:merge"
    case authProviderLogIn = "auth:provider:login"
    case authProviderLink = "auth:provider:link"
    case authProviderUnlink = "auth:provider:unlink"
    case authProviderList = "auth:provider:list"
    case ssoCustomTokenLogIn = "sso:custom_token:login"
    case authProviderStart = "auth:provider:start"
    case authProviderFinish = "auth:provider:finish"
    case authProviderToken = "auth:provider:token"
    case ssoOAuthLogIn = "sso:oauth:login"
    case ssoOAuthSignUp = "sso:oauth:signup"
    case ssoOAuthLink = "sso:oauth:link"
    case ssoOAuthUnlink = "sso:oauth:unlink"
    case me
    case authBecome = "auth:become"
    case authRotate = "auth:rotate"
    case sessionList = "session:list"
    case sessionRevoke = "session:revoke"
    case roleAssign = "role:assign"
    case roleRevoke = "role:revoke"
    case roleGet = "role:get"
    case roleDefault = "role:default"
    case roleAdmin = "role:admin"
    case roleSave = "role:save"
    case roleDelete = "role:delete"
    case roleAdd = "role:add"
    case roleRemove = "role:remove"
    case roleMembers = "role:members"
    case roleList = "role:list"
    case groupAdd = "group:add"
    case groupRemove = "group:remove"
    case groupList = "group:list"
    case relationAdd = "relation:add"
    case relationRemove = "relation:remove"
    case relationQuery = "relation:query"
    case relationRequests = "relation:requests"
    case relationBlock = "relation:block"
    case keyCreate = "key:create"
    case keyList = "key:list"
    case keyRotate = "key:rotate"
    case keyRevoke = "key:revoke"
    case liveSubscribe = "live:subscribe"
    case liveUnsubscribe = "live:unsubscribe"
    case liveWatch = "live:watch"
    case changesFetch = "changes:fetch"
    case changesCompare = "changes:compare"
    case connectionAuthenticate = "connection:authenticate"
    case liveTicket = "live:ticket"
}

extension ActionName {
    /// Whether it acts on the connection of its call, which must then be a WebSocket or an event stream.
    package var needsConnection: Bool {
        switch self {
        case .liveSubscribe, .liveUnsubscribe, .liveWatch, .connectionAuthenticate: true
        default: false
        }
    }

    /// The index among all actions, for tables that are read on every request.
    package var ordinal: Int { ActionName.ordinals[self] ?? 0 }

    private static let ordinals = Dictionary(uniqueKeysWithValues: zip(allCases, 0...))
}

/// What an action requires of its caller, checked before anything else.
package enum ActionRequirement: String, Hashable, Sendable, CaseIterable {
    /// A valid API or master key; an access token is optional.
    case key
    /// A valid key or a valid access token.
    case keyOrToken
    /// A logged-in user; the master key passes only when it acts as one.
    case user
    /// A logged-in user or the master key.
    case userOrMaster
    /// A user with an administrator's role, or the master key.
    case administrator
    /// The master key, or any key while the service is in development mode.
    case masterOrDevelopment
    case master
}

extension ActionRequirement {
    /// Whether an access token in the request identifies the caller.
    package var looksAtToken: Bool {
        switch self {
        case .key, .master, .masterOrDevelopment: false
        case .keyOrToken, .user, .userOrMaster, .administrator: true
        }
    }
}

extension ActionName {
    /// `; the nearest is record:save`, for the error about a misspelled name; empty when no name is near.
    ///
    /// Only names of at most 64 bytes are compared.
    package static func suggestion(for name: String) -> String {
        guard name.utf8.count <= 64, let nearest = nearestName(to: name, of: allCases.map(\.rawValue)) else {
            return ""
        }
        return "; the nearest is \(nearest)"
    }
}
