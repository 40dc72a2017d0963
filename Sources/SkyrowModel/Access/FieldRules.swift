/// Who sees and who changes one field, among the callers to whom its record is open.
package struct FieldRule: Hashable, Sendable {
    package enum Readers: String, Hashable, Sendable, CaseIterable {
        /// Every caller who may read the record.
        case everyone
        /// Logged-in users who may read it.
        case users
        /// Only the record's owner.
        case owner
    }

    package enum Writers: Hashable, Sendable {
        /// Every caller who may write the record.
        case everyone
        /// Only the record's owner.
        case owner
        /// Only the service, and not the master key either.
        case service
    }

    package var readers: Readers
    package var writers: Writers
    /// The subjects that the rules of the type allow each use; a use without an entry is as open as the record.
    package var allowed: [FieldUse: FieldSubjects]

    package init(readers: Readers, writers: Writers, allowed: [FieldUse: FieldSubjects] = [:]) {
        self.readers = readers
        self.writers = writers
        self.allowed = allowed
    }

    /// The subjects to whom the settings and the service limit a use, which no rule extends; nil without a limit.
    private func limit(_ use: FieldUse) -> [Subject]? {
        switch (use, readers, writers) {
        case (.read, .users, _), (.compare, .users, _), (.discover, .users, _): [.users]
        case (.read, .owner, _), (.compare, .owner, _), (.discover, .owner, _), (.update, _, .owner): [.owner]
        case (.create, _, .service), (.update, _, .service): []
        case (.read, .everyone, _), (.compare, .everyone, _), (.discover, .everyone, _), (.update, _, .everyone),
            (.create, _, _):
            nil
        }
    }

    /// Returns the records in which a caller that does not pass every rule may use the field.
    fileprivate func standing(_ use: FieldUse, _ audience: Audience, _ members: MemberFields) -> AccessCondition {
        if use.followsRead, allowed[use] == nil { return standing(.read, audience, members) }
        let limited = limit(use).map { AccessCondition(allowing: $0, audience, members) } ?? .always
        return limited.and(allowed[use].map { AccessCondition($0.entries, audience, members) } ?? .always)
    }

    /// Returns the records in which a query may use the field this way.
    fileprivate func standing(_ asking: FieldAsking, _ audience: Audience, _ members: MemberFields) -> AccessCondition {
        func standing(_ use: FieldUse) -> AccessCondition { self.standing(use, audience, members) }
        return switch asking {
        case .send: standing(.read)
        case .compare: standing(.compare)
        case .equal: standing(.compare).or(standing(.discover))
        // What is sent of an order, such as the cursor of a page, reveals values.
        case .order: standing(.read).and(standing(.compare))
        }
    }

    /// Whether rules let some callers query more or less of the field than they see.
    fileprivate var hasQuestions: Bool { allowed[.compare] != nil || allowed[.discover] != nil }

    /// Returns the same for users before the caller is known: the caller must be one of the subjects of each term.
    fileprivate func terms(_ use: FieldUse) -> [[Subject]] {
        // The terms of policies cannot express an order with denials, so for them it allows no user.
        let terms = [limit(use), allowed[use].map { $0.hasDenials ? [] : $0.subjects }]
        return terms.compactMap(\.self).filter { term in
            !term.contains { $0 == .everyone || $0 == .users || (use == .create && $0 == .owner) }
        }
    }
}

/// The rules of the fields of one record type, besides ``AccessScope``, which decides about whole records.
///
/// A field that a caller sees in no record is not sent, and unless a rule allows it, it cannot be queried either: not in a
/// predicate, an order, an inclusion or a list of fields. A field that only owners see counts as missing in the records of
/// others, in results and in queries. The master key passes every rule.
///
/// ```swift
/// let rules = FieldRules.ofLoginKeys([username, email], readers: [username: .users])
/// rules.hidden(from: .anonymous)  // [username, email]
/// rules.standing(.read, of: email, for: .user("ann"))  // .owned
/// ```
package struct FieldRules: Hashable, Sendable {
    private let rules: [FieldName: FieldRule]
    /// The rule of all other fields, such as those that a save creates.
    private let others: FieldRule?
    /// Whether only the service writes one of the fields.
    package let hasKept: Bool
    /// The fields of each rule, so that a rule that many fields share is evaluated once per caller.
    private let fieldsByRule: [FieldRule: [FieldName]]
    /// The fields whose users the rules name as subjects, as far as the type has them.
    package let members: MemberFields
    /// Who changes the access lists of records, among the callers to whom a record is open for writing.
    package var accessWriters: FieldRule.Writers
    /// Who sees the whole access lists of records, among the callers to whom a record is open; nil for the users who change them.
    package var accessReaders: ClassAccess.ListReaders?

    package init(
        _ rules: [FieldName: FieldRule],
        others: FieldRule? = nil,
        members: MemberFields = [:],
        accessWriters: FieldRule.Writers = .owner,
        accessReaders: ClassAccess.ListReaders? = nil
    ) {
        self.rules = rules
        self.others = others
        hasKept = rules.values.contains { $0.writers == .service }
        fieldsByRule = Dictionary(grouping: rules.keys.sorted()) { field in
            rules[field] ?? FieldRule(readers: .everyone, writers: .everyone)
        }
        self.members = members
        self.accessWriters = accessWriters
        self.accessReaders = accessReaders
    }

    /// Every field is as open as its record.
    package static let none = FieldRules([:])

    /// Returns the rules of profiles. Only the owner of a profile changes its login keys, which are visible to these readers, or
    /// else to the owner. So is `_verified`, which only the service writes.
    ///
    /// - Parameter readers: the readers by field, including fields that are not login keys at present.
    package static func ofLoginKeys(
        _ keys: [FieldName],
        readers: [FieldName: FieldRule.Readers] = FieldRules.loginKeyReaders
    ) -> FieldRules {
        var rules = readers.mapValues { FieldRule(readers: $0, writers: .everyone) }
        for key in keys { rules[key] = FieldRule(readers: readers[key] ?? .owner, writers: .owner) }
        rules[.verified] = FieldRule(readers: readers[.verified] ?? .owner, writers: .service)
        return FieldRules(rules)
    }

    /// A `username` is visible to all logged-in users, an `email` to its owner.
    package static let loginKeyReaders: [FieldName: FieldRule.Readers] = {
        let pairs = [("username", FieldRule.Readers.users), ("email", .owner)]
        return Dictionary(
            uniqueKeysWithValues: pairs.compactMap { name, readers in
                (try? FieldName(name)).map { ($0, readers) }
            }
        )
    }()

    /// Whether no field has a rule.
    package var isEmpty: Bool { rules.isEmpty && others == nil }

    private func rule(of field: FieldName) -> FieldRule? {
        rules[field] ?? (field.isReserved ? nil : others)
    }

    /// Returns these rules combined with rules that were set for the type: a use must be allowed by both.
    ///
    /// - Parameters:
    ///   - set: the rules that were set.
    ///   - fields: the fields of the type.
    ///   - type: the type of a field; nil for a name that the type lacks. A rule allows nothing to the users in such a field.
    package func applying(
        _ set: FieldRuleGroups,
        fields: some Sequence<FieldName> = EmptyCollection(),
        type: (FieldName) -> FieldType? = { _ in nil }
    ) -> FieldRules {
        guard !set.isEmpty else { return self }
        var rules = rules
        for field in Set(rules.keys).union(set.names).union(fields) {
            let allowed = set.allowed(field)
            if allowed.isEmpty { continue }
            rules[field, default: FieldRule(readers: .everyone, writers: .everyone)].allowed = allowed
        }
        let beyond = set.allowed(nil)
        return FieldRules(
            rules,
            others: beyond.isEmpty ? nil : FieldRule(readers: .everyone, writers: .everyone, allowed: beyond),
            members: MemberFields(
                namedBy: (rules.values.map(\.allowed) + [beyond]).lazy.flatMap(\.values).flatMap(\.subjects),
                type: type
            ),
            accessWriters: accessWriters,
            accessReaders: accessReaders
        )
    }

    /// Returns these rules combined with rules of single fields.
    package func applying(
        _ fields: [FieldName: [FieldUse: FieldSubjects]],
        type: (FieldName) -> FieldType? = { _ in nil }
    ) -> FieldRules {
        applying(FieldRuleGroups(ofType: fields), type: type)
    }

    /// Returns the records in which the caller may use a field, among those that are open to it.
    package func standing(_ use: FieldUse, of field: FieldName, for caller: FieldAccess) -> AccessCondition {
        guard let rule = rule(of: field) else { return .always }
        guard let audience = caller.audience else {
            let isKept = rule.writers == .service && (use == .create || use == .update)
            return isKept ? .never : .always
        }
        return rule.standing(use, audience, members)
    }

    /// Returns the records in which a query of the caller may use a field this way.
    package func standing(_ asking: FieldAsking, of field: FieldName, for caller: FieldAccess) -> AccessCondition {
        guard let rule = rule(of: field), let audience = caller.audience else { return .always }
        return rule.standing(asking, audience, members)
    }

    /// Returns the subjects to whom the rules allow a use of a field, among the users to whom a record is open: the caller must
    /// be a subject of each term. Without terms every user is allowed.
    package func terms(_ use: FieldUse, of field: FieldName) -> [[Subject]] {
        rule(of: field)?.terms(use) ?? []
    }

    /// Returns the same as ``standing(_:of:for:)`` for an operator. An operator changes the value, and its refusal depends on
    /// the value, so the caller must also see the field.
    package func standingOfOperators(on field: FieldName, for caller: FieldAccess) -> AccessCondition {
        standing(.read, of: field, for: caller).and(standing(.update, of: field, for: caller))
    }

    /// The first field, by name, whose rules row-level security cannot express: an order with denials, or a rule about queries.
    package var fieldBeyondPolicies: FieldName? {
        fieldsByRule.filter { $0.key.hasQuestions || $0.key.allowed.values.contains(where: \.hasDenials) }.values
            .lazy.compactMap(\.first).min()
    }

    /// Returns the fields that the caller does not see in every readable record.
    package func view(for caller: FieldAccess) -> FieldView {
        var view = FieldView()
        guard let audience = caller.audience else { return view }
        for (rule, fields) in fieldsByRule {
            let read = rule.standing(.read, audience, members)
            if read.isNever {
                view.hidden.formUnion(fields)
            } else if !read.isAlways {
                for field in fields { view.partial[field] = read }
            }
            guard rule.hasQuestions else { continue }
            let asked = [FieldAsking.compare, .equal].map { rule.standing($0, audience, members) }
            if asked != [read, read] { for field in fields { view.asked[field] = asked } }
        }
        return view
    }

    /// Returns the fields that the caller sees in no record.
    package func hidden(from caller: FieldAccess) -> Set<FieldName> {
        view(for: caller).hidden
    }

    /// Whether only owners and the master key see the field.
    package func isForOwnersEyes(_ field: FieldName) -> Bool {
        rules[field].map { $0.readers == .owner && $0.allowed.isEmpty } ?? false
    }

    /// Returns the fields of a new record to which the caller may not give values; sorted.
    ///
    /// - Parameter isOwned: whether the record will belong to the caller.
    package func refusedInNew(_ draft: RecordDraft, by caller: FieldAccess, isOwned: Bool = true) -> [FieldName] {
        if isEmpty || (caller.isUnrestricted && !hasKept) { return [] }
        let values = draft.fields.lazy.filter { $0.value != .null }.map { $0.name }
        let names = Array(values) + draft.operators.map { $0.name }
        guard let trusted = draft.trusted?.fields else { return refusedInNew(names, by: caller, isOwned: isOwned) }
        let own = refusedInNew(names.filter { !trusted.contains($0) }, by: caller, isOwned: isOwned)
        return (own + refusedInNew(names.filter { trusted.contains($0) }, by: .unrestricted, isOwned: isOwned)).sorted()
    }

    /// Returns the same for the names of the fields that get a value.
    package func refusedInNew(_ fields: [FieldName], by caller: FieldAccess, isOwned: Bool = true) -> [FieldName] {
        fields.filter { !standing(.create, of: $0, for: caller).holds(isOwner: isOwned) { _ in false } }.sorted()
    }

    /// Returns which of these fields of a record the caller may not apply an operator to.
    ///
    /// - Parameter isMember: whether a field of the record contains the caller's id.
    package func refusedOperators(
        _ fields: [FieldName],
        on record: Record,
        by caller: FieldAccess,
        isMember: (MemberField) -> Bool = { _ in false }
    ) -> [FieldName] {
        fields.filter { field in
            !standingOfOperators(on: field, for: caller).holds(isOwner: caller.owns(record), isMember: isMember)
        }
    }

    /// Returns which of these values the caller may not set in a record; sorted.
    ///
    /// Setting the stored value again is allowed, since clients send back whole records. It is refused when the caller does not
    /// see the value, since success would confirm a guess.
    ///
    /// - Parameters:
    ///   - fields: the values as their columns store them.
    ///   - isMember: whether a field of the record contains the caller's id.
    ///   - isSameJSON: whether the database considers two JSON texts the same value.
    package func refusedChanges(
        _ fields: [(name: FieldName, value: RecordValue)],
        to record: Record,
        by caller: FieldAccess,
        isMember: (MemberField) -> Bool = { _ in false },
        isSameJSON: (JSONText, JSONText) -> Bool = { $0 == $1 }
    ) -> [FieldName] {
        let owns = caller.owns(record)
        return fields.filter { name, value in
            func may(_ use: FieldUse) -> Bool {
                standing(use, of: name, for: caller).holds(isOwner: owns, isMember: isMember)
            }
            if may(.update) { return false }
            guard may(.read) else { return true }
            return !(record.fields[name] ?? .null).isSameValue(as: value, isSameJSON)
        }.map(\.name).sorted()
    }

    /// Returns `123` for changes of fields that the caller may not make.
    package func denial(of fields: [FieldName], by caller: FieldAccess) -> SkyrowError {
        let areOwners = fields.allSatisfy { standing(.update, of: $0, for: caller) == .owned }
        return areOwners ? .fieldsOfOwners(fields) : .fieldsDenied(fields)
    }
}

/// The fields of a type that a caller does not see at all, and those that it sees in some records only.
package struct FieldView: Hashable, Sendable {
    package var hidden: Set<FieldName> = []
    package var partial: [FieldName: AccessCondition] = [:]
    /// The fields of which the caller may query more or less than it sees: the records for any query, and those for a test for
    /// a known value.
    package var asked: [FieldName: [AccessCondition]] = [:]
    /// The records in which the caller sees the whole access list.
    package var list: AccessCondition

    package init(
        hidden: Set<FieldName> = [],
        partial: [FieldName: AccessCondition] = [:],
        asked: [FieldName: [AccessCondition]] = [:],
        list: AccessCondition = .always
    ) {
        self.hidden = hidden
        self.partial = partial
        self.asked = asked
        self.list = list
    }
}

extension SkyrowError {
    /// `123` for fields that only a record's owner may change.
    package static func fieldsOfOwners(_ fields: [FieldName]) -> SkyrowError {
        SkyrowError(
            .deniedArgument,
            "Only the owner of this record may change these fields.",
            info: ["arguments": .list(fields.map { .string($0.rawValue) })]
        )
    }

    /// `123` for fields whose rules do not let the caller set them.
    package static func fieldsDenied(_ fields: [FieldName]) -> SkyrowError {
        SkyrowError(
            .deniedArgument,
            "The rules of these fields do not allow you to set them.",
            info: ["arguments": .list(fields.map { .string($0.rawValue) })]
        )
    }
}

extension RecordValue {
    /// Whether PostgreSQL considers both values the same; it compares texts and locations by their bytes.
    package func isSameValue(as other: RecordValue, _ isSameJSON: (JSONText, JSONText) -> Bool) -> Bool {
        switch (self, other) {
        case (.string(let a), .string(let b)): a.isSameText(as: b)
        case (.location(let a), .location(let b)): a.isSame(as: b)
        case (.geometry(let a), .geometry(let b)): a.isSame(as: b)
        case (.json(let a), .json(let b)): isSameJSON(a, b)
        case (.array(let a), .array(let b)):
            a.count == b.count && zip(a, b).allSatisfy { $0.isSameValue(as: $1, isSameJSON) }
        default: self == other
        }
    }
}
