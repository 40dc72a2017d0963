import SkyrowJSON
import SkyrowModel
import SkyrowProtocol
import SkyrowStore

extension ActionTable {
    static let functions: [any AnyEntry] = [
        Entry(Actions.functionCall, ActionService.callFunction),
        Entry(Actions.functionList, ActionService.functionList),
    ]

    /// The names of actions, which no function may have.
    package static let reservedNames = Set(all.map(\.description.name.rawValue) + ["rpc.discover"])
}

extension ActionService {
    /// Throws `110 ResourceNotFound` for an unknown function, and what the function throws.
    fileprivate func callFunction(_ invocation: FunctionInvocation, _ call: Call) async throws(SkyrowError)
        -> ResultWriter
    {
        guard let function = functions.registry[invocation.name.rawValue] else {
            throw SkyrowError(.resourceNotFound, "The function \(invocation.name) does not exist.")
        }
        return try await self.call(function, invocation, call)
    }

    /// Calls a function for a caller who may call it.
    ///
    /// Throws `101 NotAuthenticated` or `102 PermissionDenied` for any other caller, `108 InvalidArgument` for arguments that break
    /// the rules of the function, `130 Conflict` while a request with the same idempotency key runs, `131 RateLimited` above the rate
    /// limit of the function, and what the function throws.
    func call(
        _ function: FunctionRegistry.Function,
        _ invocation: FunctionInvocation,
        _ call: Call
    ) async throws(SkyrowError) -> ResultWriter {
        let description = function.description
        try await require(description.need, of: call)
        try requireDepth(call)
        try functions.admit(description, call, at: clock.instant())
        try description.parameters?.check(invocation.arguments)
        if invocation.query != nil, function.server != nil {
            throw .invalidArgument(
                "Only functions of the database that return records take a query beside their arguments."
            )
        }
        guard
            let claim = IdempotencyClaim(
                key: invocation.idempotencyKey,
                action: Actions.functionCall.name,
                database: .everyone,
                isAtomic: false,
                request: invocation.fingerprintSource,
                caller: call.caller
            )
        else { return try await perform(function, invocation, call) }
        let left = call.deadline.map { $0 - clock.instant() } ?? .seconds(60)
        return try await onceOutsideTransactions(claim, within: left) { () async throws(SkyrowError) in
            try await self.perform(function, invocation, call)
        }
    }

    /// Checks that a caller may call a function or handler.
    func require(_ need: FunctionNeed, of call: Call) async throws(SkyrowError) {
        do throws(SkyrowError) {
            try need.check(call.caller, hasCredentials: call.credentials.isAny)
        } catch {
            // A disabled user counts as anonymous where no user is needed, so the error may be another one.
            if call.credentials.tokenHash != nil { _ = try await authenticate(call.credentials, for: need.requirement) }
            throw error
        }
    }

    /// Upper bound on the files in the arguments of a call.
    private static let maximumFiles = 1000

    /// Throws `108 InvalidArgument` for arguments with a file that the caller may not use: the files that a function returns get
    /// addresses, and it may return what it got.
    private func requireUsableFiles(in arguments: JSONText?, by caller: Caller) async throws(SkyrowError) {
        guard files != nil, let names = arguments?.fileNames, !names.isEmpty else { return }
        guard names.count <= Self.maximumFiles else {
            throw .invalidArgument("At most \(Self.maximumFiles) files can be in the arguments.", "args")
        }
        guard try await foreignFiles(among: names, for: caller).isEmpty else {
            throw .invalidArgument("A file in the arguments does not exist.", "args")
        }
    }

    private func perform(
        _ function: FunctionRegistry.Function,
        _ invocation: FunctionInvocation,
        _ call: Call
    ) async throws(SkyrowError) -> ResultWriter {
        try await requireUsableFiles(in: invocation.arguments, by: call.caller)
        let description = function.description
        switch function.place {
        case .database(let function):
            let key = FunctionStatistics.Key(server: nil, kind: .function, name: function.name.rawValue)
            return try await functions.counting(key) { () async throws(SkyrowError) in
                try await answer(
                    function,
                    arguments: invocation.arguments?.linkingFiles(by: links),
                    query: invocation.query,
                    call
                )
            }
        case .server(let server, _):
            let answer = try await functions.call(
                FunctionCall(
                    .function(description.name, arguments: invocation.arguments?.linkingFiles(by: links)),
                    of: server,
                    context: functionContext(of: call, timeout: description.timeout),
                    timeout: description.timeout
                ),
                deadline: call.deadline
            )
            guard case .value(let text) = answer else { throw .unexpected }
            let result = text.linkingFiles(by: links)
            return ResultWriter { $0.json(result) }
        }
    }
}

extension FunctionInvocation {
    /// What makes two calls with the same idempotency key the same request.
    fileprivate var fingerprintSource: [UInt8] {
        Array(name.rawValue.utf8) + [0] + (arguments?.utf8 ?? []) + [0] + (query?.utf8 ?? [])
    }
}

extension ParameterSchema {
    /// Checks the arguments of a call; throws `108 InvalidArgument`.
    fileprivate func check(_ arguments: JSONText?) throws(SkyrowError) {
        guard let arguments else { return try check(nil as JSONView?) }
        let document: JSONDocument
        do throws(JSONParseError) {
            document = try JSONDocument(arguments.utf8)
        } catch {
            throw SkyrowError(.badRequest, error.description + ".")
        }
        try document.withRoot { root throws(SkyrowError) in try check(root) }
    }
}

// MARK: The list

extension ActionService {
    fileprivate func functionList(_: Void, _ call: Call) async throws(SkyrowError) -> FunctionList {
        let registry = functions.registry
        let states = functions.runner?.states ?? []
        return FunctionList(
            servers: functions.servers.map { name in
                FunctionList.Server(name, states.first { $0.server == name }?.state)
            },
            functions: registry.functions.map(\.function).map { function in
                FunctionList.Entry(
                    name: function.description.name.rawValue,
                    server: function.server,
                    need: function.description.need.name,
                    roles: function.description.need.roles,
                    detail: function.description.summary,
                    counts: counts(.function, function.description.name.rawValue, of: function.server)
                )
            },
            hooks: registry.allHooks.map { hook in
                FunctionList.Entry(
                    name: hook.description.name,
                    server: hook.server,
                    detail: hook.description.trigger.rawValue,
                    type: hook.description.type?.rawValue,
                    counts: counts(.hook, hook.description.name, of: hook.server)
                )
            },
            handlers: registry.allHandlers.map { handler in
                FunctionList.Entry(
                    name: handler.description.path,
                    server: handler.server,
                    need: handler.description.need.name,
                    roles: handler.description.need.roles,
                    detail: handler.description.methods.sorted().joined(separator: " "),
                    counts: counts(.handler, handler.description.name, of: handler.server)
                )
            },
            timers: registry.servers.flatMap { server in
                server.registration.timers.map { timer in
                    FunctionList.Entry(name: timer.name, server: server.name, detail: timer.spec.text)
                }
            }
        )
    }

    private func counts(_ kind: FunctionStatistics.Key.Kind, _ name: String, of server: String?) -> CallCounts {
        functions.counts(of: FunctionStatistics.Key(server: server, kind: kind, name: name))
    }
}

extension FunctionList.Server {
    fileprivate init(_ name: String, _ state: FunctionServerState?) {
        switch state {
        case nil: self.init(name: name, state: "unknown")
        case .starting: self.init(name: name, state: "starting")
        case .ready: self.init(name: name, state: "ready")
        case .down(let reason): self.init(name: name, state: "down", reason: reason)
        case .refused(let reason): self.init(name: name, state: "refused", reason: reason)
        }
    }
}
