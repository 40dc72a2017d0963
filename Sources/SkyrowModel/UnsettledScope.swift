/// Which public records of a type a user may read, update or delete, before it is known which user asks.
///
/// A rule that names a role is met by some callers and not by others. Statements are made for a caller of whom that is known
/// (``ClassRules``); a policy in the database is for all of them, and has a branch for each case:
///
/// ```swift
/// var access = ClassAccess()
/// access.rules[.read] = ClassRule([.role("staff")], .require)
/// UnsettledScope(.read, of: ClassRules(access) { _ in nil }, relations: nil).branches.map(\.isFor)   // [[[role:staff]], []]
/// ```
package struct UnsettledScope: Hashable, Sendable {
    /// What holds for the callers that no earlier branch is for.
    package struct Branch: Hashable, Sendable {
        /// The caller is one of the subjects of each of these; the last branch has none.
        package let isFor: [[Subject]]
        /// Its clauses have a user without an id in the place of the caller.
        package let scope: AccessScope
    }

    package let branches: [Branch]

    /// - Parameters:
    ///   - rules: those of the type; nil for the standard ones.
    ///   - relations: those that lists may name; what the type's lists have named so far is left aside.
    package init(_ action: AccessAction, of rules: ClassRules?, relations: RelationEntries?) {
        let rules = ClassRules.naming(relations, rules)
        let caller = Audience(user: UserID(""))
        let asked: [ClassAction] =
            switch action {
            case .read: [.read]
            case .update: [.update, .read]
            case .delete: [.delete, .read]
            }
        // Whom each rule names in a way that depends on the caller alone.
        var open: [ClassRule: [Subject]] = [:]
        var order: [ClassRule] = []
        for rule in asked.map({ rules.rule($0) }) where !rule.namesEveryUser {
            let subjects = rule.allow.filter(\.isOfCaller)
            if !subjects.isEmpty, open.updateValue(subjects, forKey: rule) == nil { order.append(rule) }
        }
        var branches: [Branch] = []
        // From all of them met to none: a number counts down through every case.
        for number in (0..<(1 << order.count)).reversed() {
            let met = Set(order.enumerated().filter { number & (1 << $0.offset) != 0 }.map(\.element))
            let terms = rules.terms(action, caller) { $0.namesEveryUser || met.contains($0) }
            branches.append(
                Branch(
                    isFor: order.filter { met.contains($0) }.compactMap { open[$0] },
                    scope: AccessScope(
                        database: .everyone,
                        clauses: terms.first ?? [],
                        others: Array(terms.dropFirst())
                    )
                )
            )
        }
        if let last = branches.last, branches.allSatisfy({ $0.scope == last.scope }) { branches = [last] }
        self.branches = branches
    }
}

extension ClassRule {
    /// Whether every user who is logged in is one of those that the rule names.
    package var namesEveryUser: Bool { allow.contains { $0 == .everyone || $0 == .users } }
}

extension Subject {
    /// Whether it depends on the caller alone who is one, and not every user is.
    package var isOfCaller: Bool {
        switch self {
        case .registered, .verified, .user, .role, .group, .apiKey: true
        case .everyone, .users, .owner, .relation, .field: false
        }
    }
}
