/// One part of what a key may do: `read`, `read_private`, `write`, `signup`, `type:note`, `type:note:read` or `action:schema:fetch`.
package enum KeyScope: Hashable, Sendable {
    /// Reading records.
    case read
    /// Reading records, for a key of a server those of private databases and of `_union` too.
    case readPrivate
    /// Reading and changing records.
    case write
    /// Making accounts, logging in, and codes that verify addresses and set passwords.
    case signUp
    /// The records of a type, of which nothing is changed where it only reads.
    case type(RecordTypeName, onlyReads: Bool)
    /// An action that needs to be named, or any other.
    case action(ActionName)

    /// How many scopes a key has at most.
    package static let maximumCount = 100

    /// Reads the text of a scope.
    ///
    /// Throws `108 InvalidArgument` for a text that is none, and for the actions by which a key would get past its scopes.
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
                guard let action = ActionName(rawValue: parts[1]) else { throw KeyScope.unknown }
                guard ![.keyCreate, .keyRotate].contains(action) else { throw KeyScope.widening }
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

    private static let unknown = SkyrowError.invalidArgument(
        "A scope is read, read_private, write, signup, type:<type>, type:<type>:read or action:<name of an action>."
    )
    private static let widening = SkyrowError.invalidArgument(
        "A key with scopes makes no keys and gives them no other texts: it would get what it lacks."
    )
}

/// What a key is for.
package enum KeyKind: String, Hashable, Sendable, CaseIterable {
    /// It lets clients in, as an API key does.
    case client
    /// It passes the rules of records, as the master key does, within its scopes.
    case server
}

/// What the scopes of a key come to, settled once: which actions it may call, and which record types they may touch.
///
/// ```swift
/// let grant = KeyGrant(id, named: "ios", .client, [.read, .type("note", onlyReads: false)])
/// grant.missing(for: .recordSave)      // "write"
/// grant.missing(reading: "secret")     // "type:secret:read"
/// ```
///
/// An object, since each request with the key refers to it.
package final class KeyGrant: Sendable {
    package let id: KeyID
    package let name: KeyName
    package let kind: KeyKind
    package let scopes: [KeyScope]
    /// Whether any scope is about records.
    private let namesRecords: Bool
    /// Whether no scope about records only reads.
    private let mayWrite: Bool
    /// The types that it is for, and whether it changes their records; nil for all, which for a server's key are all but
    /// `user`.
    private let types: [RecordTypeName: Bool]?
    private let actions: Set<ActionName>
    /// Whether private databases are open to it, and `_union`, where they are not those of a user who is logged in.
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

    /// Whether it may do all that an API key may.
    package var isUnlimited: Bool { kind == .client && scopes.isEmpty }

    /// The scope that it lacks for an action; nil where it may call it, as far as that is not a matter of types.
    package func missing(for action: ActionName) -> String? {
        if isUnlimited || actions.contains(action) { return nil }
        let reachesRecords = namesRecords || scopes.isEmpty
        switch action.scopeUse {
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

    /// The scope that it lacks to reach records of a type; nil where it has it.
    ///
    /// Roles are rather rules than records, whichever action reads them: they take the scope of `role:list`.
    package func missing(reading type: RecordTypeName) -> String? {
        if type == .role { return missing(for: .roleList) }
        return reaches(type) ? nil : KeyScope.type(type, onlyReads: true).text
    }

    /// The scope that it lacks to change records of a type; nil where it has it.
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

/// What an action asks of the scopes of a key.
package enum ScopeUse: Hashable, Sendable {
    /// Nothing.
    case none
    /// Records of the types that a request names and leads to.
    case records(RecordAccess.Use)
    /// The account of the user, whose profile is a record of the type `user`.
    case account(RecordAccess.Use)
    case signUp
    /// A scope of its own.
    case named
}

extension ActionName {
    /// What the action asks of a key with scopes. A new action has to say so here.
    package var scopeUse: ScopeUse {
        switch self {
        case .authLogOut, .connectionAuthenticate: .none
        case .recordFetch, .recordQuery, .recordAggregate, .changesFetch, .changesCompare, .liveSubscribe,
            .liveUnsubscribe, .liveWatch, .liveTicket:
            .records(.reading)
        case .recordSave, .recordUpdate, .recordDelete, .recordTransfer: .records(.writing)
        case .authSignUp, .authLogIn, .authLogInFactor, .authVerifyRequest, .authVerifyConfirm, .authResetRequest,
            .authResetConfirm, .authEmailUndo, .authLinkRequest, .authLinkLogIn, .authProviderLogIn,
            .ssoCustomTokenLogIn, .authProviderStart, .authProviderFinish:
            .signUp
        case .me, .authBecome, .authProviderList, .authFactorList, .sessionList, .relationQuery, .relationRequests,
            .roleGet, .groupList:
            .account(.reading)
        case .authPassword, .authStepUp, .authRegister, .authDelete, .authRotate, .authDefaultAccessSet,
            .authEmailChange, .authEmailConfirm, .authMerge, .authProviderLink, .authProviderUnlink, .authTOTPEnrol,
            .authTOTPConfirm, .authTOTPRemove, .sessionRevoke, .authProviderToken,
            .relationAdd, .relationRemove, .relationBlock:
            .account(.writing)
        case .schemaFetch, .schemaCreate, .schemaRename, .schemaDelete, .schemaIndexCreate, .schemaIndexDelete,
            .schemaIndexList, .schemaAccess, .schemaAccessSet, .schemaAccessGet, .schemaDefaultAccess,
            .schemaFieldAccessGet, .schemaFieldAccessUpdate, .authDisableSet,
            .authInvite, .userDelete,
            .roleAssign, .roleRevoke, .roleDefault, .roleAdmin, .roleSave, .roleDelete, .roleAdd, .roleRemove,
            .roleMembers, .roleList, .groupAdd, .groupRemove, .authResetPassword, .keyCreate, .keyList, .keyRotate,
            .keyRevoke, .ssoOAuthLogIn, .ssoOAuthSignUp, .ssoOAuthLink, .ssoOAuthUnlink:
            .named
        }
    }
}

extension SkyrowError {
    /// `102` for a key without a scope.
    package static func scopeMissing(_ scope: String) -> SkyrowError {
        SkyrowError(
            .permissionDenied,
            "The key of this request lacks the scope \(scope).",
            info: ["scope": .string(scope)]
        )
    }
}
