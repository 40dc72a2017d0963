import SkyrowJSON
import SkyrowModel
import SkyrowProtocol
import SkyrowStore

extension ActionService {
    // MARK: Before a query

    /// Returns a query with what hooks have added: conditions that records must match as well, and a lower limit.
    ///
    /// The caller's rules of fields apply to the conditions, too. Throws the error of a hook, and `10000 UnexpectedError` for an
    /// invalid condition.
    func hooked(_ request: QueryRequest, _ call: Call) async throws(SkyrowError) -> QueryRequest {
        var request = request
        for hook in functions.registry.hooks(.beforeQuery, on: request.query.type) {
            let writer = JSONWriter()
            Actions.recordQuery.parameters.write(request, writer)
            let verdict: QueryVerdict
            do throws(SkyrowError) {
                let answer = try await answer(of: hook, to: .query(writer.jsonText), for: hookCaller(of: call))
                guard case .query(let given) = answer else { throw .hookAnswerInvalid }
                verdict = given
            } catch {
                guard !hook.description.isRequired, error.isServerAway else { throw error }
                observe(.hooksSkipped(1))
                continue
            }
            if let text = verdict.predicate {
                guard let added = try? JSONDocument(text.utf8).withRoot({ json in try RecordPredicate(json) }) else {
                    throw .hookAnswerInvalid
                }
                request.query.predicate = request.query.predicate.map { .and([$0, added]) } ?? added
            }
            if let limit = verdict.limit { request.query.limit = min(request.query.limit, max(0, limit)) }
        }
        return request
    }

    // MARK: After a read

    /// Returns the outcomes of a fetch as hooks leave them; a record that they drop looks like a missing one.
    ///
    /// Throws `10000 UnexpectedError` if a hook fails.
    func hooked(
        _ outcomes: [RecordOutcome],
        of ids: [RecordID],
        _ call: Call
    ) async throws(SkyrowError) -> [RecordOutcome] {
        guard let plan = readPlan(on: Set(ids.map(\.type))) else { return outcomes }
        var records: [Int: Record] = [:]
        for (place, outcome) in outcomes.enumerated() {
            guard case .record(let source) = outcome, !plan[ids[place].type].isEmpty else { continue }
            records[place] = source.collected()
        }
        let hooked = try await run(plan, afterReading: records, for: hookCaller(of: call))
        return outcomes.enumerated().map { place, outcome in
            guard records[place] != nil else { return outcome }
            return hooked[place].map { .record($0) } ?? .failure(.recordNotFound, id: ids[place].description)
        }
    }

    /// Returns a page as hooks leave it, without the records that they drop; its count and cursor stay.
    ///
    /// Throws `111 NotSupported` for a query without `_id`, and for one whose included records are sent in a table; `10000
    /// UnexpectedError` if a hook fails.
    func hooked(_ page: QueryResult, of type: RecordTypeName, _ call: Call) async throws(SkyrowError) -> QueryResult {
        guard let plan = readPlan(on: [type]) else { return page }
        guard page.included == nil else { throw .tableOfHookedType }
        var records: [Int: Record] = [:]
        for (place, source) in page.records.enumerated() {
            guard let record = source.collected() else { throw .idOfHookedType }
            records[place] = record
        }
        let hooked = try await run(plan, afterReading: records, for: hookCaller(of: call))
        var page = page
        page.records = hooked.sorted { $0.key < $1.key }.map(\.value)
        return page
    }

    private func readPlan(on types: Set<RecordTypeName>) -> HookPlan? {
        let plan = HookPlan(.afterFetch, on: types, in: functions.registry)
        return plan.isEmpty ? nil : plan
    }

    private func run(
        _ plan: HookPlan,
        afterReading records: [Int: Record],
        for caller: HookCaller
    ) async throws(SkyrowError) -> [Int: Record] {
        var records = records
        for type in plan.types {
            for hook in plan[type] {
                let places = records.keys.filter { records[$0]?.id.type == type }.sorted()
                let calls = hook.calls(for: places)
                let verdicts = await verdicts(
                    of: hook,
                    on: calls.map { $0.compactMap { records[$0].map { HookedRecord($0) } } },
                    for: caller
                )
                for (place, verdict) in zip(places, verdicts.joined()) {
                    switch verdict {
                    case .accepted(let fields, _):
                        for (name, value) in fields { records[place]?.fields[name] = value == .null ? nil : value }
                    case .dropped: records[place] = nil
                    case .refused(let error):
                        observe(.hookFailed(.afterFetch, name: hook.description.name, error.code))
                        throw .readHookFailed
                    }
                }
            }
        }
        return records
    }
}

extension SkyrowError {
    fileprivate static let readHookFailed = SkyrowError(.unexpectedError, "A hook on the records failed.")
    fileprivate static let idOfHookedType = SkyrowError(
        .notSupported,
        "The records of this type have hooks, which need _id; do not omit it.",
        info: ["arguments": .list([.string("omit")])]
    )
    fileprivate static let tableOfHookedType = SkyrowError(
        .notSupported,
        "The records of this type have hooks; use the nested form of included records.",
        info: ["arguments": .list([.string("include_form")])]
    )
}
