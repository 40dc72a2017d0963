/// The records in which a rule about a field holds, among those open to a caller, where that depends on the record.
package struct FieldReach: Hashable, Sendable {
    /// A condition on a record.
    package enum Way: Hashable, Sendable {
        /// The caller owns the record.
        case owner
        /// This field of the record contains the caller's id.
        case member(MemberField)
        /// The caller does not own the record.
        case notOwner
        /// This field of the record does not contain the caller's id.
        case notMember(MemberField)
        /// The record's access list has an entry about the caller that allows this, regardless of relations to its owner.
        case listed(AccessAction)

        /// The negation of the condition; nil for one that rules never negate.
        fileprivate var opposite: Way? {
            switch self {
            case .owner: .notOwner
            case .notOwner: .owner
            case .member(let field): .notMember(field)
            case .notMember(let field): .member(field)
            case .listed: nil
            }
        }

        fileprivate var member: MemberField? {
            switch self {
            case .owner, .notOwner, .listed: nil
            case .member(let field), .notMember(let field): field
            }
        }
    }

    /// The terms of the rule: one condition of each must hold. No term is redundant.
    package let terms: [Set<Way>]

    /// Upper bound on the terms of the union of two values.
    private static let maximumTerms = 64

    /// Creates a value from terms, at least one of which holds in some records only.
    fileprivate init(_ terms: [Set<Way>]) {
        var kept: [Set<Way>] = []
        for term in terms
        where !term.contains(where: { $0.opposite.map(term.contains) ?? false })
            && !kept.contains(where: { $0.isSubset(of: term) })
        {
            kept.removeAll { term.isSubset(of: $0) }
            kept.append(term)
        }
        self.terms = kept
    }

    /// Creates a value for the records in which one of these conditions holds.
    package init(any ways: Set<Way>) {
        self.init([ways])
    }

    /// The records that the caller owns.
    package static let owned = FieldReach(any: [.owner])

    /// Returns the records of either.
    ///
    /// For rules with very many denials the result may contain fewer records, but never more.
    package func or(_ other: FieldReach) -> FieldStanding {
        guard terms.count * other.terms.count <= Self.maximumTerms else { return .some(self) }
        return FieldStanding(terms.flatMap { term in other.terms.map { term.union($0) } })
    }

    /// The fields that the conditions read.
    package var members: Set<MemberField> {
        Set(terms.joined().compactMap(\.member))
    }

    /// Whether it holds in a record.
    ///
    /// - Parameter isListed: whether the record's access list has an entry about the caller that allows an action.
    package func holds(
        isOwner: Bool,
        isMember: (MemberField) -> Bool,
        isListed: (AccessAction) -> Bool = { _ in false }
    ) -> Bool {
        terms.allSatisfy { term in
            term.contains { way in
                switch way {
                case .owner: isOwner
                case .member(let field): isMember(field)
                case .notOwner: !isOwner
                case .notMember(let field): !isMember(field)
                case .listed(let action): isListed(action)
                }
            }
        }
    }
}

/// The records in which a rule about a field holds for a caller, among those that are open to the caller: none, some or all.
package enum FieldStanding: Hashable, Sendable {
    case none
    case some(FieldReach)
    case all

    /// The records that the caller owns.
    package static let owned = FieldStanding.some(.owned)

    /// Creates a value from terms that must all hold.
    init(_ terms: [Set<FieldReach.Way>]) {
        if terms.contains(where: \.isEmpty) {
            self = .none
            return
        }
        let reach = FieldReach(terms)
        let single = Set(reach.terms.lazy.filter { $0.count == 1 }.joined())
        if single.contains(where: { $0.opposite.map(single.contains) ?? false }) {
            self = .none
        } else {
            self = reach.terms.isEmpty ? .all : .some(reach)
        }
    }

    /// - Parameters:
    ///   - rule: the subjects that a rule allows and denies.
    ///   - members: the fields whose users the rules of the type name as subjects, as far as the type has them.
    init(_ rule: FieldSubjects, _ audience: Audience, _ members: [FieldName: MemberField]) {
        // The terms that remain after each entry, from the last to the first. A caller that no entry names is denied.
        var terms: [Set<FieldReach.Way>] = [[]]
        for entry in rule.entries.reversed() {
            let way: FieldReach.Way
            switch entry.subject {
            // A caller without a login owns nothing and is in no field.
            case .owner where audience.user != nil: way = .owner
            case .field(let name) where audience.user != nil:
                guard let member = members[name] else {
                    // A missing field, or one without ids, contains no user. A denial of its users denies everyone not allowed
                    // earlier.
                    if !entry.allows { terms = [[]] }
                    continue
                }
                way = .member(member)
            case .owner, .field: continue
            case .everyone, .users, .registered, .verified, .user, .role, .group, .apiKey, .relation:
                if audience.includes(entry.subject) { terms = entry.allows ? [] : [[]] }
                continue
            }
            if entry.allows {
                for place in terms.indices { terms[place].insert(way) }
            } else {
                terms.append(way.opposite.map { [$0] } ?? [])
            }
        }
        self.init(terms)
    }

    /// Returns the records of both.
    package func and(_ other: FieldStanding) -> FieldStanding {
        switch (self, other) {
        case (.none, _), (_, .none): .none
        case (.all, let standing), (let standing, .all): standing
        case (.some(let a), .some(let b)): FieldStanding(a.terms + b.terms)
        }
    }

    /// Returns the records of either.
    package func or(_ other: FieldStanding) -> FieldStanding {
        switch (self, other) {
        case (.all, _), (_, .all): .all
        case (.none, let standing), (let standing, .none): standing
        case (.some(let a), .some(let b)): a == b ? self : a.or(b)
        }
    }
}

/// The fields of a type that a caller does not see at all, and those that it sees in some records only.
package struct FieldView: Hashable, Sendable {
    package var hidden: Set<FieldName> = []
    package var partial: [FieldName: FieldReach] = [:]
    /// The fields of which the caller may query more or less than it sees: the records for any query, and those for a test for
    /// a known value.
    package var asked: [FieldName: [FieldStanding]] = [:]
    /// The records in which the caller sees the whole access list.
    package var list: FieldStanding

    package init(
        hidden: Set<FieldName> = [],
        partial: [FieldName: FieldReach] = [:],
        asked: [FieldName: [FieldStanding]] = [:],
        list: FieldStanding = .all
    ) {
        self.hidden = hidden
        self.partial = partial
        self.asked = asked
        self.list = list
    }

    /// The fields that the caller sees only in its own records.
    package var owned: Set<FieldName> { Set(partial.filter { $0.value == .owned }.keys) }
}
