/// What an entry of an access list allows; write includes read.
public enum AccessLevel: String, Hashable, Sendable, CaseIterable {
    case read
    case write
}

/// Whom an entry of an access list means.
public enum AccessSubject: Hashable, Sendable {
    /// `{"public": true}`: everyone for reading, every logged-in user for writing.
    case everyone
    /// `{"owner": true}`: the record's owner, who passes any record list anyway.
    case owner
    /// `{"user_id": "…"}`
    case user(UserID)
    /// `{"role": "…"}`
    case role(String)
}

/// One entry of a record's `_access` list, `{"role": "editor", "level": "write"}`.
public struct AccessEntry: Hashable, Sendable {
    public var subject: AccessSubject
    public var level: AccessLevel

    public init(_ subject: AccessSubject, _ level: AccessLevel) {
        self.subject = subject
        self.level = level
    }
}

/// A record's own access list; an empty one admits the owner alone.
public struct AccessList: Hashable, Sendable {
    public var entries: [AccessEntry]

    public init(_ entries: [AccessEntry]) {
        self.entries = entries
    }
}
