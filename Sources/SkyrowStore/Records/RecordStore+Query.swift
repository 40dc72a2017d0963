package import SkyrowModel
internal import SkyrowPostgres

extension RecordStore {
    /// Runs a query in one statement and one round trip, with included records and the count, and one more statement for each
    /// array of references that inclusions lead through.
    ///
    /// Unreadable records are neither sent nor counted. A type without a table has no records. Throws `108 InvalidArgument` for
    /// a query that must not be truncated and matches more records than its limit, and for a cursor of another query, `110
    /// ResourceNotFound` for an empty page that must have records, `108`, `111 NotSupported` or `120 RecordQueryInvalid` for an
    /// invalid query, `124 RecordQueryDenied` for one that names a hidden field, and database errors.
    ///
    /// - Parameter admit: called before records are read.
    package func query(
        _ query: RecordQuery,
        with access: RecordAccess,
        admitting admit: QueryCost.Admission? = nil
    ) async throws(SkyrowError) -> QueryResult {
        try await preparing(query, for: access) { prepared in
            guard let prepared else { return try QueryResult(withoutTable: query) }
            let (statement, table) = (prepared.statement, prepared.table)
            try await admit?(statement.cost)
            let result = try await self.client.read(statement.sql, limit: .reading, contention: table.contention)
            var estimate: Int?
            if let question = statement.estimate {
                let plan = try await self.client.read(question, contention: table.contention)
                estimate = try QueryStatement.expectedRows(plan)
            }
            return try await self.page(of: query, statement, result, estimate: estimate, for: access)
        }
    }

    /// Returns the page of a query from the rows of its statement, and reads the lists of records that it includes.
    func page(
        of query: RecordQuery,
        _ statement: QueryStatement,
        _ result: PostgresResult,
        estimate: Int? = nil,
        for access: RecordAccess
    ) async throws -> QueryResult {
        var lists: [IncludedList] = []
        if let included = statement.lists {
            let run = InclusionRun(lists: included, fields: access.fields) { _, statement in
                try await self.client.read(statement, limit: .reading)
            }
            lists = try await run(for: result, count: statement.recordCount(result))
        }
        let found = try statement.read(result, estimate: estimate, lists: lists)
        guard !found.hasMore || query.overflow == .cut else {
            throw SkyrowError.invalidArgument(
                "More than \(query.limit) records match; page through them with \"limit\" and \"offset\".",
                "limit"
            )
        }
        return found
    }
}

extension QueryResult {
    /// The result of a query for a type without a table, which has no records.
    ///
    /// Throws `110 ResourceNotFound` if the query requires records.
    init(withoutTable query: RecordQuery) throws(SkyrowError) {
        if query.isRequired { throw .noMatch }
        self.init(records: [], isDescribed: query.isDescribed)
        if query.includeForm == .table { included = [] }
        guard let counting = query.counting else { return }
        count = 0
        countKind = counting == .estimate ? .exact : nil
    }
}

extension SkyrowError {
    /// `110` for an empty page that is required to have records.
    static let noMatch = SkyrowError(.resourceNotFound, "No record that you may read matches.")
}
