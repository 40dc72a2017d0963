internal import SkyrowPostgres

/// Reserved tables of an application, with the statements that use them.
protocol StoreTable {
    var store: RecordStore { get }
}

extension StoreTable {
    var schema: SQLIdentifier { store.schema }
}

extension RecordStore {
    /// The files.
    package var assets: AssetTable { AssetTable(store: self) }
    package var audit: AuditTable { AuditTable(store: self) }
    /// The rules of record types.
    package var classAccess: ClassAccessTable { ClassAccessTable(store: self) }
    package var codes: CodeTable { CodeTable(store: self) }
    package var factors: FactorTable { FactorTable(store: self) }
    package var flows: FlowTable { FlowTable(store: self) }
    package var functionServers: FunctionServerTable { FunctionServerTable(store: self) }
    package var groups: UserGroupTable { UserGroupTable(store: self) }
    package var idempotency: IdempotencyTable { IdempotencyTable(store: self) }
    package var identities: IdentityTable { IdentityTable(store: self) }
    package var keys: KeyTable { KeyTable(store: self) }
    package var liveTickets: LiveTicketTable { LiveTicketTable(store: self) }
    package var mails: MailTable { MailTable(store: self) }
    package var relations: RelationTable { RelationTable(store: self) }
    package var roles: RoleTable { RoleTable(store: self) }
    package var sessions: SessionTable { SessionTable(store: self) }
    /// The field rules in the form of Skygear's calls.
    package var skygearFieldRules: SkygearFieldRuleTable { SkygearFieldRuleTable(store: self) }
    /// The functions of the application that are exposed.
    package var sqlFunctions: SQLFunctionTable { SQLFunctionTable(store: self) }
    package var throttle: ThrottleTable { ThrottleTable(store: self) }
    package var users: UserTable { UserTable(store: self) }
}
