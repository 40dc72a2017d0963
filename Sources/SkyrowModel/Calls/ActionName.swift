/// The name of an action, as JSON-RPC's `method`, the v1 envelope's `action` and `rpc.discover` spell it: `record:save`.
package struct ActionName: Hashable, Sendable, ExpressibleByStringLiteral {
    package let rawValue: String

    package init(_ name: String) {
        rawValue = name
    }

    package init(stringLiteral name: String) {
        rawValue = name
    }
}

/// What an action requires of its caller, checked before anything else.
package enum ActionRequirement: String, Hashable, Sendable, CaseIterable {
    /// Neither a key nor a token; one that is sent must be valid.
    case nothing
    /// A valid API or master key; an access token is optional.
    case key
    /// A valid key or a valid access token.
    case keyOrToken
    /// A logged-in user; the master key passes only when it acts as one.
    case user
    /// A logged-in user or the master key.
    case userOrMaster
    /// A user with an administrator's role, or the master key.
    case administrator
    /// The master key, or any key while the service is in development mode.
    case masterOrDevelopment
    case master
}

extension ActionRequirement {
    /// Whether an access token in the request identifies the caller.
    package var looksAtToken: Bool {
        switch self {
        case .key, .master, .masterOrDevelopment: false
        case .nothing, .keyOrToken, .user, .userOrMaster, .administrator: true
        }
    }
}
