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
    case role(RoleName)
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

    /// How many entries a list may have unless a setting says otherwise.
    package static let defaultMaximum = 100
    /// How many a setting may allow; the tables take no more.
    package static let utmostMaximum = 10_000
    /// How many bytes of UTF-8 the name of a user or role in an entry may have.
    package static let maximumNameLength = 255
}

extension AccessList {
    /// Whether both lists admit the same subjects with the same levels, in whatever order and however often they name
    /// them.
    ///
    /// Write includes read. An entry for the owner adds nothing, since an owner passes any list.
    package func isSame(as other: AccessList) -> Bool {
        levels == other.levels
    }

    private var levels: [AccessSubject: AccessLevel] {
        var levels: [AccessSubject: AccessLevel] = [:]
        for entry in entries where entry.subject != .owner && levels[entry.subject] != .write {
            levels[entry.subject] = entry.level
        }
        return levels
    }
}
