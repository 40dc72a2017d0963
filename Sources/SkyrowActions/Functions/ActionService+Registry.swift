import SkyrowCrypto
import SkyrowJSON
package import SkyrowModel
package import SkyrowProtocol
import SkyrowStore
import SkyrowSystem

extension ActionService {
    /// Upper bound on the bytes of a stored registration.
    private static let maximumRegistration = 1 << 20
    /// Upper bound on the functions, hooks, handlers and timers of a server.
    private static let maximumEntries = 2000

    /// Makes a registration the one of its server, in all processes: stores and announces it, and applies it in this process.
    ///
    /// Throws `108 InvalidArgument` for a server that the settings do not name, for a registration that is too large, and for a name
    /// that a server has which stands earlier in the settings. The former registration then stays.
    package func register(_ registration: FunctionRegistration, of server: String) async throws(SkyrowError) {
        guard functions.servers.contains(server) else {
            throw .invalidArgument("The settings name no function server \(server).")
        }
        let entries =
            registration.functions.count + registration.hooks.count + registration.handlers.count
            + registration.timers.count + registration.providers.count + registration.events.count
        let stored = registration.stored
        guard entries <= Self.maximumEntries, stored.utf8.count <= Self.maximumRegistration else {
            throw .invalidArgument(
                "The server \(server) registers too much: at most \(Self.maximumEntries) entries in 1 MB."
            )
        }
        if let conflict = functions.registry.conflict(of: registration, of: server, in: functions.servers) {
            throw .invalidArgument(conflict)
        }
        if let provider = registration.providers.first(where: { !mayBeProvider($0) }) {
            throw .invalidArgument(
                "The provider \(provider) of the server \(server) has the name of another way to log in."
            )
        }
        try await readTokenKey()
        var hash = SHA256()
        hash.update(stored.utf8)
        try await store.functionServers.replace(stored, digest: hash.finish().bytes, of: server)
        functions.change { $0.replacing(registration, of: server, in: functions.servers) }
    }

    /// Whether a function server may register a provider of this name: it must not log in to accounts of other providers.
    private func mayBeProvider(_ id: String) -> Bool {
        (1...64).contains(id.utf8.count) && !id.hasNUL && id != "custom-token"
            && !configuration.providers.contains { $0.name == id }
    }

    /// Reads what is registered, so that hooks are known before the first request.
    ///
    /// Without function servers it does nothing: the functions of the database, which have no hooks, are read when the service
    /// listens for changes of them.
    package func prepareFunctions() async throws(SkyrowError) {
        guard !functions.servers.isEmpty else { return }
        try await readFunctions()
    }

    /// Reads what is registered whenever it may have changed, until the task is cancelled.
    func keepFunctions() async {
        for await _ in functions.reloads.stream {
            while !Task.isCancelled {
                do throws(SkyrowError) {
                    try await readFunctions()
                    break
                } catch {
                    observe(.functionsFailed(error.description))
                    // What was registered before counts until then.
                    try? await ServiceTimer.sleep(for: .seconds(1))
                }
            }
        }
    }

    /// Reads what is registered after a change by this process, which then does not wait for the notice of the change.
    ///
    /// The change stands even if this fails; then the functions are read as after a notice.
    func refreshFunctions() async {
        // What was read before the change must not replace what is read after it.
        functions.change { $0 }
        do throws(SkyrowError) {
            try await readFunctions()
        } catch {
            observe(.functionsFailed(error.description))
            functions.reload()
        }
    }

    private func readFunctions() async throws(SkyrowError) {
        let configured = functions.servers
        var isCurrent = false
        while !isCurrent {
            let epoch = functions.epoch
            var servers: [(name: String, registration: FunctionRegistration)] = []
            if !configured.isEmpty {
                try await readTokenKey()
                let stored = try await store.functionServers.all(named: configured)
                // What another version has written is registered again by its server.
                servers = configured.compactMap { name in
                    guard let text = stored.first(where: { $0.name == name })?.registration else { return nil }
                    return FunctionRegistration(stored: text).map { (name, $0) }
                }
            }
            let registry = FunctionRegistry(servers: servers, database: try await store.sqlFunctions.all())
            isCurrent = functions.replace(registry, readIn: epoch)
        }
    }

    private func readTokenKey() async throws(SkyrowError) {
        guard functions.tokenKey == nil else { return }
        functions.tokenKey = CallTokenKey(try await store.callTokenKey(), of: application)
    }
}

// MARK: Events

extension ActionService {
    /// The time that a function server has for an event.
    private static let eventTime: Duration = .seconds(10)

    /// Tells the function servers that registered it that types have changed. It waits for nothing, and drops events while too many
    /// wait.
    func noteSchemaChange(of types: [RecordTypeName]) {
        guard !functions.registry.servers(hearing: "schema-changed").isEmpty else { return }
        let writer = JSONWriter()
        writer.recordTypes(store.cache.current.recordSchema.types.values.filter { types.contains($0.name) })
        functions.events.continuation.yield(FunctionState.Event(name: "schema-changed", parameter: writer.jsonText))
    }

    /// Sends events to function servers, one after the other, until the task is cancelled.
    func sendFunctionEvents() async {
        for await event in functions.events.stream {
            for server in functions.registry.servers(hearing: event.name) {
                let call = FunctionCall(
                    .event(event.name, event.parameter),
                    of: server,
                    context: FunctionContext(),
                    timeout: Self.eventTime
                )
                do throws(SkyrowError) {
                    _ = try await functions.call(call, deadline: ContinuousClock.now + Self.eventTime)
                } catch {
                    observe(.functionsFailed("\(event.name) to \(server): \(error.description)"))
                }
            }
        }
    }
}
