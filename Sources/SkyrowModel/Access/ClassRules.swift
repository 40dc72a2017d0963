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

package typealias MemberFields = [FieldName: MemberField]

extension MemberFields {
    /// The fields that subjects name, as far as the type has them.
    ///
    /// - Parameter type: the type of a field; nil for a name that the record type lacks.
    init(namedBy subjects: some Sequence<Subject>, type: (FieldName) -> FieldType?) {
        self.init()
        for case .field(let name) in subjects { self[name] = type(name).flatMap { MemberField(name, of: $0) } }
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
    let members: MemberFields
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
        members = MemberFields(namedBy: rules.values.lazy.flatMap(\.allow), type: field)
    }

    /// The fields that the rules name, as far as the type has them.
    package var memberFields: Set<FieldName> { Set(members.keys) }

    private init(
        rules: [ClassAction: ClassRule] = [:],
        members: MemberFields = [:],
        relations: RelationEntries? = nil,
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

    /// Returns the condition on public records for a caller other than the master key.
    ///
    /// - Parameter rules: nil for the standard ones.
    static func condition(_ rules: ClassRules?, _ action: AccessAction, _ audience: Audience) -> AccessCondition {
        if let rules { return rules.condition(action, audience) }
        return (audience.user == nil ? ofAnonymous : ofUsers)[action] ?? .never
    }

    /// The conditions of types with the standard rules, which most requests use.
    private static let ofAnonymous = standard(.anonymous)
    private static let ofUsers = standard(Audience(user: UserID("")))

    private static func standard(_ audience: Audience) -> [AccessAction: AccessCondition] {
        let actions = AccessAction.allCases.map { ($0, ClassRules().condition($0, audience)) }
        return Dictionary(uniqueKeysWithValues: actions)
    }

    /// Returns the condition on public records for a caller other than the master key. Changing a record requires reading it.
    ///
    /// - Parameter met: rules that allow their action to the caller, besides those that name the audience (``UnsettledScope``).
    func condition(_ action: AccessAction, _ audience: Audience, met: Set<ClassRule> = []) -> AccessCondition {
        if areOfRoles { return Self.conditionOfRoles(action, audience) }
        return action.ruled.reduce(.always) { condition, asked in
            let rule = rule(asked)
            let isMet = met.contains(rule)
            return condition.and(self.condition(of: rule, asked == .read ? .read : action, audience, isMet: isMet))
        }
    }

    /// Returns the condition for rows 4 to 15 of the table of precedence (Documentation/Security.md).
    private func condition(
        of rule: ClassRule,
        _ action: AccessAction,
        _ audience: Audience,
        isMet: Bool
    ) -> AccessCondition {
        // Every logged-in user may write what the public may write, but only logged-in users write.
        if rule.allow.isEmpty || (action != .read && audience.user == nil) { return .never }
        let allowed = isMet ? .always : AccessCondition(allowing: rule.allow, audience, members)
        // An access list admits the owner and the users of its entries.
        var list: Set<AccessCondition.Test> = [.listed(action)]
        if audience.user != nil {
            list.insert(.owner)
            if let relations { list.insert(.related(action, relations)) }
        }
        let unlisted = AccessCondition(any: list.union([.unlisted]))
        switch rule.mode {
        case .override: return allowed
        case .require: return allowed.and(unlisted)
        case .default:
            return allowed.isAlways
                ? unlisted : AccessCondition(any: list.union(allowed.members.map { .unlistedMember($0) }))
        }
    }

    /// Returns the condition on the roles that a caller reads, in agreement with ``RoleStanding/allows(_:by:)``: only
    /// administrators read a role without an access list, and every level of a list includes reading.
    private static func conditionOfRoles(_ action: AccessAction, _ audience: Audience) -> AccessCondition {
        guard action == .read else { return .never }
        if audience.isAdministrator { return .always }
        return AccessCondition(any: audience.user == nil ? [.listed(.read)] : [.listedOwner, .listed(.read)])
    }
}

extension AccessAction {
    /// The actions whose rules apply: changing a record requires reading it.
    var ruled: [ClassAction] {
        switch self {
        case .read: [.read]
        case .update: [.update, .read]
        case .delete: [.delete, .read]
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
