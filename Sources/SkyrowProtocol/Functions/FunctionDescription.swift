package import SkyrowModel

/// The dialect of a function server's protocol.
package enum FunctionDialect: String, Hashable, Sendable {
    /// Skygear v1's plugin protocol, spoken by a server that names no protocol in its answer to `init`.
    case skygear
    /// `"protocol": "skyrow/1"`.
    case skyrow
}

/// A function as its server registers it.
package struct FunctionDescription: Hashable, Sendable {
    package var name: FunctionName
    package var need: FunctionNeed
    /// One sentence; empty without one.
    package var summary = ""
    /// The rules of the arguments; nil if any are accepted.
    package var parameters: ParameterSchema?
    /// The JSON Schema of the result, which is only shown.
    package var result: JSONText?
    /// The longest time of a call; nil for that of its server.
    package var timeout: Duration?
    /// Whether it changes nothing.
    package var isReadOnly = false
    /// Upper bound on the calls of a client in a minute; nil for no bound besides those of actions.
    package var rateLimit: Int?

    package init(_ name: FunctionName, need: FunctionNeed = .nothing) {
        self.name = name
        self.need = need
    }
}

/// A hook as its server registers it.
package struct HookDescription: Hashable, Sendable {
    package enum Change: String, Hashable, Sendable, CaseIterable {
        case create
        case update
    }

    package var name: String
    package var trigger: HookTrigger
    /// The record type; nil for all types, `*`.
    package var type: RecordTypeName?
    /// Whether the request does not wait for it.
    package var isAsync = false
    /// The saves for which `beforeSave` and `afterSave` run.
    package var when: Set<Change> = Set(Change.allCases)
    /// It runs only when one of these changes; empty for any change.
    package var fields: Set<FieldName> = []
    /// Upper bound on the records of a call, 1 in Skygear's dialect.
    package var batch = 1
    /// Whether the request fails when the server is away.
    package var isRequired = true
    /// The longest time of a call; nil for that of hooks of its server.
    package var timeout: Duration?

    package init(_ name: String, _ trigger: HookTrigger, on type: RecordTypeName?) {
        self.name = name
        self.trigger = trigger
        self.type = type
    }
}

/// An HTTP handler as its server registers it: the paths that its server answers.
package struct HandlerDescription: Hashable, Sendable {
    /// Such as `/web/hello`; a trailing slash means every path below.
    package var path: String
    /// The name by which its server knows it, such as `web:hello`.
    package var name: String
    /// In capital letters.
    package var methods: Set<String>
    package var need: FunctionNeed

    package init(path: String, name: String, methods: Set<String>, need: FunctionNeed = .nothing) {
        self.path = path
        self.name = name
        self.methods = methods
        self.need = need
    }
}

/// A timer as its server registers it.
package struct TimerDescription: Hashable, Sendable {
    package var name: String
    package var spec: CronSpec

    package init(name: String, spec: CronSpec) {
        self.name = name
        self.spec = spec
    }
}

/// What a function server has, as it says in its answer to `init`.
package struct FunctionRegistration: Hashable, Sendable {
    package var dialect: FunctionDialect
    package var functions: [FunctionDescription] = []
    /// In the order in which they run.
    package var hooks: [HookDescription] = []
    package var handlers: [HandlerDescription] = []
    package var timers: [TimerDescription] = []
    /// The ids of its providers of identities.
    package var providers: [String] = []
    /// The events that it wants to hear of.
    package var events: Set<String> = []

    package init(dialect: FunctionDialect) {
        self.dialect = dialect
    }
}
