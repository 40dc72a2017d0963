/// An action on a record that access lists control.
public enum AccessAction: String, Hashable, Sendable, CaseIterable {
    case read
    case update
    case delete
}

/// The level of an entry of an access list; each level includes reading.
public enum AccessLevel: String, Hashable, Sendable, CaseIterable {
    case read
    case update
    case delete
    /// Updating and deleting.
    case write
}

extension AccessLevel {
    /// Whether the level allows an action.
    public func allows(_ action: AccessAction) -> Bool {
        switch (self, action) {
        case (_, .read), (.write, _), (.update, .update), (.delete, .delete): true
        case (.read, _), (.update, .delete), (.delete, .update): false
        }
    }

    /// Returns the lowest level that allows what either of the two allows.
    package func with(_ other: AccessLevel) -> AccessLevel {
        if self == other || other == .read { return self }
        return self == .read ? other : .write
    }
}

/// One entry of a record's `_access` list, `{"role": "editor", "level": "write"}`.
public struct AccessEntry: Hashable, Sendable {
    public var subject: Subject
    public var level: AccessLevel

    public init(_ subject: Subject, _ level: AccessLevel) {
        self.subject = subject
        self.level = level
    }
}

/// A record's access list: a set of subjects, each with a level. An empty list admits only the owner.
///
/// ```swift
/// let list = AccessList([AccessEntry(.role("editor"), .delete), AccessEntry(.everyone, .read), AccessEntry(.role("editor"), .update)])
/// list == AccessList([AccessEntry(.everyone, .read), AccessEntry(.role("editor"), .write)])  // true
/// ```
public struct AccessList: Hashable, Sendable {
    /// One entry per subject, in the order of ``Subject``.
    public let entries: [AccessEntry]

    /// Creates a list from entries in any order; entries about one subject become one that allows what each of them does.
    public init(_ entries: [AccessEntry]) {
        var sorted = entries
        sorted.sort { $0.subject < $1.subject }
        var set: [AccessEntry] = []
        set.reserveCapacity(sorted.count)
        for entry in sorted {
            if let last = set.indices.last, set[last].subject == entry.subject {
                set[last].level = set[last].level.with(entry.level)
            } else {
                set.append(entry)
            }
        }
        self.entries = set
    }

    /// The default upper bound on the entries of a list.
    package static let defaultMaximum = 100
    /// Upper bound on the number that a setting may allow.
    package static let utmostMaximum = 10_000
    /// Upper bound on the UTF-8 bytes of the name in an entry.
    package static let maximumNameLength = 255
}

extension AccessList {
    /// Whether both lists admit the same subjects with the same levels.
    ///
    /// An entry for the owner adds nothing, since an owner passes every list.
    package func isSame(as other: AccessList) -> Bool {
        let (mine, others) = (withoutOwner, other.withoutOwner)
        return mine.elementsEqual(others)
    }

    private var withoutOwner: some Sequence<AccessEntry> { entries.lazy.filter { $0.subject != .owner } }

    /// Whether an entry names a user, a role, a group, a key or a relation.
    package var namesSomeone: Bool { entries.contains { $0.subject.name != nil } }

    /// The part of the list that every reader of its record sees: the entries that name no user, role, group, key or relation.
    package var shownToAll: AccessList { AccessList(entries.filter { $0.subject.name == nil }) }

    /// The relations of users in the entries; they come last in the order of ``Subject``.
    package var relations: [Subject.Relation] {
        var relations: [Subject.Relation] = []
        for entry in entries.reversed() {
            guard case .relation(let relation) = entry.subject else { break }
            relations.append(relation)
        }
        return relations
    }

    /// Whether an entry about the audience allows an action.
    package func admits(_ audience: Audience, _ action: AccessAction) -> Bool {
        entries.contains { $0.level.allows(action) && audience.includes($0.subject) }
    }
}
