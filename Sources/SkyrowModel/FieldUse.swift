/// What a rule about a field is about.
public enum FieldUse: String, Hashable, Sendable, CaseIterable {
    /// Giving the field a value in a new record.
    case create
    /// Seeing the field, and asking about it.
    case read
    /// Changing the field of a record that is there.
    case update
}

extension Subject {
    /// Whether a rule about a field may name it.
    package var fitsField: Bool {
        switch self {
        case .everyone, .users, .registered, .verified, .owner, .user, .role, .group: true
        case .relation, .field: false
        }
    }
}

/// What a rule about a field comes to for a caller, among the records that are open to it.
package enum FieldStanding: Int, Hashable, Sendable, Comparable {
    /// In no record.
    case none
    /// In those that the caller owns.
    case owned
    /// In all of them.
    case all

    /// - Parameter allow: the subjects of a rule.
    init(_ allow: [Subject], _ audience: Audience) {
        if allow.contains(where: { audience.includes($0) }) {
            self = .all
        } else {
            self = allow.contains(.owner) ? .owned : .none
        }
    }

    package static func < (a: FieldStanding, b: FieldStanding) -> Bool { a.rawValue < b.rawValue }
}

/// Which fields of a type a caller sees not at all, and which in its own records only.
package struct FieldView: Hashable, Sendable {
    package var hidden: Set<FieldName> = []
    package var owned: Set<FieldName> = []

    package init(hidden: Set<FieldName> = [], owned: Set<FieldName> = []) {
        self.hidden = hidden
        self.owned = owned
    }
}
