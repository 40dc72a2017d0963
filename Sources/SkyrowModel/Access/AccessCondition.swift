/// The condition on a record under which rules allow a caller something: an action on the record, or a use of one of its fields.
///
/// What rules say about the caller alone is settled when the condition is made; tests of the record remain. A condition has two
/// interpreters, ``holds(isOwner:isMember:isUnlisted:isListed:isRelated:)`` here and the SQL in `SkyrowStore`; seeded tests
/// verify that they agree.
///
/// ```swift
/// AccessCondition(allowing: [.owner, .role("staff")], audience, [:])  // .always for staff, .owned for other users
/// ```
package struct AccessCondition: Sendable {
    /// A test of a record for a caller.
    package enum Test: Hashable, Sendable {
        /// The record has no access list.
        case unlisted
        /// The caller owns the record.
        case owner
        /// The caller owns the record, which has an access list.
        case listedOwner
        /// The caller does not own the record.
        case notOwner
        /// The record's access list has an entry about the caller that allows this, regardless of relations to its owner.
        case listed(AccessAction)
        /// This field of the record contains the caller's id.
        case member(MemberField)
        /// This field of the record does not contain the caller's id.
        case notMember(MemberField)
        /// The record's access list has an entry about a relation of the caller to its owner that allows this.
        case related(AccessAction, RelationEntries)
        /// The record has no access list, and this field of it contains the caller's id.
        case unlistedMember(MemberField)
    }

    /// One test of each term must hold. No term is redundant, and the tests of a term have a fixed order, so that equal
    /// conditions have equal texts.
    package let terms: [[Test]]
    /// The hash of the terms, since conditions are parts of keys.
    private let digest: Int

    /// Upper bound on the terms of the union of two conditions.
    private static let maximumTerms = 64

    private init(_ terms: some Sequence<Set<Test>>) {
        var kept: [Set<Test>] = []
        for term in terms where !term.contains(where: { $0.opposite.map(term.contains) ?? false }) {
            if kept.contains(where: { Self.implies($0, term) }) { continue }
            kept.removeAll { Self.implies(term, $0) }
            kept.append(term)
        }
        let single = Set(kept.lazy.filter { $0.count == 1 }.joined())
        if single.contains(where: { $0.opposite.map(single.contains) ?? false }) { kept = [[]] }
        self.terms = kept.map { $0.sorted() }
        digest = self.terms.hashValue
    }

    /// Whether the second term holds wherever the first does.
    private static func implies(_ term: Set<Test>, _ other: Set<Test>) -> Bool {
        term.allSatisfy { test in other.contains(test) || test.weaker.contains(where: other.contains) }
    }

    /// Creates a condition that holds where one of these tests does.
    package init(any tests: Set<Test>) {
        self.init([tests])
    }

    /// Holds for every record.
    package static let always = AccessCondition([])
    /// Holds for no record.
    package static let never = AccessCondition(any: [])
    /// Holds for the records that the caller owns.
    package static let owned = AccessCondition(any: [.owner])

    package var isAlways: Bool { terms.isEmpty }
    package var isNever: Bool { terms.first?.isEmpty ?? false }

    /// Returns the condition that both hold.
    package func and(_ other: AccessCondition) -> AccessCondition {
        if isAlways { return other }
        return other.isAlways ? self : AccessCondition((terms + other.terms).lazy.map { Set($0) })
    }

    /// Returns the condition that one of both holds.
    ///
    /// For rules with many denials the result may hold for fewer records, but never for more.
    package func or(_ other: AccessCondition) -> AccessCondition {
        if isNever || other.isAlways { return other }
        if other.isNever || self == other || terms.count * other.terms.count > Self.maximumTerms { return self }
        return AccessCondition(terms.flatMap { term in other.terms.map { Set(term).union($0) } })
    }

    /// The fields that the tests read.
    package var members: Set<MemberField> { Set(terms.joined().lazy.compactMap(\.member)) }

    /// Whether the condition holds for a record.
    package func holds(
        isOwner: Bool,
        isMember: (MemberField) -> Bool,
        isUnlisted: Bool = false,
        isListed: (AccessAction) -> Bool = { _ in false },
        isRelated: (AccessAction, RelationEntries) -> Bool = { _, _ in false }
    ) -> Bool {
        terms.allSatisfy { term in
            term.contains { test in
                switch test {
                case .unlisted: isUnlisted
                case .owner: isOwner
                case .listedOwner: isOwner && !isUnlisted
                case .notOwner: !isOwner
                case .listed(let action): isListed(action)
                case .member(let field): isMember(field)
                case .notMember(let field): !isMember(field)
                case .related(let action, let entries): isRelated(action, entries)
                case .unlistedMember(let field): isUnlisted && isMember(field)
                }
            }
        }
    }
}

extension AccessCondition: Hashable {
    package static func == (a: AccessCondition, b: AccessCondition) -> Bool {
        a.digest == b.digest && a.terms == b.terms
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(digest)
    }
}

// MARK: Rules

extension AccessCondition {
    /// Settles a rule for a caller.
    ///
    /// - Parameters:
    ///   - rule: the first entry that names the caller decides; a caller that no entry names is denied.
    ///   - members: the fields whose users the rules of the type name, as far as the type has them.
    init(_ rule: some BidirectionalCollection<FieldSubjects.Entry>, _ audience: Audience, _ members: MemberFields) {
        // The terms that remain after each entry, from the last to the first.
        var terms: [Set<Test>] = [[]]
        for entry in rule.reversed() {
            guard entry.subject.dependsOnRecord else {
                if audience.includes(entry.subject) { terms = entry.allows ? [] : [[]] }
                continue
            }
            // A caller without a login owns nothing and is in no field.
            guard audience.user != nil else { continue }
            switch (Test(entry.subject, members), entry.allows) {
            case (let test?, true): for place in terms.indices { terms[place].insert(test) }
            case (let test?, false): terms.append(test.opposite.map { [$0] } ?? [])
            // A field that the type lacks contains no one. Denying it to its users denies it to everyone not allowed earlier.
            case (nil, true): break
            case (nil, false): terms = [[]]
            }
        }
        self.init(terms)
    }

    /// Settles a rule without denials for a caller.
    init(allowing subjects: [Subject], _ audience: Audience, _ members: MemberFields) {
        self.init(subjects.lazy.map { FieldSubjects.Entry($0) }, audience, members)
    }
}

extension AccessCondition.Test {
    /// The test for a subject that depends on the record; nil for one that no record of the type has.
    fileprivate init?(_ subject: Subject, _ members: MemberFields) {
        switch subject {
        case .owner: self = .owner
        case .field(let name):
            guard let field = members[name] else { return nil }
            self = .member(field)
        default: return nil
        }
    }

    /// The negation; nil for a test that rules never negate.
    fileprivate var opposite: Self? {
        switch self {
        case .owner: .notOwner
        case .notOwner: .owner
        case .member(let field): .notMember(field)
        case .notMember(let field): .member(field)
        case .unlisted, .listedOwner, .listed, .related, .unlistedMember: nil
        }
    }

    /// Other tests that hold wherever this one does.
    fileprivate var weaker: [Self] {
        switch self {
        // Every level of an entry includes reading.
        case .listed: [.listed(.read)]
        case .related(_, let entries): [.related(.read, entries)]
        case .unlistedMember(let field): [.unlisted, .member(field)]
        case .unlisted, .owner, .listedOwner, .notOwner, .member, .notMember: []
        }
    }

    fileprivate var member: MemberField? {
        switch self {
        case .member(let field), .notMember(let field), .unlistedMember(let field): field
        case .unlisted, .owner, .listedOwner, .notOwner, .listed, .related: nil
        }
    }
}

/// The order of the tests in texts.
extension AccessCondition.Test: Comparable {
    package static func < (a: Self, b: Self) -> Bool { a.place < b.place }

    private var place: (Int, String) {
        switch self {
        case .unlisted: (0, "")
        case .owner: (1, "")
        case .listedOwner: (2, "")
        case .notOwner: (3, "")
        case .listed(let action): (4, action.rawValue)
        case .member(let field), .notMember(let field): (5, field.name.rawValue)
        case .related(let action, _): (6, action.rawValue)
        case .unlistedMember(let field): (7, field.name.rawValue)
        }
    }
}
