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
        let outcomes = try await store.fetch(request.ids, with: access)
        // Here, since another asynchronous call takes instructions of every fetch.
        guard functions.hasHooks(.afterFetch) else { return call.reported(outcomes) }
        return call.reported(try await hooked(outcomes, of: request.ids, call))
    }

    fileprivate func query(
        _ request: QueryRequest,
        _ call: Call
    ) async throws(SkyrowError) -> QueryAnswer<QueryResult> {
        var request = request
        if functions.hasHooks(.beforeQuery) { request = try await hooked(request, call) }
        let answer = try await answer(
            request,
            call,
            explain: store.explain(_:_:with:),
            find: store.query(_:with:admitting:)
        )
        guard functions.hasHooks(.afterFetch), case .found(let page) = answer else { return answer }
        return .found(try await hooked(page, of: request.query.type, call))
    }

    fileprivate func aggregate(
        _ request: AggregateRequest,
        _ call: Call
    ) async throws(SkyrowError) -> QueryAnswer<AggregateResult> {
        try await answer(request, call, explain: store.explain(_:_:with:), find: store.aggregate(_:with:admitting:))
    }

    private func answer<Query, Found>(
        _ question: Question<Query>,
        _ call: Call,
        explain: @escaping @Sendable (Query, ExplainMode, RecordAccess) async throws(SkyrowError) -> QueryExplanation,
        find: @escaping @Sendable (Query, RecordAccess, QueryCost.Admission?) async throws(SkyrowError) -> Found
    ) async throws(SkyrowError) -> QueryAnswer<Found> {
        if let mode = question.explanation {
            // Plans disclose numbers of records.
            guard call.caller.isOperator else {
                throw SkyrowError(.permissionDenied, "\"explain\" requires the master key.")
            }
            let access = try recordAccess(to: question.database, for: .reading, by: call.caller)
            return try await within(question.timeLimit) { () async throws(SkyrowError) in
                .explanation(try await explain(question.query, mode, access))
            }
        }
        let access = try recordAccess(to: question.database, for: .reading, by: call.caller)
        return try await admitting(call.caller, call.turn) { admit async throws(SkyrowError) in
            try await within(question.timeLimit) { () async throws(SkyrowError) in
                .found(try await find(question.query, access, admit))
            }
        }
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
