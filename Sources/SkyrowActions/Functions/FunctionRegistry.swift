package import SkyrowModel
package import SkyrowProtocol

/// The functions and hooks of an application at one moment.
package struct FunctionRegistry: Sendable {
    /// A function, and what answers it.
    package struct Function: Sendable {
        package enum Place: Sendable {
            case server(String, FunctionDialect)
            case database(SQLFunction)
        }

        package let description: FunctionDescription
        package let place: Place
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
    private let servers: [(name: String, registration: FunctionRegistration)]
    private let functions: [String: Function]
    private let hooks: [HookTrigger: [Hook]]

    package static let empty = FunctionRegistry(servers: [], database: [])

    /// - Parameters:
    ///   - servers: In the order of the settings; the first one that registers a name has it.
    ///   - database: The functions that are exposed in the database.
    package init(servers: [(name: String, registration: FunctionRegistration)], database: [SQLFunction]) {
        self.servers = servers
        var functions: [String: Function] = [:]
        var hooks: [HookTrigger: [Hook]] = [:]
        for (name, registration) in servers {
            for description in registration.functions where functions[description.name.rawValue] == nil {
                functions[description.name.rawValue] = Function(
                    description: description,
                    place: .server(name, registration.dialect)
                )
            }
            for hook in registration.hooks {
                hooks[hook.trigger, default: []].append(
                    Hook(description: hook, server: name, dialect: registration.dialect)
                )
            }
        }
        for function in database where functions[function.name.rawValue] == nil {
            functions[function.name.rawValue] = Function(
                description: function.description,
                place: .database(function)
            )
        }
        self.functions = functions
        self.hooks = hooks
    }

    package subscript(name: String) -> Function? { functions[name] }

    /// Whether any hook has this trigger, on whatever type.
    package func hasHooks(_ trigger: HookTrigger) -> Bool { hooks[trigger] != nil }

    /// Returns the hooks in the order in which they run: servers as configured, those of all types first in each.
    package func hooks(_ trigger: HookTrigger, on type: RecordTypeName) -> [Hook] {
        guard let all = hooks[trigger] else { return [] }
        let matching = all.filter { $0.description.type == nil || $0.description.type == type }
        var ordered: [Hook] = []
        for server in servers.map(\.name) {
            ordered += matching.filter { $0.server == server && $0.description.type == nil }
            ordered += matching.filter { $0.server == server && $0.description.type != nil }
        }
        return ordered
    }
}
