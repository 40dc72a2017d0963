/// The reason why a live query starts over, or why a change token cannot be continued. The set is open: later versions may add more.
///
/// ```swift
/// if case .reset(.access) = event { print("Your rights have changed.") }
/// ```
public struct LiveReset: RawRepresentable, Hashable, Sendable {
    /// The name of the reason on the wire.
    public let rawValue: String

    /// Creates a reason from its name on the wire.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// Changes may have been missed.
    public static let gap = LiveReset(rawValue: "gap")
    /// Too much changed at once to be sent change by change.
    public static let bulk = LiveReset(rawValue: "bulk")
    /// The user's rights have changed, or another user has logged in.
    public static let access = LiveReset(rawValue: "access")
    /// The database was restored, or another server has replaced it.
    public static let branch = LiveReset(rawValue: "branch")
    /// The connection was lost for longer than deletions are kept.
    public static let expired = LiveReset(rawValue: "expired")
    /// A field of the type was renamed, deleted, retyped or filled.
    public static let schema = LiveReset(rawValue: "schema")
    /// The session has ended.
    package static let session = LiveReset(rawValue: "session")

    /// The reasons of this version.
    package static let all: [LiveReset] = [.gap, .bulk, .access, .branch, .expired, .schema, .session]
    /// Those for which a change token cannot be continued.
    package static let ofTokens: [LiveReset] = [.expired, .access, .schema, .branch]
}

extension LiveReset: CustomStringConvertible {
    /// The name of the reason on the wire.
    public var description: String { rawValue }
}
