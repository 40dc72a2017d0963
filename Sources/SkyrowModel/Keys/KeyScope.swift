/// One part of what a key may do: `read`, `read_private`, `write`, `signup`, `type:note`, `type:note:read` or `action:schema:fetch`.
package enum KeyScope: Hashable, Sendable {
    /// Reading records.
    case read
    /// Reading records; for a server key also those of private databases and of `_union`.
    case readPrivate
    /// Reading and changing records.
    case write
    /// Creating accounts, logging in, and codes that verify addresses and set passwords.
    case signUp
    /// The records of a type; they are not changed when it only reads.
    case type(RecordTypeName, onlyReads: Bool)
    /// One action, which may be one that only such a scope allows. Whether it exists is known where keys are made.
    case action(ActionName)

    /// Upper bound on the scopes of a key.
    package static let maximumCount = 100

    /// Parses the text of a scope.
    ///
    /// Throws `108 InvalidArgument` for any other text, and for the actions by which a key could exceed its scopes.
    package init(_ text: String) throws(SkyrowError) {
        switch text {
        case "read": self = .read
        case "read_private": self = .readPrivate
        case "write": self = .write
        case "signup": self = .signUp
        default:
            let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard parts.count == 2 else { throw KeyScope.unknown }
            switch parts[0] {
            case "type":
                let onlyReads = parts[1].hasSuffix(":read")
                let name = onlyReads ? String(parts[1].dropLast(5)) : parts[1]
                guard let type = try? RecordTypeName(name) else { throw KeyScope.unknown }
                self = .type(type, onlyReads: onlyReads)
            case "action":
                guard (1...64).contains(parts[1].utf8.count) else { throw KeyScope.unknown }
                let action = ActionName(parts[1])
                guard !["key:create", "key:rotate"].contains(action) else { throw KeyScope.widening }
                self = .action(action)
            default: throw KeyScope.unknown
            }
        }
    }

    package var text: String {
        switch self {
        case .read: "read"
        case .readPrivate: "read_private"
        case .write: "write"
        case .signUp: "signup"
        case .type(let type, let onlyReads): "type:\(type)\(onlyReads ? ":read" : "")"
        case .action(let action): "action:\(action.rawValue)"
        }
    }

    package static let unknown = SkyrowError.invalidArgument(
        "A scope must be read, read_private, write, signup, type:<type>, type:<type>:read or action:<name of an action>."
    )
    private static let widening = SkyrowError.invalidArgument(
        "A key with scopes cannot create or rotate keys: it could gain scopes that it lacks."
    )
}

/// The purpose of a key.
public enum KeyKind: String, Hashable, Sendable, CaseIterable {
    /// Identifies a client, as an API key does.
    case client
    /// Passes the rules of records within its scopes, as the master key does.
    case server
}

/// What the scopes of a key allow, computed once: the actions that it may call, and the record types that it may access.
///
/// ```swift
/// let grant = KeyGrant(id, named: "ios", .client, [.read, .type("note", onlyReads: false)])
/// grant.missing(for: "record:save", using: .records(.writing))      // "write"
/// grant.missing(reading: "secret")     // "type:secret:read"
/// ```
///
/// A class, since each request with the key refers to it.
package final class KeyGrant: Sendable {
    package let id: KeyID
    package let name: KeyName
    package let kind: KeyKind
    package let scopes: [KeyScope]
    /// Whether a scope is about records.
    private let namesRecords: Bool
    /// Whether the scopes about records allow writing.
    private let mayWrite: Bool
    /// The allowed types, and whether their records may be changed; nil for all types, which for a server key excludes `user`.
    private let types: [RecordTypeName: Bool]?
    private let actions: Set<ActionName>
    /// Whether the key opens `_union` and private databases other than that of a logged-in user.
    package let opensPrivateDatabases: Bool

    package init(_ id: KeyID, named name: KeyName, _ kind: KeyKind, _ scopes: [KeyScope]) {
        self.id = id
        self.name = name
        self.kind = kind
        self.scopes = scopes
        mayWrite = scopes.contains(.write) || !(scopes.contains(.read) || scopes.contains(.readPrivate))
        opensPrivateDatabases = scopes.contains(.readPrivate)
        var types: [RecordTypeName: Bool] = [:]
        var actions: Set<ActionName> = []
        for scope in scopes {
            switch scope {
            case .type(let type, let onlyReads): types[type] = types[type] == true || !onlyReads
            case .action(let action): actions.insert(action)
            case .read, .readPrivate, .write, .signUp: break
            }
        }
        self.actions = actions
        self.types = types.isEmpty ? nil : types
        namesRecords = !types.isEmpty || [.read, .readPrivate, .write].contains { scopes.contains($0) }
    }

    /// Whether the key may do all that an API key may.
    package var isUnlimited: Bool { kind == .client && scopes.isEmpty }

    /// Returns the scope that the key lacks for an action; nil when it may call the action, apart from scopes for types.
    package func missing(for action: ActionName, using scope: ScopeUse) -> String? {
        if isUnlimited || actions.contains(action) { return nil }
        let reachesRecords = namesRecords || scopes.isEmpty
        switch scope {
        case .none: return nil
        case .signUp: return scopes.contains(.signUp) ? nil : "signup"
        case .named: return "action:\(action.rawValue)"
        case .records(.reading): return reachesRecords ? nil : "read"
        case .records(.writing):
            return reachesRecords && mayWrite && types.map { $0.values.contains(true) } != false ? nil : "write"
        case .account(.reading): return reachesRecords ? missing(reading: .user) : "type:user:read"
        case .account(.writing): return reachesRecords ? missing(writing: .user) : "type:user"
        }
    }

    /// Returns the scope that the key lacks to read records of a type; nil when it has it.
    ///
    /// Roles are more like rules than records, so every action that reads them requires the scope of `role:list`.
    package func missing(reading type: RecordTypeName) -> String? {
        if type == .role { return missing(for: "role:list", using: .named) }
        return reaches(type) ? nil : KeyScope.type(type, onlyReads: true).text
    }

    /// Returns the scope that the key lacks to change records of a type; nil when it has it.
    package func missing(writing type: RecordTypeName) -> String? {
        guard reaches(type), types?[type] != false else { return KeyScope.type(type, onlyReads: false).text }
        return mayWrite ? nil : "write"
    }

    private func reaches(_ type: RecordTypeName) -> Bool {
        if let types { return types[type] != nil }
        return kind == .client || type != .user
    }
}

extension KeyGrant: Hashable {
    package static func == (a: KeyGrant, b: KeyGrant) -> Bool {
        a === b || (a.id == b.id && a.name == b.name && a.kind == b.kind && a.scopes == b.scopes)
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(id)
    }
}

/// What an action requires of the scopes of a key.
package enum ScopeUse: Hashable, Sendable {
    /// Nothing.
    case none
    /// Access to records of the types that a request names and leads to.
    case records(RecordAccess.Use)
    /// Access to the account of the user, whose profile is a record of the type `user`.
    case account(RecordAccess.Use)
    case signUp
    /// A scope that names the action.
    case named
}

extension SkyrowError {
    /// `102` for a key that lacks a scope.
    package static func scopeMissing(_ scope: String) -> SkyrowError {
        SkyrowError(
            .permissionDenied,
            "The key of this request lacks the scope \(scope).",
            info: ["scope": .string(scope)]
        )
    }
}
