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
    package func fits(_ use: FieldUse) -> Bool {
        switch self {
        case .everyone, .users, .registered, .verified, .owner, .user, .role, .group: true
        // What stands in the fields of a new record is the doing of the one who makes it.
        case .field: use != .create
        case .relation: false
        }
    }
}

/// In which of the records that are open to a caller a rule about a field holds, where that depends on the record.
package struct FieldReach: Hashable, Sendable {
    /// One way in which a record says so.
    package enum Way: Hashable, Sendable {
        /// The caller owns it.
        case owner
        /// The caller's id stands in this field of it.
        case member(MemberField)
    }

    /// Of each of these one must hold; none is there twice, and none that holds wherever another does.
    package let terms: [Set<Way>]

    private init(_ terms: [Set<Way>]) {
        var kept: [Set<Way>] = []
        for term in terms where !kept.contains(where: { $0.isSubset(of: term) }) {
            kept.removeAll { term.isSubset(of: $0) }
            kept.append(term)
        }
        self.terms = kept
    }

    /// Records in which one of these holds.
    package init(any ways: Set<Way>) {
        self.init([ways])
    }

    /// Those that the caller owns.
    package static let owned = FieldReach(any: [.owner])

    /// The records of both.
    package func and(_ other: FieldReach) -> FieldReach {
        FieldReach(terms + other.terms)
    }

    /// The fields that it asks for.
    package var members: Set<MemberField> {
        Set(
            terms.joined().compactMap { way in
                if case .member(let field) = way { field } else { nil }
            }
        )
    }

    /// Whether it holds in a record.
    package func holds(isOwner: Bool, isMember: (MemberField) -> Bool) -> Bool {
        terms.allSatisfy { term in
            term.contains { way in
                switch way {
                case .owner: isOwner
                case .member(let field): isMember(field)
                }
            }
        }
    }
}

/// What a rule about a field comes to for a caller, among the records that are open to it.
package enum FieldStanding: Hashable, Sendable {
    /// In no record.
    case none
    /// In some of them.
    case some(FieldReach)
    /// In all of them.
    case all

    /// In those that the caller owns.
    package static let owned = FieldStanding.some(.owned)

    /// - Parameters:
    ///   - allow: the subjects of a rule.
    ///   - members: the fields that rules of the type name, as far as the type has them.
    init(_ allow: [Subject], _ audience: Audience, _ members: [FieldName: MemberField]) {
        guard !allow.contains(where: { audience.includes($0) }) else {
            self = .all
            return
        }
        var ways: Set<FieldReach.Way> = []
        for subject in allow {
            switch subject {
            case .owner: ways.insert(.owner)
            case .field(let name): if let member = members[name] { ways.insert(.member(member)) }
            default: break
            }
        }
        self = ways.isEmpty ? .none : .some(FieldReach(any: ways))
    }

    /// In the records of both.
    package func and(_ other: FieldStanding) -> FieldStanding {
        switch (self, other) {
        case (.none, _), (_, .none): .none
        case (.all, let standing), (let standing, .all): standing
        case (.some(let a), .some(let b)): .some(a.and(b))
        }
    }
}

/// Which fields of a type a caller sees not at all, and which in some records only.
package struct FieldView: Hashable, Sendable {
    package var hidden: Set<FieldName> = []
    package var partial: [FieldName: FieldReach] = [:]

    package init(hidden: Set<FieldName> = [], partial: [FieldName: FieldReach] = [:]) {
        self.hidden = hidden
        self.partial = partial
    }

    /// Those that the caller sees in its own records only.
    package var owned: Set<FieldName> { Set(partial.filter { $0.value == .owned }.keys) }
}
