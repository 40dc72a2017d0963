/// One condition of those under which a caller sees or changes the whole access list of a record that has one.
package struct ListTerm: Hashable, Sendable {
    /// The caller is one of these; relations are not among them.
    package var subjects: [Subject]
    /// Or the list has an entry about the caller, none about a relation, that allows this.
    package var listed: AccessAction?
}

/// Who sees the whole access lists of records, and who changes them.
///
/// A caller changes no list that it does not see: what a client sends back as it came would take entries away. Friends and followers who
/// may update a record are no readers of its list, since rows do not say who they are.
extension TypeRules {
    /// Who sees the whole list, of those to whom a record is open.
    package var listReaders: ClassAccess.ListReaders {
        fields.accessReaders ?? (fields.accessWriters == .owner ? .owner : .update)
    }

    /// What must hold for one who does not pass every rule to see the list of a public record; none of them where all see it.
    package var listReadTerms: [ListTerm] { terms(listReaders) }

    /// The same to change the list.
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
            // What the rule has no one do, no list allows.
            if rule.allow.isEmpty { return [ListTerm(subjects: [])] }
            return switch rule.mode {
            // For records without a list alone.
            case .default: [list]
            case .require: [ListTerm(subjects: rule.allow), list]
            case .override: [ListTerm(subjects: rule.allow)]
            }
        }
    }

    /// In which records the caller sees the whole list.
    package func standingOfListReads(for caller: FieldAccess) -> FieldStanding {
        standing(listReadTerms, caller)
    }

    /// In which records the caller changes the list.
    package func standingOfListChanges(for caller: FieldAccess) -> FieldStanding {
        standing(listChangeTerms, caller)
    }

    private func standing(_ terms: [ListTerm], _ caller: FieldAccess) -> FieldStanding {
        guard let audience = caller.audience, !terms.isEmpty else { return .all }
        // One who is not logged in updates and owns nothing.
        guard audience.user != nil else { return .none }
        if classes?.areOfRoles == true, audience.isAdministrator { return .all }
        let left = terms.filter { term in !term.subjects.contains { audience.includes($0) } }
        return FieldStanding(
            left.map { term in
                var ways: Set<FieldReach.Way> = []
                for subject in term.subjects {
                    switch subject {
                    case .owner: ways.insert(.owner)
                    case .field(let name): if let field = classes?.members[name] { ways.insert(.member(field)) }
                    case .everyone, .users, .registered, .verified, .user, .role, .group, .apiKey, .relation:
                        break
                    }
                }
                if let action = term.listed { ways.insert(.listed(action)) }
                return ways
            }
        )
    }

    /// What the caller does not see in every record that it may read.
    package func view(for caller: FieldAccess) -> FieldView {
        var view = fields.view(for: caller)
        view.list = standingOfListReads(for: caller)
        return view
    }

    /// The fields whose users see lists, as far as the type has them.
    package var listMembers: [FieldName: MemberField] {
        var members: [FieldName: MemberField] = [:]
        for case .field(let name) in listChangeTerms.flatMap(\.subjects) { members[name] = classes?.members[name] }
        return members
    }

    /// What ``view(for:)`` says of lists before it is known which user asks, where that is the same for all of them; nil where it is not.
    package var listStandingOfUsers: FieldStanding? {
        switch listReaders {
        case .read: .all
        case .owner: classes?.areOfRoles == true ? nil : .owned
        case .update: nil
        }
    }
}
