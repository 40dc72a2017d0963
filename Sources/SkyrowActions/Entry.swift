package import SkyrowJSON
package import SkyrowModel
package import SkyrowProtocol
import SkyrowStore

/// A row of the service's table: an action, and the method that performs it.
///
/// ```swift
/// Entry(Actions.roleAdd, ActionService.addToRole)
/// ```
package final class Entry<Parameters: Sendable, Result: Sendable>: AnyEntry {
    /// What performs an action: a method of the service with parameters and a call.
    package typealias Body = @Sendable (ActionService) -> (Parameters, Call) async throws(SkyrowError) -> Result

    package let action: Action<Parameters, Result>
    package let knownParameters: KnownParameters
    private let body: Body

    init(_ action: Action<Parameters, Result>, _ body: @escaping Body) {
        self.action = action
        self.body = body
        knownParameters = KnownParameters(of: action.description)
    }

    package var description: ActionDescription { action.description }

    package func read(_ json: JSONView, rules: ReadingRules) throws(SkyrowError) -> PreparedAction {
        let parameters = try action.read(json, rules: rules)
        return PreparedAction(takesStepUp: action.takesStepUp(parameters)) { service, call async throws(SkyrowError) in
            self.action.writer(of: try await self.run(parameters, service, call))
        }
    }

    func run(_ parameters: Parameters, _ service: ActionService, _ call: Call) async throws(SkyrowError) -> Result {
        // As `observed` does: each frame between takes instructions of every call.
        do throws(SkyrowError) {
            let result = try await body(service)(parameters, call)
            service.noteSuccess(of: description)
            return result
        } catch {
            service.noteFailure(error, of: description)
            throw error
        }
    }
}

/// An entry of any parameters and result.
package protocol AnyEntry: Sendable {
    var description: ActionDescription { get }
    var knownParameters: KnownParameters { get }

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
        guard let entry = ActionTable[action.name] as? Entry<Parameters, Result> else { throw .unexpected }
        return try await entry.run(try action.parameters.checked(parameters), self, call)
    }
}

/// Every action with what performs it, in the order of the manual.
package enum ActionTable {
    package static let all: [any AnyEntry] =
        records + schema + access + accounts + accountLife + codes + factors
        + providers + sessions + roles + relations + keys + live + changes + files + functions + sqlFunctions

    private static let ordinals = Dictionary(uniqueKeysWithValues: zip(all.map(\.description.name), 0...))

    package static subscript(name: ActionName) -> (any AnyEntry)? { ordinals[name].map { all[$0] } }

    /// The index among all actions, for tables of counters.
    package static func ordinal(of name: ActionName) -> Int { ordinals[name] ?? 0 }

    /// `; the nearest is record:save`, for the error about a misspelled name; empty when no name is near.
    ///
    /// Only names of at most 64 bytes are compared.
    ///
    /// - Parameter others: further names, those of functions.
    package static func suggestion(for name: String, besides others: [String] = []) -> String {
        guard name.utf8.count <= 64,
            let nearest = nearestName(to: name, of: all.map(\.description.name.rawValue) + others)
        else { return "" }
        return "; the nearest is \(nearest)"
    }
}
