import SkyrowModel
import SkyrowWire

/// A call of one action with its decoded parameters.
enum ActionCall: Sendable {
    case saveRecords(SaveRequest)
    case fetchRecords(RecordIDsRequest)
    case queryRecords(QueryRequest)
    case deleteRecords(RecordIDsRequest)
    case fetchSchema
    case createTypes(SchemaCreateRequest)
    case renameField(SchemaRenameRequest)
    case deleteField(SchemaDeleteRequest)
    case signUp(SignUpRequest)
    case logIn(LogInRequest)
    case logOut
    case changePassword(ChangePasswordRequest)
    case setDisabled(SetDisabledRequest)
    case me
    case assignRoles(RoleMembersRequest)
    case revokeRoles(RoleMembersRequest)
    case getRoles([UserID])
    case setDefaultRoles([RoleName])
    case setAdminRoles([RoleName])

    /// Decodes the parameters of an action; throws what is wrong with them.
    init(_ action: ActionName, parameters: JSONView, rules: ReadingRules) throws(SkyrowError) {
        switch action {
        case .recordSave: self = .saveRecords(try SaveRequest(parameters: parameters, rules: rules))
        case .recordFetch: self = .fetchRecords(try RecordIDsRequest(parameters: parameters))
        case .recordQuery: self = .queryRecords(try QueryRequest(parameters: parameters, rules: rules))
        case .recordDelete: self = .deleteRecords(try RecordIDsRequest(parameters: parameters))
        case .schemaFetch: self = .fetchSchema
        case .schemaCreate: self = .createTypes(try SchemaCreateRequest(parameters: parameters))
        case .schemaRename: self = .renameField(try SchemaRenameRequest(parameters: parameters))
        case .schemaDelete: self = .deleteField(try SchemaDeleteRequest(parameters: parameters))
        case .authSignUp: self = .signUp(try SignUpRequest(parameters: parameters, rules: rules))
        case .authLogIn: self = .logIn(try LogInRequest(parameters: parameters))
        case .authLogOut: self = .logOut
        case .authPassword: self = .changePassword(try ChangePasswordRequest(parameters: parameters))
        case .authDisableSet: self = .setDisabled(try SetDisabledRequest(parameters: parameters))
        case .me: self = .me
        case .roleAssign: self = .assignRoles(try RoleMembersRequest(parameters: parameters))
        case .roleRevoke: self = .revokeRoles(try RoleMembersRequest(parameters: parameters))
        case .roleGet: self = .getRoles(try RoleParameters.users(parameters))
        case .roleDefault: self = .setDefaultRoles(try RoleParameters.roles(parameters))
        case .roleAdmin: self = .setAdminRoles(try RoleParameters.roles(parameters))
        }
    }
}
