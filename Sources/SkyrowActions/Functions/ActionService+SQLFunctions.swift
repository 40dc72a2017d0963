import SkyrowJSON
import SkyrowModel
import SkyrowProtocol
import SkyrowStore

extension ActionTable {
    static let sqlFunctions: [any AnyEntry] = [
        Entry(Actions.functionExpose, ActionService.exposeFunction),
        Entry(Actions.functionHide, ActionService.hideFunction),
    ]
}

extension ActionService {
    fileprivate func exposeFunction(
        _ exposure: FunctionExposure,
        _ call: Call
    ) async throws(SkyrowError) -> FunctionName {
        let name = exposure.name?.rawValue ?? String(exposure.function.prefix { $0 != "(" })
        guard ActionTable[ActionName(name)] == nil else {
            throw .invalidArgument("An action has this name; expose the function by another one.", "name")
        }
        let exposed = try await store.sqlFunctions.expose(exposure, recording: call.audit(.functionExpose))
        await refreshFunctions()
        return exposed
    }

    fileprivate func hideFunction(_ name: FunctionName, _ call: Call) async throws(SkyrowError) {
        try await store.sqlFunctions.hide(name, recording: call.audit(.functionHide))
        await refreshFunctions()
    }

    /// Calls a function of the database, which the caller may call.
    ///
    /// Throws what the function raises and what ``RecordStore/call(_:with:by:within:)`` throws.
    ///
    /// - Parameters:
    ///   - arguments: an object by name, or an array in the order of the parameters; nil for none.
    ///   - query: an object with what `record:query` has beside the type, for a function that returns records; nil for none.
    func answer(
        _ function: SQLFunction,
        arguments: JSONText?,
        query: JSONText?,
        _ call: Call
    ) async throws(SkyrowError) -> ResultWriter {
        do throws(SkyrowError) {
            let limit = try timeLimit(of: function, call)
            guard case .records(let type) = function.result else {
                guard query == nil else { throw .selectsNothing }
                let text = try await store.call(function, with: arguments, by: call.caller, within: limit)
                return ResultWriter { writer in
                    if let text { writer.json(text) } else { writer.null() }
                }
            }
            let question = try QueryRequest(of: type, from: query, rules: call.rules)
            let result = try await store.call(
                function,
                with: arguments,
                selecting: question.query,
                with: recordAccess(to: question.database, for: .reading, by: call.caller),
                by: call.caller,
                within: limit
            )
            return Actions.recordQuery.writer(of: .found(result))
        } catch {
            throw error.withRequestID(call.origin.requestID)
        }
    }

    /// The shortest of the function's own time, or the setting, and of what the request has left.
    private func timeLimit(of function: SQLFunction, _ call: Call) throws(SkyrowError) -> Duration {
        let own = function.timeout ?? functions.timeout
        guard let deadline = call.deadline else { return own }
        let rest = ContinuousClock.now.duration(to: deadline)
        guard rest > .zero else {
            throw SkyrowError(.responseTimeout, "The request took too long; nothing was changed.")
        }
        return min(own, rest)
    }
}

extension SkyrowError {
    fileprivate static let selectsNothing = SkyrowError.invalidArgument(
        "The function returns no records of a type, so nothing can be selected from its result."
    )
}
