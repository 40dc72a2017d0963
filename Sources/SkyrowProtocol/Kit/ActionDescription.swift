package import SkyrowModel

/// What is said of an action apart from its types, from which OpenRPC and the tables of the manual are generated.
///
/// ```swift
/// Actions.recordSave.description.requirement   // .userOrMaster
/// ```
package final class ActionDescription: Sendable {
    package let name: ActionName
    /// One sentence.
    package let summary: String
    package let requirement: ActionRequirement
    /// What the action requires of a key with scopes.
    package let scope: ScopeUse
    /// When a user must have proved their identity within the last minutes.
    package let stepUp: StepUp
    /// The named parameters, required ones first.
    package let parameters: [ActionParameter]
    /// The names of members that are read besides the parameters, in older forms of a request.
    package let unlisted: [String]
    package let result: JSONShape
    /// The codes of errors in a result or in one of its entries, besides ``commonErrors``.
    package let errors: [ErrorCode]
    package let cost: ActionCost
    package let effect: ActionEffect
    /// Whether it acts on the connection of its call, which must then be a WebSocket or an event stream.
    package let needsConnection: Bool
    /// How to make a result smaller that is too large for a response; nil when no parameter does.
    package let narrowing: ResultNarrowing?

    init(
        _ name: ActionName,
        _ summary: String,
        requirement: ActionRequirement,
        scope: ScopeUse,
        stepUp: StepUp = .none,
        parameters: [ActionParameter] = [],
        unlisted: [String] = [],
        result: JSONShape,
        errors: [ErrorCode],
        cost: ActionCost,
        effect: ActionEffect,
        needsConnection: Bool = false,
        narrowing: ResultNarrowing? = nil
    ) {
        self.name = name
        self.summary = summary
        self.requirement = requirement
        self.scope = scope
        self.stepUp = stepUp
        self.parameters = parameters
        self.unlisted = unlisted
        self.result = result
        self.errors = errors
        self.cost = cost
        self.effect = effect
        self.needsConnection = needsConnection
        self.narrowing = narrowing
    }
}

extension ActionDescription {
    /// Codes that any action may return.
    package static let commonErrors: [ErrorCode] = [
        .notAuthenticated, .accessKeyNotAccepted, .accessTokenNotAccepted, .badRequest, .invalidArgument,
        .responseTimeout, .rateLimited, .payloadTooLarge, .overloaded, .unexpectedError,
        .unexpectedUnableToOpenDatabase,
    ]
}

extension ActionDescription {
    /// Returns the same action with another requirement and effect, as a function of the application has it.
    package func requiring(_ requirement: ActionRequirement, effect: ActionEffect) -> ActionDescription {
        ActionDescription(
            name,
            summary,
            requirement: requirement,
            scope: scope,
            stepUp: stepUp,
            parameters: parameters,
            unlisted: unlisted,
            result: result,
            errors: errors,
            cost: cost,
            effect: effect,
            needsConnection: needsConnection,
            narrowing: narrowing
        )
    }
}

extension ActionRequirement {
    /// The codes of errors for callers that it refuses.
    var errors: [ErrorCode] {
        switch self {
        case .user: [.userDisabled]
        case .userOrMaster, .administrator: [.permissionDenied, .userDisabled]
        case .masterOrDevelopment: [.permissionDenied]
        case .nothing, .key, .keyOrToken, .master: []
        }
    }
}

/// When an action requires step-up: its user must have proved their identity within the last minutes, since the action gives an
/// account away or cannot be undone. A stolen token is not enough for it.
///
/// The master key passes without step-up.
package enum StepUp: Hashable, Sendable {
    /// For no call, unless the setting `step-up` names the action.
    case none
    /// For some calls; the text ends the sentence "Needs step-up …".
    case when(String)
    case always
}

extension ActionDescription {
    /// Whether the setting `step-up` may name the action: it uses a session, and is not `auth:stepup` itself.
    package var mayTakeStepUp: Bool { requirement.looksAtToken && name != Actions.authStepUp.name }
}

/// The largest cost of a call, which determines what the call waits for and how often it is allowed.
package enum ActionCost: Hashable, Sendable {
    /// It queries the database and changes no record; it is admitted to the client's queue of reads.
    case read
    /// It changes something.
    case write
    /// It hashes a password, a quarter of a second of a processor; the rate limit of logins counts it.
    case password
}

/// The parameters that make a result smaller, and the advice that names them.
package struct ResultNarrowing: Hashable, Sendable {
    package let parameters: [String]
    /// Ends the sentence "The result is larger than one response may be: …".
    package let advice: String
}

/// A named parameter of an action.
package typealias ActionParameter = MemberDescription

/// The shape of a JSON value, with the part of JSON Schema that the catalog needs.
package indirect enum JSONShape: Hashable, Sendable {
    case any
    case boolean
    /// Within the bounds, both included.
    case integer(minimum: Int? = nil, maximum: Int? = nil)
    /// Of at most this many characters.
    case string(maximum: Int? = nil)
    /// An RFC 3339 timestamp.
    case dateTime
    /// One of these strings.
    case oneOfStrings([String])
    case array(of: JSONShape, minimum: Int = 0, maximum: Int? = nil)
    /// An array whose first elements have these shapes, and whose others have the shape `rest`.
    case tuple([JSONShape], rest: JSONShape?)
    /// An object with these members; `others` is the shape of members that are not listed, nil forbids them.
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
    /// One sentence; empty where the name says enough.
    package let summary: String

    package init(_ name: String, _ shape: JSONShape, isRequired: Bool = false, _ summary: String = "") {
        self.name = name
        self.shape = shape
        self.isRequired = isRequired
        self.summary = summary
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

extension KeyGrant {
    /// Returns the scope that the key lacks for an action; nil when it may call the action, apart from scopes for types.
    package func missing(for action: ActionDescription) -> String? {
        missing(for: action.name, using: action.scope)
    }
}
