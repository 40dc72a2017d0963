/// A condition for a caller to see or change the whole access list of a record that has one.
package struct ListTerm: Hashable, Sendable {
    /// The caller is one of these subjects, which contain no relations.
    package var subjects: [Subject]
    /// Alternatively, an entry of the list about the caller, other than by a relation, allows this action.
    package var listed: AccessAction?
}

/// Who sees the whole access lists of records, and who changes them.
///
/// A caller changes no list that it does not see, since a client that sends the list back as it received it would remove
/// entries. Friends and followers who may update a record do not see its list, since rows do not contain relations.
extension TypeRules {
    /// Who sees the whole list, among those to whom a record is open.
    package var listReaders: ClassAccess.ListReaders {
        fields.accessReaders ?? (fields.accessWriters == .owner ? .owner : .update)
    }

    /// The terms that a caller who does not pass every rule meets to see the list of a public record; empty when all see it.
    package var listReadTerms: [ListTerm] { terms(listReaders) }

    /// The terms to change the list.
    package var listChangeTerms: [ListTerm] {
        let writers = terms(fields.accessWriters == .owner ? .owner : .update)
        return writers + listReadTerms.filter { !writers.contains($0) }
    }

    private func terms(_ readers: ClassAccess.ListReaders) -> [ListTerm] {
        switch readers {
        case .read: return []
        case .owner: return [ListTerm(subjects: [.owner])]
        case .update:
            let rule = classes?.rule(.update) ?? .standard(.update)
            let list = ListTerm(subjects: [.owner], listed: .update)
            // A list cannot allow what the rule allows to no subject.
            if rule.allow.isEmpty { return [ListTerm(subjects: [])] }
            return switch rule.mode {
            // The rule applies to records without a list.
            case .default: [list]
            case .require: [ListTerm(subjects: rule.allow), list]
            case .override: [ListTerm(subjects: rule.allow)]
            }
        }
    }

    /// Returns the records in which the caller sees the whole list.
    package func standingOfListReads(for caller: FieldAccess) -> AccessCondition {
        standing(listReadTerms, caller)
    }

    /// Returns the records in which the caller may change the list.
    package func standingOfListChanges(for caller: FieldAccess) -> AccessCondition {
        standing(listChangeTerms, caller)
    }

    private func standing(_ terms: [ListTerm], _ caller: FieldAccess) -> AccessCondition {
        guard let audience = caller.audience, !terms.isEmpty else { return .always }
        // A caller without a login updates and owns nothing.
        guard audience.user != nil else { return .never }
        if classes?.areOfRoles == true, audience.isAdministrator { return .always }
        return terms.reduce(.always) { condition, term in
            let named = AccessCondition(allowing: term.subjects, audience, classes?.members ?? [:])
            return condition.and(term.listed.map { named.or(AccessCondition(any: [.listed($0)])) } ?? named)
        }
    }

    /// Returns what the caller does not see in every readable record.
    package func view(for caller: FieldAccess) -> FieldView {
        var view = fields.view(for: caller)
        view.list = standingOfListReads(for: caller)
        return view
    }

    /// The fields whose users see access lists, as far as the type has them.
    package var listMembers: MemberFields {
        let named = Set(listChangeTerms.flatMap(\.subjects))
        return (classes?.members ?? [:]).filter { named.contains(.field($0.key)) }
    }

    /// The access lists that ``view(for:)`` shows, when that is the same for all users; nil when it depends on the user.
    package var listStandingOfUsers: AccessCondition? {
        switch listReaders {
        case .read: .always
        case .owner: classes?.areOfRoles == true ? nil : .owned
        case .update: nil
        }
    }
}
