import SkyrowJSON
import SkyrowModel

extension FunctionRegistration {
    /// The protocol by which a server selects the dialect `skyrow/1`.
    static let skyrowProtocol = "skyrow/1"
    /// Upper bound on the bytes of an answer to `init`.
    package static let maximumBytes = 4 << 20
    /// Upper bound on the entries of each list.
    package static let maximumEntries = 1_000
    /// Upper bound on the records of a call, and its default in the dialect `skyrow/1`.
    package static let maximumBatch = 100
    /// Upper bound on the time of a call.
    package static let maximumTimeout = Duration.seconds(900)

    /// Reads the answer to `init`, which determines the dialect. Throws what is wrong with it, naming the entry.
    ///
    /// - Parameter actions: The names of actions that no function may have.
    package init(answer bytes: UnsafeRawBufferPointer, reserved actions: Set<String>) throws(RegistrationFault) {
        guard bytes.count <= Self.maximumBytes else {
            throw RegistrationFault("The answer to init has more than \(Self.maximumBytes) bytes.")
        }
        let outcome: Result<FunctionRegistration, RegistrationFault>
        do throws(JSONParseError) {
            outcome = try JSONDocument.read(bytes) { root in
                Result { () throws(RegistrationFault) in
                    try FunctionRegistration(answer: root, reserved: actions)
                }
            }
        } catch {
            throw RegistrationFault("The answer to init is not JSON. \(error.description).")
        }
        self = try outcome.get()
    }

    private init(answer json: JSONView, reserved actions: Set<String>) throws(RegistrationFault) {
        if let error = json["error"], !error.isNull {
            let failure = FunctionFailure(error)
            throw RegistrationFault("The server failed to answer init: \(excerpt(of: failure.detailed.message))")
        }
        guard let result = json["result"], result.isObject else {
            throw RegistrationFault("The answer to init has no result with the lists of functions and hooks.")
        }
        var dialect = FunctionDialect.skygear
        if let name = result["protocol"], !name.isNull {
            guard name.string == Self.skyrowProtocol else {
                throw RegistrationFault("The server speaks another protocol than \"\(Self.skyrowProtocol)\".")
            }
            dialect = .skyrow
        }
        try self.init(result, dialect: dialect, isStrict: dialect == .skyrow, reserved: actions)
    }

    /// Reads the lists of a registration.
    ///
    /// - Parameters:
    ///   - dialect: The dialect that the server speaks.
    ///   - isStrict: Whether the lists are those of `skyrow/1`: they may have its members, and no others.
    init(
        _ json: JSONView,
        dialect: FunctionDialect,
        isStrict: Bool,
        reserved actions: Set<String>
    ) throws(RegistrationFault) {
        self.init(dialect: dialect)
        let kinds = ["op", "hook", "handler", "timer", "event", "provider"]
        if isStrict {
            let known = Set(kinds + ["protocol", "dialect"])
            for (key, _) in json.members where !known.contains(key.string ?? "") {
                let name = excerpt(of: key.string ?? "")
                throw RegistrationFault("The answer to init has the unknown member \"\(name)\".")
            }
        }
        var names: Set<[String]> = []
        var merged = HandlerMerge()
        for kind in kinds {
            guard let list = try Self.list(kind, in: json) else { continue }
            for (place, element) in list.elements.enumerated() {
                let entry = try RegistrationEntry(element, kind, place: place, isStrict: isStrict)
                // A handler has an entry for each method, an event for each of its functions.
                let name = try kind == "provider" ? entry.text("id") : entry.name
                if kind != "handler", kind != "event", !names.insert([kind, name]).inserted {
                    throw entry.fault("is registered twice")
                }
                switch kind {
                case "op": functions.append(try entry.function(reserved: actions))
                case "hook": hooks.append(try entry.hook(dialect))
                case "handler": try merged.add(entry)
                case "timer": timers.append(TimerDescription(name: name, spec: try entry.spec()))
                case "event": events.insert(name)
                default:
                    guard try entry.text("type") == "auth" else { throw entry.fault("must have the type \"auth\"") }
                    providers.append(name)
                }
            }
        }
        handlers = merged.handlers
    }

    private static func list(_ kind: String, in json: JSONView) throws(RegistrationFault) -> JSONView? {
        guard let list = json.uniqueMembers.first(where: { $0.name == kind })?.value, !list.isNull else { return nil }
        guard list.isArray else { throw RegistrationFault("\"\(kind)\" in the answer to init is not a list.") }
        guard list.count <= maximumEntries else {
            throw RegistrationFault("The list \"\(kind)\" has more than \(maximumEntries) entries.")
        }
        return list
    }
}

/// What is wrong with the answer of a function server to `init`, for the operator.
package struct RegistrationFault: Error, Hashable, Sendable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}

/// The handlers of a registration, of which each method has an entry.
private struct HandlerMerge {
    var handlers: [HandlerDescription] = []
    private var places: [String: Int] = [:]

    mutating func add(_ entry: RegistrationEntry) throws(RegistrationFault) {
        let handler = try entry.handler()
        guard let place = places[handler.path] else {
            places[handler.path] = handlers.count
            handlers.append(handler)
            return
        }
        guard handlers[place].name == handler.name, handlers[place].methods.isDisjoint(with: handler.methods) else {
            throw entry.fault("is registered twice for the same path and method")
        }
        guard handlers[place].need == handler.need else {
            throw entry.fault("requires something else of callers for each of its methods")
        }
        handlers[place].methods.formUnion(handler.methods)
    }
}
