internal import SkyrowModel
internal import SkyrowPostgres

/// Who writes or deletes records, where, and on what the statements run.
struct WriteContext {
    /// So often is a record tried again that others changed between a refusal and the question about it.
    static let attempts = 3
    /// How many statements of a request may be refused for one of several records: each is followed by two smaller ones,
    /// so that a request of 10,000 bad records is some 500 statements and not 20,000.
    static let refusedStatements = 256

    let store: RecordStore
    let runner: StatementRunner
    let catalog: SchemaCatalog
    let database: DatabaseScope
    let caller: Caller
    let variables: AccessVariables?

    init(
        store: RecordStore,
        runner: StatementRunner,
        catalog: SchemaCatalog,
        database: DatabaseScope,
        caller: Caller
    ) {
        self.store = store
        self.runner = runner
        self.catalog = catalog
        self.database = database
        self.caller = caller
        variables = store.accessVariables.variables(of: caller)
    }

    /// Whether there may be records that the caller cannot read: in a private database there are none.
    var hidesRecords: Bool {
        switch database {
        case .everyone, .union: !caller.isMaster
        case .user: false
        }
    }

    /// Asks what records of one type are to the caller, by the ids that clients see.
    func findings(on ids: [RecordID], in table: RecordTable) async throws -> [TextKey: JudgeStatement.Finding] {
        let question = JudgeStatement(
            ids: ids,
            table: table,
            database: database,
            caller: caller,
            variables: variables
        )
        let limit = ids.count > 4 ? PostgresRowLimit.writing(table.wholeRow, last: 2) : nil
        let result = try await runner.read(question.sql, limit: limit, contention: table.contention)
        return try question.findings(result)
    }
}
