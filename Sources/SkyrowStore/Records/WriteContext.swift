internal import SkyrowModel
internal import SkyrowPostgres

/// What the statements of a write run on, and what the caller may do.
struct WriteContext {
    /// How often a record is retried that others changed between a refusal and the query for its reason.
    static let attempts = 3
    /// Upper bound on statements of a request that are refused because of one of several records. Each is followed by two
    /// smaller ones, so a request of 10,000 bad records takes some 500 statements and not 20,000.
    static let refusedStatements = 256

    let store: RecordStore
    let runner: StatementRunner
    let catalog: SchemaCatalog
    let access: RecordAccess

    /// Reads what records of one type are to the caller, by their ids on the wire.
    ///
    /// - Parameter action: the intended action.
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
