package import SkyrowModel
package import SkyrowProtocol

/// The functions and hooks of an application at one moment.
package final class FunctionRegistry: Sendable {
    /// A function, and what answers it.
    package struct Function: Sendable {
        package enum Place: Sendable {
            case server(String, FunctionDialect)
            case database(SQLFunction)
        }

        package let description: FunctionDescription
        package let place: Place

        /// The server; nil for a function of the database.
        var server: String? { if case .server(let name, _) = place { name } else { nil } }
    }

    /// A hook with its server.
    package struct Hook: Hashable, Sendable {
        package let description: HookDescription
        package let server: String
        package let dialect: FunctionDialect
    }

    /// A handler with its server.
    package struct Handler: Hashable, Sendable {
        package let description: HandlerDescription
        package let server: String
    }

    /// In the order of the settings.
    let servers: [(name: String, registration: FunctionRegistration)]
    /// Sorted by name.
    let functions: [FunctionEntry]
    private let names: [String: FunctionEntry]
    /// By the names that paths have, in which a colon stands for a slash.
    private let pathNames: [String: FunctionEntry]
    private let hooks: [HookTrigger: [Hook]]
    private let exactHandlers: [String: Handler]
    /// Those of all paths below, the longest first.
    private let subtreeHandlers: [Handler]
    /// The servers of providers, the first one that registers a provider.
    private let providers: [String: String]
    /// The types that have hooks, nil for all types.
    private let hookedTypes: [HookTrigger: Set<RecordTypeName?>]

    package static let empty = FunctionRegistry(servers: [], database: [])

    /// - Parameters:
    ///   - servers: In the order of the settings; the first one that registers a name has it.
    ///   - database: The functions that are exposed in the database.
    package init(servers: [(name: String, registration: FunctionRegistration)], database: [SQLFunction]) {
        self.servers = servers
        var names: [String: FunctionEntry] = [:]
        var hooks: [HookTrigger: [Hook]] = [:]
        var exact: [String: Handler] = [:]
        var subtrees: [String: Handler] = [:]
        var providers: [String: String] = [:]
        func add(_ function: Function) {
            let name = function.description.name.rawValue
            if names[name] == nil { names[name] = FunctionEntry(function) }
        }
        for (name, registration) in servers {
            for description in registration.functions {
                add(Function(description: description, place: .server(name, registration.dialect)))
            }
            // Those of all types run before those of one.
            for hook in registration.hooks.filter({ $0.type == nil }) + registration.hooks.filter({ $0.type != nil }) {
                hooks[hook.trigger, default: []].append(
                    Hook(description: hook, server: name, dialect: registration.dialect)
                )
            }
            for description in registration.handlers {
                let handler = Handler(description: description, server: name)
                if description.path.hasSuffix("/") {
                    if subtrees[description.path] == nil { subtrees[description.path] = handler }
                } else if exact[description.path] == nil {
                    exact[description.path] = handler
                }
            }
            for provider in registration.providers where providers[provider] == nil { providers[provider] = name }
        }
        for function in database { add(Function(description: function.description, place: .database(function))) }
        functions = names.values.sorted { $0.function.description.name < $1.function.description.name }
        var pathNames: [String: FunctionEntry] = [:]
        for entry in functions where entry.function.description.name.rawValue.contains("/") {
            let name = String(entry.function.description.name.rawValue.map { $0 == "/" ? ":" : $0 })
            if pathNames[name] == nil { pathNames[name] = entry }
        }
        self.names = names
        self.pathNames = pathNames
        self.hooks = hooks
        self.providers = providers
        exactHandlers = exact
        subtreeHandlers = subtrees.values.sorted {
            ($1.description.path.utf8.count, $0.description.path) < (
                $0.description.path.utf8.count, $1.description.path
            )
        }
        hookedTypes = hooks.mapValues { Set($0.map(\.description.type)) }
    }

    package subscript(name: String) -> Function? { names[name]?.function }

    /// Returns the action of a function.
    func entry(of name: String) -> FunctionEntry? { names[name] }

    /// Returns the action of a function by a name of the v1 envelope, where `/hello/world` is `hello:world` or `hello/world`.
    func entry(v1 name: String) -> FunctionEntry? { names[name] ?? pathNames[name] }

    /// Whether any hook has this trigger, on any type.
    package func hasHooks(_ trigger: HookTrigger) -> Bool { hooks[trigger] != nil }

    /// Whether a hook has this trigger on a type.
    package func hasHooks(_ trigger: HookTrigger, on type: RecordTypeName) -> Bool {
        guard let types = hookedTypes[trigger] else { return false }
        return types.contains(nil) || types.contains(type)
    }

    /// Returns the hooks in the order in which they run: servers as configured, those of all types first in each.
    package func hooks(_ trigger: HookTrigger, on type: RecordTypeName) -> [Hook] {
        hooks[trigger]?.filter { $0.description.type == nil || $0.description.type == type } ?? []
    }

    /// All hooks, by trigger and then in the order in which they run.
    var allHooks: [Hook] { HookTrigger.allCases.flatMap { hooks[$0] ?? [] } }

    /// All handlers, sorted by path.
    var allHandlers: [Handler] {
        (Array(exactHandlers.values) + subtreeHandlers).sorted { $0.description.path < $1.description.path }
    }

    var hasHandlers: Bool { !exactHandlers.isEmpty || !subtreeHandlers.isEmpty }

    /// Returns the handler of a path: the one of exactly this path, otherwise that of the longest subtree.
    package func handler(of path: String) -> Handler? {
        exactHandlers[path] ?? subtreeHandlers.first { path.hasPrefix($0.description.path) }
    }

    /// Returns the server of a provider of identities.
    func server(ofProvider id: String) -> String? { providers[id] }

    /// Returns the servers that want to hear of an event.
    func servers(hearing event: String) -> [String] {
        servers.filter { $0.registration.events.contains(event) }.map(\.name)
    }

    /// Returns a copy in which a server has another registration.
    ///
    /// - Parameter order: the names of all servers, in the order of the settings.
    func replacing(_ registration: FunctionRegistration, of server: String, in order: [String]) -> FunctionRegistry {
        let others = servers.filter { $0.name != server } + [(server, registration)]
        let sorted = order.compactMap { name in others.first { $0.name == name } }
        let database = functions.compactMap { entry -> SQLFunction? in
            if case .database(let function) = entry.function.place { function } else { nil }
        }
        return FunctionRegistry(servers: sorted, database: database)
    }

    /// Returns what a registration has in common with a server that stands earlier in the settings, as a sentence for the
    /// operator; nil without a conflict.
    func conflict(of registration: FunctionRegistration, of server: String, in order: [String]) -> String? {
        let earlier = order.prefix { $0 != server }
        for (name, other) in servers where earlier.contains(name) {
            let functions = Set(other.functions.map(\.name))
            if let function = registration.functions.first(where: { functions.contains($0.name) }) {
                return "The servers \(name) and \(server) both register the function \(function.name)."
            }
            let paths = Set(other.handlers.map(\.path))
            if let handler = registration.handlers.first(where: { paths.contains($0.path) }) {
                return "The servers \(name) and \(server) both register the handler \(handler.path)."
            }
            if let provider = registration.providers.first(where: { other.providers.contains($0) }) {
                return "The servers \(name) and \(server) both register the provider \(provider)."
            }
        }
        return nil
    }
}
