package import SkyrowJSON
package import SkyrowModel

/// Everything that is said of an action anywhere: its parameters and its result with their codecs, and what a call takes.
///
/// ```swift
/// extension Actions {
///     /// Puts users and roles into a role.
///     public static let roleAdd = Action<RoleChange, Int>(
///         "role:add", "Adds users and roles to a role; the users of these roles then have it, too.",
///         requires: .userOrMaster, cost: .write, effect: .repeatable, errors: [.resourceNotFound, .duplicated],
///         RoleChange.form, result: .count("added"))
/// }
/// ```
///
/// The service has a body for it in a table of SkyrowActions; OpenRPC, the check for unknown members, the client's call and its
/// retries follow from here.
public struct Action<Parameters: Sendable, Result: Sendable>: Sendable {
    package let description: ActionDescription
    package let parameters: Form<Parameters>
    /// The parameters in the envelope of Skygear v1.
    private let v1: Form<Parameters>
    package let result: Codec<Result>
    /// Writes a result in the envelope of Skygear v1, with the members beside it.
    private let writeV1Result: @Sendable (Result, JSONWriter) -> Void
    private let refusalMessage: (@Sendable (Result) -> String?)?
    /// Whether a call with these parameters takes step-up, besides `description.stepUp`.
    package let takesStepUp: @Sendable (Parameters) -> Bool

    package var name: ActionName { description.name }

    /// - Parameters:
    ///   - summary: one sentence.
    ///   - scope: what the action requires of a key with scopes, by default the scope with its name.
    ///   - stepUp: which calls need step-up, in words.
    ///   - takesStepUp: the calls of `StepUp.when`.
    ///   - effect: what a second call does; by default `.reads` for the cost `.read`, and otherwise `.once`.
    ///   - needsConnection: whether it acts on the connection of its call, a WebSocket or an event stream.
    ///   - errors: the codes of errors in the result, besides those of `requires` and ``ActionDescription/commonErrors``.
    ///   - v1: the parameters in the envelope of Skygear v1, if they are read differently there.
    ///   - unlisted: the names of members that are read besides those of the form, in older forms of a request.
    ///   - v1Result: writes a result in that envelope with the members beside it, if it is another one there.
    ///   - refusalMessage: what a response says that has no room for the result, if it is not the usual sentence.
    package init(
        _ name: ActionName,
        _ summary: String,
        requires requirement: ActionRequirement,
        scope: ScopeUse = .named,
        stepUp: StepUp = .none,
        takesStepUp: @escaping @Sendable (Parameters) -> Bool = { _ in false },
        cost: ActionCost,
        effect: ActionEffect? = nil,
        needsConnection: Bool = false,
        narrowing: ResultNarrowing? = nil,
        errors: [ErrorCode] = [],
        _ parameters: Form<Parameters>,
        v1: Form<Parameters>? = nil,
        unlisted: [String] = [],
        result: Codec<Result>,
        v1Result: (@Sendable (Result, JSONWriter) -> Void)? = nil,
        refusalMessage: (@Sendable (Result) -> String?)? = nil
    ) {
        self.parameters = parameters
        self.v1 = v1 ?? parameters
        self.takesStepUp = takesStepUp
        self.result = result
        writeV1Result = v1Result ?? result.write
        self.refusalMessage = refusalMessage
        description = ActionDescription(
            name,
            summary,
            requirement: requirement,
            scope: scope,
            stepUp: stepUp,
            parameters: parameters.members,
            unlisted: unlisted,
            result: result.shape,
            errors: errors + requirement.errors.filter { !errors.contains($0) },
            cost: cost,
            effect: effect ?? (cost == .read ? .reads : .once),
            needsConnection: needsConnection,
            narrowing: narrowing
        )
    }
}

extension Action {
    /// Reads the parameters of a call; throws what is wrong with them.
    package func read(_ json: JSONView, rules: ReadingRules) throws(SkyrowError) -> Parameters {
        try rules == .v1 ? v1.read(json) : parameters.read(json)
    }

    /// What writes a result into a response.
    package func writer(of value: Result) -> ResultWriter {
        ResultWriter(
            { [write = result.write] in write(value, $0) },
            v1: { [writeV1Result] in writeV1Result(value, $0) },
            refusalMessage: refusalMessage?(value)
        )
    }
}

/// The actions that are described once, by name.
public enum Actions {}

/// What a call does to the data, and so whether a client may repeat it when the response is lost.
package enum ActionEffect: Hashable, Sendable {
    /// It changes nothing.
    case reads
    /// A second call leaves the data as the first did.
    case repeatable
    /// A second call may have a second effect.
    case once
}

/// A result with its codec, which any response can be written from.
package struct ResultWriter: Sendable {
    package let write: @Sendable (JSONWriter) -> Void
    /// Writes the result in the envelope of Skygear v1, with the members beside it.
    package let writeV1: @Sendable (JSONWriter) -> Void
    /// What a response says that has no room for the result; nil: the usual sentence.
    package let refusalMessage: String?

    /// - Parameter v1: writes the result in the envelope of Skygear v1; nil where it is the same.
    package init(
        _ write: @escaping @Sendable (JSONWriter) -> Void,
        v1: (@Sendable (JSONWriter) -> Void)? = nil,
        refusalMessage: String? = nil
    ) {
        self.write = write
        writeV1 = v1 ?? write
        self.refusalMessage = refusalMessage
    }
}
