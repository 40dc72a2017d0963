internal import SkyrowModel
internal import SkyrowPostgres

/// On what the statements of a write run, and what they may do.
struct WriteContext {
    /// So often is a record tried again that others changed between a refusal and the question about it.
    static let attempts = 3
    /// How many statements of a request may be refused for one of several records: each is followed by two smaller ones,
    /// so that a request of 10,000 bad records is some 500 statements and not 20,000.
    static let refusedStatements = 256

    let store: RecordStore
    let runner: StatementRunner
    let catalog: SchemaCatalog
    let access: RecordAccess

    /// Asks what records of one type are to the caller, by the ids that clients see.
    ///
    /// - Parameter action: what is to be done with them.
    func findings(
        on ids: [RecordID],
        in table: RecordTable,
        for action: AccessAction
    ) async throws -> [TextKey: JudgeStatement.Finding] {
        let question = JudgeStatement(ids: ids, table: table, access: access, for: action)
        let limit = ids.count > 4 ? PostgresRowLimit.writing(table.wholeRow, last: 2) : nil
        let result = try await runner.read(question.sql, limit: limit, contention: table.contention)
        return try question.findings(result)
    }
}
