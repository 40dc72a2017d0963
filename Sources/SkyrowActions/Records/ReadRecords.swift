package import SkyrowModel
import SkyrowProtocol
import SkyrowStore

extension ActionTable {
    static let records: [any AnyEntry] = [
        Entry(Actions.recordSave, ActionService.save),
        Entry(Actions.recordFetch, ActionService.fetch),
        Entry(Actions.recordQuery, ActionService.query),
        Entry(Actions.recordAggregate, ActionService.aggregate),
        Entry(Actions.recordUpdate, ActionService.update),
        Entry(Actions.recordDelete, ActionService.delete),
    ]
}

extension ActionService {
    fileprivate func fetch(_ request: RecordIDsRequest, _ call: Call) async throws(SkyrowError) -> [RecordOutcome] {
        let access = try recordAccess(to: request.database, for: .reading, by: call.caller)
        return call.reported(try await store.fetch(request.ids, with: access))
    }

    fileprivate func query(
        _ request: QueryRequest,
        _ call: Call
    ) async throws(SkyrowError) -> QueryAnswer<QueryResult> {
        if let mode = request.explanation {
            let access = try explainedAccess(to: request.database, by: call.caller)
            return try await within(request.timeLimit) { () async throws(SkyrowError) in
                .explanation(try await self.store.explain(request.query, mode, with: access))
            }
        }
        let access = try recordAccess(to: request.database, for: .reading, by: call.caller)
        return try await admitting(call.caller, call.turn) { admit async throws(SkyrowError) in
            try await within(request.timeLimit) { () async throws(SkyrowError) in
                .found(try await self.store.query(request.query, with: access, admitting: admit))
            }
        }
    }

    fileprivate func aggregate(
        _ request: AggregateRequest,
        _ call: Call
    ) async throws(SkyrowError) -> QueryAnswer<AggregateResult> {
        if let mode = request.explanation {
            let access = try explainedAccess(to: request.database, by: call.caller)
            return try await within(request.timeLimit) { () async throws(SkyrowError) in
                .explanation(try await self.store.explain(request.query, mode, with: access))
            }
        }
        let access = try recordAccess(to: request.database, for: .reading, by: call.caller)
        return try await admitting(call.caller, call.turn) { admit async throws(SkyrowError) in
            try await within(request.timeLimit) { () async throws(SkyrowError) in
                .found(try await self.store.aggregate(request.query, with: access, admitting: admit))
            }
        }
    }

    /// Throws `102 PermissionDenied` without the master key: plans disclose numbers of records.
    private func explainedAccess(to database: DatabaseName, by caller: Caller) throws(SkyrowError) -> RecordAccess {
        guard caller.isOperator else { throw SkyrowError(.permissionDenied, "\"explain\" requires the master key.") }
        return try recordAccess(to: database, for: .reading, by: caller)
    }
}

extension Call {
    /// Puts the request id into every unexpected error of a batch, by which the log is searched for it.
    func reported(_ outcomes: [RecordOutcome]) -> [RecordOutcome] {
        let isOrdinary = outcomes.allSatisfy { outcome in
            if case .failure(let error, _) = outcome { error.code != .unexpectedError } else { true }
        }
        if isOrdinary { return outcomes }
        return outcomes.map { outcome in
            guard case .failure(let error, let id) = outcome else { return outcome }
            return .failure(error.withRequestID(origin.requestID), id: id)
        }
    }
}

extension SkyrowError {
    /// The error with the request's id in it, if it is an unexpected one.
    package func withRequestID(_ id: @autoclosure () -> String?) -> SkyrowError {
        guard code == .unexpectedError, let id = id() else { return self }
        var error = self
        error.info["request_id"] = .string(id)
        return error
    }
}
