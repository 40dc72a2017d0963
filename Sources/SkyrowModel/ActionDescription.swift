/// One action as the registry declares it; the endpoints, the OpenRPC document and the manual are made from it.
///
/// ```swift
/// let action = ActionCatalog[.recordSave]
/// action.need   // .userOrMaster
/// ```
package final class ActionDescription: Sendable {
    package let name: ActionName
    /// One sentence.
    package let summary: String
    package let requirement: ActionRequirement
    /// Whether a user must have proved within the last minutes who it is.
    package let stepUp: StepUp
    /// Named parameters, those that must be there first.
    package let parameters: [ActionParameter]
    package let result: JSONShape
    /// What JSON-RPC has beside the result in `included`, if anything is there.
    package let included: JSONShape?
    /// What stands beside the result in `info`, if anything does.
    package let info: JSONShape?
    /// The codes a result or an entry of it may carry, besides those of `ActionCatalog.commonErrors`.
    package let errors: [ErrorCode]
    package let cost: ActionCost
    /// Whether a second call may have a second effect, so that a client does not repeat it by itself.
    package let changesData: Bool
    /// How the result becomes smaller when it is too large for a response; nil when no parameter makes it so.
    package let narrowing: ResultNarrowing?

    init(
        _ name: ActionName,
        _ summary: String,
        requirement: ActionRequirement,
        stepUp: StepUp = .none,
        parameters: [ActionParameter] = [],
        result: JSONShape,
        included: JSONShape? = nil,
        info: JSONShape? = nil,
        errors: [ErrorCode],
        cost: ActionCost,
        changesData: Bool,
        narrowing: ResultNarrowing? = nil
    ) {
        self.name = name
        self.summary = summary
        self.requirement = requirement
        self.stepUp = stepUp
        self.parameters = parameters
        self.result = result
        self.included = included
        self.info = info
        self.errors = errors
        self.cost = cost
        self.changesData = changesData
        self.narrowing = narrowing
    }
}

/// When an action takes step-up: its user has to have proved within the last minutes who it is, since what it does gives an account
/// away, or cannot be undone. A token that is stolen is not enough for it.
///
/// The master key passes.
package enum StepUp: Hashable, Sendable {
    /// For no call, unless the setting `step-up` names the action.
    case none
    /// For some calls; the words end the sentence "Needs step-up …".
    case when(String)
    case always
}

extension ActionDescription {
    /// Whether the setting `step-up` may name the action: there is a session, and it is not the way to prove who one is.
    package var mayTakeStepUp: Bool { requirement.looksAtToken && name != .authStepUp }
}

/// What a call costs the service most, which decides what it has to wait for and how often it may come.
package enum ActionCost: Hashable, Sendable {
    /// It asks the database and changes no record: it waits for its client's turn among the reads.
    case read
    /// It changes something.
    case write
    /// It hashes a password, a quarter of a second of a processor: the limit of logins counts it.
    case password
}

/// The parameters by which a result becomes smaller, and the advice that names them.
package struct ResultNarrowing: Hashable, Sendable {
    package let parameters: [String]
    /// Ends the sentence "The result is larger than one response may be: …".
    package let advice: String
}

/// A named parameter of an action.
package struct ActionParameter: Hashable, Sendable {
    package let name: String
    /// One sentence.
    package let summary: String
    package let shape: JSONShape
    package let isRequired: Bool

    init(_ name: String, _ summary: String, _ shape: JSONShape, isRequired: Bool = false) {
        self.name = name
        self.summary = summary
        self.shape = shape
        self.isRequired = isRequired
    }

    /// The same, which need not be there.
    var optional: ActionParameter {
        let isNullable = if case .nullable = shape { true } else { false }
        return ActionParameter(name, summary, isNullable ? shape : .nullable(shape))
    }
}

/// The shape of a JSON value, as much of JSON Schema as the catalog needs.
package indirect enum JSONShape: Hashable, Sendable {
    case any
    case boolean
    case number
    /// Within the bounds, both included.
    case integer(minimum: Int? = nil, maximum: Int? = nil)
    /// Of at most this many characters.
    case string(maximum: Int? = nil)
    /// An RFC 3339 instant.
    case dateTime
    /// One of these strings.
    case oneOfStrings([String])
    case array(of: JSONShape, minimum: Int = 0)
    /// An array whose first elements have these shapes and the others `rest`.
    case tuple([JSONShape], rest: JSONShape?)
    /// An object with these members; `others` is the shape of members not listed, nil forbids them.
    case object([JSONMember], others: JSONShape? = nil)
    case either([JSONShape])
    case nullable(JSONShape)
    /// A shape of `ActionCatalog.shapes`, which OpenRPC lists under `components.schemas`.
    case named(JSONShapeName)
}

/// A member of an object's shape.
package struct JSONMember: Hashable, Sendable {
    package let name: String
    package let shape: JSONShape
    package let isRequired: Bool

    package init(_ name: String, _ shape: JSONShape, isRequired: Bool = false) {
        self.name = name
        self.shape = shape
        self.isRequired = isRequired
    }
}

/// The shapes that several actions share.
package enum JSONShapeName: String, Hashable, Sendable, CaseIterable {
    case recordID = "RecordID"
    case value = "Value"
    case accessEntry = "AccessEntry"
    case record = "Record"
    case recordDraft = "RecordDraft"
    case entryError = "EntryError"
    case recordEntry = "RecordEntry"
    case deletedEntry = "DeletedEntry"
    case keyPath = "KeyPath"
    case predicate = "Predicate"
    case authResult = "AuthResult"
    case schema = "Schema"
    case index = "Index"
    case status = "Status"
    case role = "Role"
    case relatedUser = "RelatedUser"
}
