package import SkyrowModel
import SkyrowStore

extension ActionService {
    /// `record:fetch`: one outcome for each id, in the order of the request.
    package func fetch(_ request: RecordIDsRequest, by caller: Caller) async throws(SkyrowError) -> [RecordOutcome] {
        try await observed(.recordFetch) { () async throws(SkyrowError) in
            let access = try recordAccess(to: request.database, for: .reading, by: caller)
            guard !request.ids.isEmpty else {
                throw .invalidArgument("Send at least one id.", "ids")
            }
            return try await store.fetch(request.ids, with: access)
        }
    }

    /// `record:query`
    ///
    /// - Parameter turn: the request's admission to the read queue; nil for none.
    package func query(
        _ request: QueryRequest,
        by caller: Caller,
        turn: ReadTurn? = nil
    ) async throws(SkyrowError) -> QueryResult {
        try await observed(.recordQuery) { () async throws(SkyrowError) in
            let access = try recordAccess(to: request.database, for: .reading, by: caller)
            return try await admitting(caller, turn) { admit async throws(SkyrowError) in
                try await within(request.timeLimit) { () async throws(SkyrowError) in
                    try await self.store.query(request.query, with: access, admitting: admit)
                }
            }
        }
    }

    /// `record:aggregate`
    ///
    /// - Parameter turn: the request's admission to the read queue; nil for none.
    package func aggregate(
        _ request: AggregateRequest,
        by caller: Caller,
        turn: ReadTurn? = nil
    ) async throws(SkyrowError) -> AggregateResult {
        try await observed(.recordAggregate) { () async throws(SkyrowError) in
            let access = try recordAccess(to: request.database, for: .reading, by: caller)
            return try await admitting(caller, turn) { admit async throws(SkyrowError) in
                try await within(request.timeLimit) { () async throws(SkyrowError) in
                    try await self.store.aggregate(request.query, with: access, admitting: admit)
                }
            }
        }
    }

    /// `record:query` with `explain`: PostgreSQL's plan, for administrators of the database.
    package func explain(
        _ request: QueryRequest,
        _ mode: ExplainMode,
        by caller: Caller
    ) async throws(SkyrowError) -> QueryExplanation {
        try await observed(.recordQuery) { () async throws(SkyrowError) in
            let access = try explainedAccess(to: request.database, by: caller)
            return try await within(request.timeLimit) { () async throws(SkyrowError) in
                try await self.store.explain(request.query, mode, with: access)
            }
        }
    }

    /// `record:aggregate` with `explain`
    package func explain(
        _ request: AggregateRequest,
        _ mode: ExplainMode,
        by caller: Caller
    ) async throws(SkyrowError) -> QueryExplanation {
        try await observed(.recordAggregate) { () async throws(SkyrowError) in
            let access = try explainedAccess(to: request.database, by: caller)
            return try await within(request.timeLimit) { () async throws(SkyrowError) in
                try await self.store.explain(request.query, mode, with: access)
            }
        }
    }

    /// Throws `102 PermissionDenied` without the master key: plans disclose numbers of records.
    private func explainedAccess(
        to database: DatabaseName,
        by caller: Caller
    ) throws(SkyrowError) -> RecordAccess {
        guard caller.isOperator else {
            throw SkyrowError(.permissionDenied, "\"explain\" requires the master key.")
        }
        return try recordAccess(to: database, for: .reading, by: caller)
    }
}
