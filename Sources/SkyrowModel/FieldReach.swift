/// In which of the records that are open to a caller a rule about a field holds, where that depends on the record.
package struct FieldReach: Hashable, Sendable {
    /// One way in which a record says so.
    package enum Way: Hashable, Sendable {
        /// The caller owns it.
        case owner
        /// The caller's id stands in this field of it.
        case member(MemberField)
        /// The caller does not own it.
        case notOwner
        /// The caller's id does not stand in this field of it.
        case notMember(MemberField)
        /// The list of it has an entry about the caller that allows this, whatever the caller is to its owner.
        case listed(AccessAction)

        /// The way that holds where this one does not; nil where rules never ask for that.
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

    /// Of each of these one must hold; none is there twice, and none that holds wherever another does.
    package let terms: [Set<Way>]

    /// How many terms what holds in the records of either of two may have.
    private static let maximumTerms = 64

    /// Makes the value of terms of which at least one holds in some records only.
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

    /// Records in which one of these holds.
    package init(any ways: Set<Way>) {
        self.init([ways])
    }

    /// Those that the caller owns.
    package static let owned = FieldReach(any: [.owner])

    /// What comes to the records of either.
    ///
    /// Of rules that deny very many things it may be fewer, never more.
    package func or(_ other: FieldReach) -> FieldStanding {
        guard terms.count * other.terms.count <= Self.maximumTerms else { return .some(self) }
        return FieldStanding(terms.flatMap { term in other.terms.map { term.union($0) } })
    }

    /// The fields that it asks for.
    package var members: Set<MemberField> {
        Set(terms.joined().compactMap(\.member))
    }

    /// Whether it holds in a record.
    ///
    /// - Parameter isListed: whether the record's list has an entry about the caller that allows something.
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

    /// Terms of which each must hold.
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
    ///   - rule: whom a rule allows it.
    ///   - members: the fields that rules of the type name, as far as the type has them.
    init(_ rule: FieldSubjects, _ audience: Audience, _ members: [FieldName: MemberField]) {
        // What is left to decide behind each entry, from the last one on: no one is allowed it who is none of them.
        var terms: [Set<FieldReach.Way>] = [[]]
        for entry in rule.entries.reversed() {
            let way: FieldReach.Way
            switch entry.subject {
            // Who is not logged in owns nothing and stands in no field.
            case .owner where audience.user != nil: way = .owner
            case .field(let name) where audience.user != nil:
                guard let member = members[name] else {
                    // A field that there is not, or that holds no ids, has no one in it. Who could have been denied by it is.
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

    /// In the records of both.
    package func and(_ other: FieldStanding) -> FieldStanding {
        switch (self, other) {
        case (.none, _), (_, .none): .none
        case (.all, let standing), (let standing, .all): standing
        case (.some(let a), .some(let b)): FieldStanding(a.terms + b.terms)
        }
    }

    /// In the records of either.
    package func or(_ other: FieldStanding) -> FieldStanding {
        switch (self, other) {
        case (.all, _), (_, .all): .all
        case (.none, let standing), (let standing, .none): standing
        case (.some(let a), .some(let b)): a == b ? self : a.or(b)
        }
    }
}

/// Which fields of a type a caller sees not at all, and which in some records only.
package struct FieldView: Hashable, Sendable {
    package var hidden: Set<FieldName> = []
    package var partial: [FieldName: FieldReach] = [:]
    /// The fields of which more or less may be asked than is seen: in which records anything, and in which whether they have a known
    /// value.
    package var asked: [FieldName: [FieldStanding]] = [:]
    /// In which records the caller sees the whole access list.
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

    /// Those that the caller sees in its own records only.
    package var owned: Set<FieldName> { Set(partial.filter { $0.value == .owned }.keys) }
}
