/// The public records of a type that a user may read, update or delete, before the user is known.
///
/// A rule that names a role is met by some callers only. Statements are built for a caller of which that is known
/// (``ClassRules``); a policy in the database applies to all callers, and has a branch for each case:
///
/// ```swift
/// var access = ClassAccess()
/// access.rules[.read] = ClassRule([.role("staff")], .require)
/// UnsettledScope(.read, of: ClassRules(access) { _ in nil }, relations: nil).branches.map(\.isFor)   // [[[role:staff]], []]
/// ```
package struct UnsettledScope: Hashable, Sendable {
    /// What holds for the callers that no earlier branch applies to.
    package struct Branch: Hashable, Sendable {
        /// The caller is one of the subjects of each of these; empty in the last branch.
        package let isFor: [[Subject]]
        package let condition: AccessCondition
    }

    package let branches: [Branch]

    /// - Parameters:
    ///   - rules: those of the type; nil for the standard ones.
    ///   - relations: the relations that access lists may name, regardless of those that they name at present.
    package init(_ action: AccessAction, of rules: ClassRules?, relations: RelationEntries?) {
        let rules = ClassRules.naming(relations, rules)
        let caller = Audience(user: UserID(""))
        // The subjects of each rule that depend on the caller alone.
        var open: [ClassRule: [Subject]] = [:]
        var order: [ClassRule] = []
        for rule in action.ruled.map({ rules.rule($0) }) where !rule.namesEveryUser {
            let subjects = rule.allow.filter(\.isOfCaller)
            if !subjects.isEmpty, open.updateValue(subjects, forKey: rule) == nil { order.append(rule) }
        }
        var branches: [Branch] = []
        // From all rules met to none: the number counts down through every combination.
        for number in (0..<(1 << order.count)).reversed() {
            let met = Set(order.enumerated().filter { number & (1 << $0.offset) != 0 }.map(\.element))
            branches.append(
                Branch(
                    isFor: order.filter { met.contains($0) }.compactMap { open[$0] },
                    condition: rules.condition(action, caller, met: met)
                )
            )
        }
        if let last = branches.last, branches.allSatisfy({ $0.condition == last.condition }) { branches = [last] }
        self.branches = branches
    }
}

extension ClassRule {
    /// Whether the rule names every logged-in user.
    package var namesEveryUser: Bool { allow.contains { $0 == .everyone || $0 == .users } }
}

extension Subject {
    /// Whether only the caller, not the record, determines who is the subject, and not every user is.
    package var isOfCaller: Bool { !dependsOnRecord && kind != .everyone && kind != .users }
}
