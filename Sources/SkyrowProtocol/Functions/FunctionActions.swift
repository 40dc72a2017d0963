package import SkyrowJSON
public import SkyrowModel

/// A call of a function of the application.
package struct FunctionInvocation: Sendable {
    package var name: FunctionName
    /// An object or an array; nil for none.
    package var arguments: JSONText?
    package var idempotencyKey: String?
    /// The members of `record:query` for a function of the database that returns records, as an object; nil for none.
    package var query: JSONText?

    package init(
        _ name: FunctionName,
        arguments: JSONText? = nil,
        idempotencyKey: String? = nil,
        query: JSONText? = nil
    ) {
        self.name = name
        self.arguments = arguments
        self.idempotencyKey = idempotencyKey
        self.query = query
    }

    /// Reads the arguments of a call; throws `107 BadRequest` for what is neither an object nor an array.
    package static func arguments(_ json: JSONView?) throws(SkyrowError) -> JSONText? {
        guard let json, !json.isNull else { return nil }
        guard json.isObject || json.isArray else { throw .wrongType("args", "an object or an array") }
        return json.jsonText
    }

    fileprivate static let form = Form<FunctionInvocation>(
        [
            MemberDescription(
                "name",
                "The name of the function.",
                Codec<FunctionName>.functionName.shape,
                isRequired: true
            ),
            MemberDescription(
                "args",
                "The arguments, by name or in order.",
                .nullable(.either([.object([], others: .any), .array(of: .any)]))
            ),
            .idempotencyKey,
        ] + Actions.recordQuery.description.parameters.filter { QueryRequest.functionMembers.contains($0.name) }
    ) { json throws(SkyrowError) in
        let parameters = Parameters(json)
        return FunctionInvocation(
            try FunctionName(parameters.required("name", parameters.string("name"))),
            arguments: try arguments(json["args"]),
            idempotencyKey: try parameters.idempotencyKey(),
            query: try query(json)
        )
    } write: { invocation, writer in
        writer.beginObject()
        writer.member("name", invocation.name.rawValue)
        if let arguments = invocation.arguments {
            writer.key("args")
            writer.json(arguments)
        }
        if let key = invocation.idempotencyKey { writer.member("idempotency_key", key) }
        if let query = invocation.query, let document = try? JSONDocument(query.utf8) {
            document.withRoot { root in
                for (name, value) in root.uniqueMembers {
                    writer.key(name)
                    writer.json(value.jsonText)
                }
            }
        }
        writer.endObject()
    }

    /// Collects the members of the query, whose types are checked here and whose contents by the query.
    private static func query(_ json: JSONView) throws(SkyrowError) -> JSONText? {
        let parameters = Parameters(json)
        _ = try parameters.string("database_id")
        _ = try parameters.array("sort")
        _ = try parameters.object("include")
        _ = try parameters.string("include_form")
        _ = try parameters.array("select")
        _ = try parameters.array("omit")
        _ = try parameters.array("desired_keys")
        _ = try parameters.integer("limit", in: 0...Int.max)
        _ = try parameters.integer("offset", in: 0...Int.max)
        _ = try parameters.string("after")
        _ = try parameters.string("before")
        _ = try parameters.boolean("last")
        _ = try parameters.boolean("required")
        if let predicate = parameters["predicate"], !predicate.isArray {
            throw parameters.wrongType("predicate", "an array")
        }
        if let count = parameters["count"], count.boolean == nil, !count.isString {
            throw parameters.wrongType("count", "true, false or \"estimate\"")
        }
        let writer = JSONWriter(capacity: 256)
        writer.beginObject()
        for (name, value) in json.uniqueMembers where QueryRequest.functionMembers.contains(name) && !value.isNull {
            writer.key(name)
            writer.json(value.jsonText)
        }
        writer.endObject()
        return writer.count > 2 ? writer.jsonText : nil
    }
}

/// The calls of a function, hook or handler by one process since its start.
public struct CallCounts: Hashable, Sendable {
    public var calls: Int
    /// Those that failed, which `calls` includes.
    public var errors: Int
    /// The time that half of the calls took at most, in microseconds, to the next step of a coarse scale; nil without calls.
    public var median: Int?
    /// The same for 99 of 100 calls.
    public var p99: Int?

    package init(calls: Int = 0, errors: Int = 0, median: Int? = nil, p99: Int? = nil) {
        self.calls = calls
        self.errors = errors
        self.median = median
        self.p99 = p99
    }

    fileprivate static let form = Form(
        CallCounts.init(calls:errors:median:p99:),
        Member("calls", \.calls, .integer(0...Int.max), "The calls since the start of the process."),
        Member("errors", \.errors, .integer(0...Int.max), "How many of them failed."),
        Member(ifAny: "p50_us", \.median, .integer(0...Int.max), "The median of their times in microseconds."),
        Member(ifAny: "p99_us", \.p99, .integer(0...Int.max), "What 99 of 100 of them took at most.")
    )
}

/// What is registered, with the states of servers and the calls of the process that responds.
public struct FunctionList: Sendable {
    public struct Server: Hashable, Sendable {
        public var name: String
        /// `starting`, `ready`, `down`, `refused` or `unknown`.
        public var state: String
        /// Why it is down or refused.
        public var reason: String?

        package init(name: String, state: String, reason: String? = nil) {
            self.name = name
            self.state = state
            self.reason = reason
        }

        fileprivate static let form = Form(
            Server.init(name:state:reason:),
            Member("name", \.name, .string, "Its name in the settings."),
            Member("state", \.state, .string, "`starting`, `ready`, `down`, `refused` or `unknown`."),
            Member(ifAny: "reason", \.reason, .string, "Why it is down or refused.")
        )
    }

    /// A function, hook, handler or timer.
    public struct Entry: Hashable, Sendable {
        /// The name; of a handler its path.
        public var name: String
        /// nil for a function of the database.
        public var server: String?
        /// What it requires of its caller, such as `user`; nil for hooks and timers.
        public var need: String?
        /// The roles of `"need": "roles"`.
        public var roles: [RoleName]
        /// The trigger of a hook, the methods of a handler, the spec of a timer, or the summary of a function.
        public var detail: String
        /// The record type of a hook; nil for all types.
        public var type: String?
        public var counts: CallCounts

        package init(
            name: String,
            server: String?,
            need: String? = nil,
            roles: [RoleName] = [],
            detail: String = "",
            type: String? = nil,
            counts: CallCounts = CallCounts()
        ) {
            self.name = name
            self.server = server
            self.need = need
            self.roles = roles
            self.detail = detail
            self.type = type
            self.counts = counts
        }

        fileprivate static let form = Form(
            Entry.init(name:server:need:roles:detail:type:counts:),
            Member("name", \.name, .string, "The name; of a handler its path."),
            Member(ifAny: "server", \.server, .string, "Its function server; absent for a function of the database."),
            Member(ifAny: "need", \.need, .string, "What it requires of its caller."),
            Member("roles", \.roles, .list(of: .roleName), "The roles of the requirement `roles`.", absent: []),
            Member(
                "detail",
                \.detail,
                .string,
                "The trigger of a hook, the methods of a handler, when a timer is due, or the summary of a function.",
                absent: ""
            ),
            Member(ifAny: "type", \.type, .string, "The record type of a hook; absent for all types."),
            Member(\.counts, members: CallCounts.form)
        )
    }

    public var servers: [Server]
    public var functions: [Entry]
    public var hooks: [Entry]
    public var handlers: [Entry]
    public var timers: [Entry]

    package init(
        servers: [Server] = [],
        functions: [Entry] = [],
        hooks: [Entry] = [],
        handlers: [Entry] = [],
        timers: [Entry] = []
    ) {
        self.servers = servers
        self.functions = functions
        self.hooks = hooks
        self.handlers = handlers
        self.timers = timers
    }

    fileprivate static let form = Form(
        FunctionList.init(servers:functions:hooks:handlers:timers:),
        Member(
            "servers",
            \.servers,
            .list(of: .object(Server.form)),
            "The function servers, in the order of the settings."
        ),
        Member("functions", \.functions, entries, "The functions."),
        Member("hooks", \.hooks, entries, "The hooks, in the order in which they run."),
        Member("handlers", \.handlers, entries, "The HTTP handlers."),
        Member("timers", \.timers, entries, "The timers.")
    )

    private static let entries = Codec<[Entry]>.list(of: .object(Entry.form))
}

extension Codec<FunctionName> {
    package static let functionName = Codec(.string(maximum: FunctionName.maximumLength)) {
        json,
        name throws(SkyrowError) in
        guard let text = json.string else { throw .wrongType(name, "a string") }
        return try FunctionName(text)
    } write: { name, writer in
        writer.string(name.rawValue)
    }
}

extension Codec<ResultWriter> {
    /// Any JSON, written as the function returned it.
    fileprivate static let anything = Codec(.any) { json, _ in
        let text = json.jsonText
        return ResultWriter { $0.json(text) }
    } write: { result, writer in
        result.write(writer)
    }
}

extension Actions {
    /// Calls a function of the application.
    package static let functionCall = Action<FunctionInvocation, ResultWriter>(
        "function:call",
        "Calls a function of the application and returns its result.",
        requires: .nothing,
        cost: .write,
        errors: [
            .permissionDenied, .userDisabled, .resourceNotFound, .pluginUnavailable, .pluginTimeout,
            .pluginInitializing,
            .conflict, .idempotencyKeyReused,
        ],
        FunctionInvocation.form,
        result: .anything,
        v1Result: { result, writer in result.writeV1(writer) }
    )

    /// What is registered.
    public static let functionList = Action<Void, FunctionList>(
        "function:list",
        "Lists function servers with their states, functions, hooks, handlers and timers.",
        requires: .master,
        cost: .read,
        errors: [.permissionDenied],
        .none,
        result: .object(FunctionList.form)
    )
}
