package import SkyrowJSON
package import SkyrowModel
package import SkyrowProtocol
import SkyrowStore

/// A row of the service's table: an action, and the method that performs it.
///
/// ```swift
/// Entry(Actions.roleAdd, ActionService.addToRole)
/// ```
package struct Entry<Parameters: Sendable, Result: Sendable>: AnyEntry {
    /// What performs an action: a method of the service with parameters and a call.
    package typealias Body = @Sendable (ActionService) -> (Parameters, Call) async throws(SkyrowError) -> Result

    package let action: Action<Parameters, Result>
    private let body: Body

    init(_ action: Action<Parameters, Result>, _ body: @escaping Body) {
        self.action = action
        self.body = body
    }

    package var name: ActionName { action.name }

    package func read(_ json: JSONView, rules: ReadingRules) throws(SkyrowError) -> PreparedAction {
        let parameters = try action.read(json, rules: rules)
        return PreparedAction(takesStepUp: action.takesStepUp(parameters)) { service, call async throws(SkyrowError) in
            let result = try await run(parameters, service, call)
            return action.writer(of: result)
        }
    }

    fileprivate func run(
        _ parameters: Parameters,
        _ service: ActionService,
        _ call: Call
    ) async throws(SkyrowError) -> Result {
        try await service.observed(name) { () async throws(SkyrowError) in try await body(service)(parameters, call) }
    }
}

/// An entry of any parameters and result.
package protocol AnyEntry: Sendable {
    var name: ActionName { get }

    /// Reads the parameters of a call; throws what is wrong with them.
    func read(_ json: JSONView, rules: ReadingRules) throws(SkyrowError) -> PreparedAction
}

/// An action with its parameters, which needs the bytes of its request no more.
package struct PreparedAction: Sendable {
    /// Whether the call takes step-up by what it asks for.
    package let takesStepUp: Bool
    package let perform: @Sendable (ActionService, Call) async throws(SkyrowError) -> ResultWriter
}

extension ActionService {
    /// Performs an action in the process; throws what the action throws, and `107` or `108` for parameters that its form refuses.
    ///
    /// ```swift
    /// let added = try await service.run(Actions.roleAdd, RoleChange(role: "editor", users: ["ann"]), Call(by: caller))
    /// ```
    ///
    /// The endpoints authenticate and admit callers; this does not.
    package func run<Parameters, Result>(
        _ action: Action<Parameters, Result>,
        _ parameters: Parameters,
        _ call: Call
    ) async throws(SkyrowError) -> Result {
        guard let entry = ActionTable.entries[action.name] as? Entry<Parameters, Result> else { throw .unexpected }
        return try await entry.run(try action.parameters.checked(parameters), self, call)
    }
}

/// Every action that is described once, with what performs it.
package enum ActionTable {
    package static let entries = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })

    private static let all: [any AnyEntry] =
        access + accountLife + codes + factors + keys + relations + roles + schema + sessions
}
