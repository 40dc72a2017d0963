package import SkyrowJSON
package import SkyrowModel

/// Everything that is said of an action anywhere: its parameters and its result with their codecs, and what a call takes.
///
/// ```swift
/// extension Actions {
///     /// Puts users and roles into a role.
///     public static let roleAdd = Action<RoleChange, Int>(
///         .roleAdd, "Puts users and roles into a role, whose users then count as users of it.",
///         requires: .userOrMaster, cost: .write, effect: .repeatable, errors: [.permissionDenied, .duplicated],
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
    /// Whether a call with these parameters takes step-up, besides `description.stepUp`.
    package let takesStepUp: @Sendable (Parameters) -> Bool

    package var name: ActionName { description.name }

    /// - Parameters:
    ///   - summary: one sentence.
    ///   - stepUp: which calls need step-up, in words.
    ///   - takesStepUp: the calls of `StepUp.when`.
    ///   - effect: what a second call does.
    ///   - errors: the codes of errors in the result, besides those of `ActionCatalog.commonErrors`.
    ///   - v1: the parameters in the envelope of Skygear v1, if they are read differently there.
    ///   - v1Result: writes a result in that envelope with the members beside it, if it is another one there.
    package init(
        _ name: ActionName,
        _ summary: String,
        requires requirement: ActionRequirement,
        stepUp: StepUp = .none,
        takesStepUp: @escaping @Sendable (Parameters) -> Bool = { _ in false },
        cost: ActionCost,
        effect: ActionEffect,
        narrowing: ResultNarrowing? = nil,
        errors: [ErrorCode],
        _ parameters: Form<Parameters>,
        v1: Form<Parameters>? = nil,
        result: Codec<Result>,
        v1Result: (@Sendable (Result, JSONWriter) -> Void)? = nil
    ) {
        self.parameters = parameters
        self.v1 = v1 ?? parameters
        self.takesStepUp = takesStepUp
        self.result = result
        writeV1Result = v1Result ?? result.write
        description = ActionDescription(
            name,
            summary,
            requirement: requirement,
            stepUp: stepUp,
            parameters: parameters.members.map {
                ActionParameter($0.name, $0.summary, $0.shape, isRequired: $0.isRequired)
            },
            result: result.shape,
            errors: errors,
            cost: cost,
            effect: effect,
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
            v1: { [writeV1Result] in writeV1Result(value, $0) }
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

    /// - Parameter v1: writes the result in the envelope of Skygear v1; nil where it is the same.
    package init(_ write: @escaping @Sendable (JSONWriter) -> Void, v1: (@Sendable (JSONWriter) -> Void)? = nil) {
        self.write = write
        writeV1 = v1 ?? write
    }
}
