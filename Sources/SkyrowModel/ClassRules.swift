/// A field of a record type that can contain ids of users.
public struct MemberField: Hashable, Sendable {
    public let name: FieldName
    /// Whether it can contain any number of ids.
    public let isArray: Bool

    /// nil for a field whose type cannot contain ids of users.
    package init?(_ name: FieldName, of type: FieldType) {
        switch type {
        case .string, .reference(.user): isArray = false
        case .array(.string), .array(.reference(.user)): isArray = true
        default: return nil
        }
        self.name = name
    }
}

/// The rules of a record type in its catalogue entry, together with the fields that they name.
///
/// A class, since the access that they give a caller is cached by identity (``RecordAccess/of(_:)``). Types with only the
/// standard rules have no instance.
package final class ClassRules: Sendable {
    /// The rules that differ from the standard ones.
    private let rules: [ClassAction: ClassRule]
    /// The fields that the rules name, as far as the type has them.
    let members: [FieldName: MemberField]
    /// The relations of users that access lists of the type's records name; nil without any.
    private let relations: RelationEntries?
    /// Whether the records are roles, whose access depends on their lists and on the caller (``AccessScope``).
    package let areOfRoles: Bool

    /// nil when every rule is the standard one, and no access list names a relation.
    ///
    /// - Parameters:
    ///   - relations: the relations that access lists of the type's records name.
    ///   - field: the type of a field of the record type; nil for a name that it lacks. A rule allows nothing to the users in
    ///     such a field.
    package init?(_ access: ClassAccess, relations: RelationEntries? = nil, field: (FieldName) -> FieldType?) {
        rules = access.rules.filter { $1 != .standard($0) }
        self.relations = relations
        areOfRoles = false
        guard !rules.isEmpty || relations != nil else { return nil }
        var members: [FieldName: MemberField] = [:]
        for case .field(let name) in rules.values.lazy.flatMap(\.allow) {
            members[name] = field(name).flatMap { MemberField(name, of: $0) }
        }
        self.members = members
    }

    /// The fields that the rules name, as far as the type has them.
    package var memberFields: Set<FieldName> { Set(members.keys) }

    private init(
        rules: [ClassAction: ClassRule],
        members: [FieldName: MemberField],
        relations: RelationEntries?,
        areOfRoles: Bool = false
    ) {
        self.rules = rules
        self.members = members
        self.relations = relations
        self.areOfRoles = areOfRoles
    }

    /// The rules of roles as records: nothing is written, and the access list of each role says who reads it.
    static let ofRoles = ClassRules(
        rules: Dictionary(
            ClassAction.allCases.map { ($0, ClassRule([], .override)) },
            uniquingKeysWith: { first, _ in first }
        ),
        members: [:],
        relations: nil,
        areOfRoles: true
    )

    /// Returns the same rules for access lists that may name these relations.
    ///
    /// - Parameter rules: nil for the standard ones.
    static func naming(_ relations: RelationEntries?, _ rules: ClassRules?) -> ClassRules {
        ClassRules(rules: rules?.rules ?? [:], members: rules?.members ?? [:], relations: relations)
    }

    /// The relations of users that access lists name, and that are looked up.
    package var askedRelations: [Subject.Relation] { relations?.relations ?? [] }

    package func rule(_ action: ClassAction) -> ClassRule {
        rules[action] ?? .standard(action)
    }

    /// Whether a user may create public records.
    func allowsCreating(by audience: Audience) -> Bool {
        audience.user != nil && rule(.create).allow.contains { audience.includes($0) }
    }

    /// Returns the terms that a public record must meet for a caller other than the master key: one clause of each term.
    ///
    /// Changing a record requires reading it.
    func terms(_ action: AccessAction, _ audience: Audience) -> [[AccessClause]] {
        terms(action, audience) { rule in rule.allow.contains { audience.includes($0) } }
    }

    /// Returns the same terms for a caller of which only the applicable rules are given (``UnsettledScope``).
    func terms(
        _ action: AccessAction,
        _ audience: Audience,
        isAllowed: (ClassRule) -> Bool
    ) -> [[AccessClause]] {
        func terms(_ asked: ClassAction) -> [[AccessClause]] {
            let rule = rule(asked)
            return self.terms(of: rule, asked == .read ? .read : action, audience, isAllowed: isAllowed(rule))
        }
        switch action {
        case .read: return AccessClause.simplified(terms(.read))
        case .update: return AccessClause.simplified(terms(.update) + terms(.read))
        case .delete: return AccessClause.simplified(terms(.delete) + terms(.read))
        }
    }

    /// Returns the terms for rows 4 to 15 of the table of precedence (Documentation/Security.md).
    private func terms(
        of rule: ClassRule,
        _ action: AccessAction,
        _ audience: Audience,
        isAllowed: Bool
    ) -> [[AccessClause]] {
        if rule.allow.isEmpty { return [[]] }
        // Every logged-in user may write what the public may write, but only logged-in users write.
        if action != .read, audience.user == nil { return [[]] }
        switch rule.mode {
        case .override:
            return [isAllowed ? [.everything] : allowed(by: rule, audience)]
        case .require:
            let list = list(action, audience)
            return isAllowed ? [list] : [allowed(by: rule, audience), list]
        case .default:
            if isAllowed { return [list(action, audience)] }
            var clauses = Array(list(action, audience).dropFirst())
            if let user = audience.user {
                clauses += fields(of: rule).map { .unlistedMember($0, user) }
            }
            return [clauses]
        }
    }

    /// Returns the clauses of an access list: for records without one, for the owner, and for an entry.
    private func list(_ action: AccessAction, _ audience: Audience) -> [AccessClause] {
        var clauses: [AccessClause] = [.unlisted]
        if let user = audience.user { clauses.append(.owner(user)) }
        clauses.append(.listed(audience, action))
        if let user = audience.user, let relations { clauses.append(.related(user, action, relations)) }
        return clauses
    }

    /// Returns the clauses for the records in which a rule allows the action, when it does not allow it in all of them.
    private func allowed(by rule: ClassRule, _ audience: Audience) -> [AccessClause] {
        guard let user = audience.user else { return [] }
        let owner: [AccessClause] = rule.allow.contains(.owner) ? [.owner(user)] : []
        return owner + fields(of: rule).map { .member($0, user) }
    }

    private func fields(of rule: ClassRule) -> [MemberField] {
        rule.allow.compactMap { subject in
            guard case .field(let name) = subject else { return nil }
            return members[name]
        }
    }
}

extension ClassRules: Hashable {
    package static func == (a: ClassRules, b: ClassRules) -> Bool {
        a === b
            || a.rules == b.rules && a.members == b.members && a.relations == b.relations
                && a.areOfRoles == b.areOfRoles
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(rules)
    }
}

extension AccessClause {
    /// Returns the terms without redundant ones: those that hold for every record, or wherever another one holds.
    ///
    /// When one term is empty, which no record meets, it is the only one that remains.
    fileprivate static func simplified(_ terms: [[AccessClause]]) -> [[AccessClause]] {
        if terms.contains(where: \.isEmpty) { return [[]] }
        var kept: [[AccessClause]] = []
        for term in terms where !term.contains(.everything) {
            if kept.contains(where: { implies($0, term) }) { continue }
            kept.removeAll { implies(term, $0) }
            kept.append(term)
        }
        return kept.isEmpty ? [[.everything]] : kept
    }

    /// Whether the second term holds wherever the first does.
    private static func implies(_ term: [AccessClause], _ other: [AccessClause]) -> Bool {
        term.allSatisfy { clause in other.contains { clause.implies($0) } }
    }

    private func implies(_ other: AccessClause) -> Bool {
        if self == other { return true }
        switch (self, other) {
        case (.listed(let audience, _), .listed(let same, .read)): return audience == same
        case (.related(let user, _, _), .related(let same, .read, _)): return user == same
        case (.unlistedMember, .unlisted): return true
        case (.unlistedMember(let field, let user), .member(let same, let other)): return field == same && user == other
        default: return false
        }
    }
}
