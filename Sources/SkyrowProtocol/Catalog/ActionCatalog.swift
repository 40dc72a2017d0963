package import SkyrowModel

/// The registry: every action, declared once (the declarations are in the files `ActionCatalog*.swift`).
package enum ActionCatalog {
    /// In the order of the manual.
    package static let all: [ActionDescription] = ActionName.allCases.map { ActionCatalog[$0] }

    /// The declaration of an action.
    package static subscript(name: ActionName) -> ActionDescription {
        switch name {
        case .recordSave: recordSave
        case .recordFetch: recordFetch
        case .recordQuery: recordQuery
        case .recordAggregate: recordAggregate
        case .recordUpdate: recordUpdate
        case .recordDelete: recordDelete
        case .recordTransfer: Actions.recordTransfer.description
        case .schemaFetch: Actions.schemaFetch.description
        case .schemaCreate: Actions.schemaCreate.description
        case .schemaRename: Actions.schemaRename.description
        case .schemaDelete: Actions.schemaDelete.description
        case .schemaIndexCreate: Actions.schemaIndexCreate.description
        case .schemaIndexDelete: Actions.schemaIndexDelete.description
        case .schemaIndexList: Actions.schemaIndexList.description
        case .schemaAccess: Actions.schemaAccess.description
        case .schemaAccessSet: Actions.schemaAccessSet.description
        case .schemaAccessGet: Actions.schemaAccessGet.description
        case .schemaDefaultAccess: Actions.schemaDefaultAccess.description
        case .schemaFieldAccessGet: Actions.schemaFieldAccessGet.description
        case .schemaFieldAccessUpdate: Actions.schemaFieldAccessUpdate.description
        case .authSignUp: authSignUp
        case .authLogIn: authLogIn
        case .authLogOut: Actions.authLogOut.description
        case .authPassword: authPassword
        case .authStepUp: Actions.authStepUp.description
        case .authLogInFactor: Actions.authLogInFactor.description
        case .authTOTPEnrol: Actions.authTOTPEnrol.description
        case .authTOTPConfirm: Actions.authTOTPConfirm.description
        case .authTOTPRemove: Actions.authTOTPRemove.description
        case .authFactorList: Actions.authFactorList.description
        case .authRegister: authRegister
        case .authDefaultAccessSet: Actions.authDefaultAccessSet.description
        case .authDelete: Actions.authDelete.description
        case .authDisableSet: Actions.authDisableSet.description
        case .authInvite: Actions.authInvite.description
        case .userDelete: Actions.userDelete.description
        case .authVerifyRequest: Actions.authVerifyRequest.description
        case .authVerifyConfirm: Actions.authVerifyConfirm.description
        case .authResetRequest: Actions.authResetRequest.description
        case .authResetConfirm: Actions.authResetConfirm.description
        case .authResetPassword: Actions.authResetPassword.description
        case .authEmailChange: Actions.authEmailChange.description
        case .authEmailConfirm: Actions.authEmailConfirm.description
        case .authEmailUndo: Actions.authEmailUndo.description
        case .authLinkRequest: Actions.authLinkRequest.description
        case .authLinkLogIn: Actions.authLinkLogIn.description
        case .authMerge: Actions.authMerge.description
        case .authProviderLogIn: authProviderLogIn
        case .authProviderLink: authProviderLink
        case .authProviderUnlink: authProviderUnlink
        case .authProviderList: authProviderList
        case .ssoCustomTokenLogIn: ssoCustomTokenLogIn
        case .authProviderStart: authProviderStart
        case .authProviderFinish: authProviderFinish
        case .authProviderToken: authProviderToken
        case .ssoOAuthLogIn: ssoOAuthLogIn
        case .ssoOAuthSignUp: ssoOAuthSignUp
        case .ssoOAuthLink: ssoOAuthLink
        case .ssoOAuthUnlink: ssoOAuthUnlink
        case .me: Actions.me.description
        case .authBecome: Actions.authBecome.description
        case .authRotate: Actions.authRotate.description
        case .sessionList: Actions.sessionList.description
        case .sessionRevoke: Actions.sessionRevoke.description
        case .roleAssign: Actions.roleAssign.description
        case .roleRevoke: Actions.roleRevoke.description
        case .roleGet: Actions.roleGet.description
        case .roleDefault: Actions.roleDefault.description
        case .roleAdmin: Actions.roleAdmin.description
        case .roleSave: Actions.roleSave.description
        case .roleDelete: Actions.roleDelete.description
        case .roleAdd: Actions.roleAdd.description
        case .roleRemove: Actions.roleRemove.description
        case .roleMembers: Actions.roleMembers.description
        case .roleList: Actions.roleList.description
        case .groupAdd: Actions.groupAdd.description
        case .groupRemove: Actions.groupRemove.description
        case .groupList: Actions.groupList.description
        case .relationAdd: Actions.relationAdd.description
        case .relationRemove: Actions.relationRemove.description
        case .relationQuery: Actions.relationQuery.description
        case .relationRequests: Actions.relationRequests.description
        case .relationBlock: Actions.relationBlock.description
        case .keyCreate: Actions.keyCreate.description
        case .keyList: Actions.keyList.description
        case .keyRotate: Actions.keyRotate.description
        case .keyRevoke: Actions.keyRevoke.description
        case .liveSubscribe: liveSubscribe
        case .liveUnsubscribe: liveUnsubscribe
        case .liveWatch: liveWatch
        case .changesFetch: changesFetch
        case .changesCompare: changesCompare
        case .connectionAuthenticate: connectionAuthenticate
        case .liveTicket: Actions.liveTicket.description
        }
    }

    /// Codes that any action may return.
    package static let commonErrors: [ErrorCode] = [
        .notAuthenticated, .accessKeyNotAccepted, .accessTokenNotAccepted, .badRequest, .invalidArgument,
        .responseTimeout, .rateLimited, .payloadTooLarge, .overloaded, .unexpectedError,
        .unexpectedUnableToOpenDatabase,
    ]
}
