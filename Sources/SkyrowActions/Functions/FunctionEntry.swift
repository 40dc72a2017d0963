import SkyrowJSON
import SkyrowModel
import SkyrowProtocol

/// A function of the application as an action, made at run time.
///
/// Its description is that of `function:call` with the requirement of the function, so that rate limits, scopes of keys, metrics and
/// step-up count its calls as those of `function:call`.
final class FunctionEntry: AnyEntry {
    let function: FunctionRegistry.Function
    let description: ActionDescription

    init(_ function: FunctionRegistry.Function) {
        self.function = function
        description = function.description.need.description(isReadOnly: function.description.isReadOnly)
    }

    /// The arguments are the function's; its endpoints do not check their names.
    var knownParameters: KnownParameters { Self.parameters }

    private static let parameters = KnownParameters(of: Actions.functionCall.description)

    /// In the v1 envelope the arguments are the member `args`, in JSON-RPC all parameters.
    func read(_ json: JSONView, rules: ReadingRules) throws(SkyrowError) -> PreparedAction {
        let arguments = rules == .v1 ? try FunctionInvocation.arguments(json["args"]) : json.withoutActingUser
        let invocation = FunctionInvocation(function.description.name, arguments: arguments)
        return PreparedAction(takesStepUp: false) { [function, description] service, call async throws(SkyrowError) in
            try await service.observed(description) { () async throws(SkyrowError) in
                try await service.call(function, invocation, call)
            }
        }
    }
}

extension FunctionNeed {
    /// The description of actions with this need.
    func description(isReadOnly: Bool) -> ActionDescription {
        Actions.functionCall.description.requiring(requirement, effect: isReadOnly ? .reads : .once)
    }
}

extension JSONView {
    /// The parameters of a call without `_user_id`; nil without others.
    fileprivate var withoutActingUser: JSONText? {
        guard count > 0 else { return nil }
        guard self["_user_id"] != nil else { return jsonText }
        let writer = JSONWriter()
        writer.beginObject()
        for (name, value) in uniqueMembers where name != "_user_id" {
            writer.key(name)
            writer.json(value.jsonText)
        }
        writer.endObject()
        return writer.count > 2 ? writer.jsonText : nil
    }
}
