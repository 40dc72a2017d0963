/// The fields that share a set of rules: one field of a type, every field of it, or the fields of a name in every type.
///
/// ```swift
/// FieldRuleScope(type: note, field: nil).description  // note.*
/// ```
package struct FieldRuleScope: Hashable, Sendable {
    /// nil for every type.
    package var type: RecordTypeName?
    /// nil for every field.
    package var field: FieldName?

    package init(type: RecordTypeName?, field: FieldName?) {
        self.type = type
        self.field = field
    }
}

extension FieldRuleScope: Comparable, CustomStringConvertible {
    /// The order of Skygear: by name, with every type or field after those with a name.
    package static func < (a: FieldRuleScope, b: FieldRuleScope) -> Bool {
        if a.type != b.type { return isBefore(a.type, b.type) }
        return isBefore(a.field, b.field)
    }

    private static func isBefore<Name: Comparable>(_ a: Name?, _ b: Name?) -> Bool {
        guard let a else { return false }
        guard let b else { return true }
        return a < b
    }

    package var description: String {
        "\(type?.rawValue ?? ClassAccess.everyName).\(field?.rawValue ?? ClassAccess.everyName)"
    }
}

/// A rule about a field in the form of `schema:field_access:get` and `schema:field_access:update` of Skygear v1: what one kind
/// of users may do with it.
///
/// ```swift
/// SkygearFieldRule(FieldRuleScope(type: note, field: title), .users, readable: true, comparable: true)
/// ```
package struct SkygearFieldRule: Hashable, Sendable {
    package var scope: FieldRuleScope
    /// A subject that Skygear has: ``Subject/skygearRole``.
    package var subject: Subject
    /// Whether the subject may set the field, in a new and in an existing record.
    package var isWritable: Bool
    package var isReadable: Bool
    package var isComparable: Bool
    package var isDiscoverable: Bool

    package init(
        _ scope: FieldRuleScope,
        _ subject: Subject,
        writable: Bool = false,
        readable: Bool = false,
        comparable: Bool = false,
        discoverable: Bool = false
    ) {
        self.scope = scope
        self.subject = subject
        isWritable = writable
        isReadable = readable
        isComparable = comparable
        isDiscoverable = discoverable
    }

    package static let maximumRules = 2000

    fileprivate func allows(_ use: FieldUse) -> Bool {
        switch use {
        case .create, .update: isWritable
        case .read: isReadable
        case .compare: isComparable
        case .discover: isDiscoverable
        }
    }
}

extension Subject {
    /// The position of the kind of subject when Skygear evaluates the rules of a field; nil for a kind that Skygear lacks.
    fileprivate var skygearRank: Int? {
        switch self {
        case .owner: 0
        case .user: 1
        case .field: 2
        case .role: 3
        case .users: 4
        case .everyone: 5
        case .registered, .verified, .group, .apiKey, .relation: nil
        }
    }

    fileprivate static func isBefore(_ a: Subject, _ b: Subject) -> Bool {
        let (rankA, rankB) = (a.skygearRank ?? .max, b.skygearRank ?? .max)
        if rankA != rankB { return rankA < rankB }
        return (a.name ?? "").utf8.lexicographicallyPrecedes((b.name ?? "").utf8)
    }

    /// The `user_role` of Skygear, `_role:editor`; nil for a subject that Skygear lacks.
    package var skygearRole: String? {
        switch self {
        case .owner: "_owner"
        case .user(let id): "_user_id:\(id.rawValue)"
        case .field(let name): "_field:\(name.rawValue)"
        case .role(let name): "_role:\(name.rawValue)"
        case .users: "_any_user"
        case .everyone: "_public"
        case .registered, .verified, .group, .apiKey, .relation: nil
        }
    }

    /// Parses a `user_role` of Skygear; nil for any other text.
    package init?(skygearRole text: String) {
        switch text {
        case "_owner": self = .owner
        case "_any_user": self = .users
        case "_public": self = .everyone
        default:
            guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else { return nil }
            let name = String(decoding: text.utf8[text.utf8.index(after: colon)...], as: UTF8.self)
            guard name.isName else { return nil }
            switch String(decoding: text.utf8[..<colon], as: UTF8.self) {
            case "_user_id": self = .user(UserID(name))
            case "_role": self = .role(RoleName(name))
            case "_field":
                guard let field = try? FieldName(name) else { return nil }
                self = .field(field)
            default: return nil
            }
        }
    }
}

/// The rules of fields that are set, by the fields that share them, and the part that Skygear's calls read and change.
package struct StoredFieldRules: Hashable, Sendable {
    package typealias Uses = FieldRuleGroups.Uses

    package var rules: [FieldRuleScope: Uses]

    package init(_ rules: [FieldRuleScope: Uses] = [:]) {
        self.rules = rules
    }

    /// The rules of the fields that Skygear's form expresses completely, in Skygear's order.
    package var skygearRules: [SkygearFieldRule] {
        rules.sorted { $0.key < $1.key }.flatMap { Self.skygearRules($1, of: $0) ?? [] }
    }

    /// Returns the rules with these in place of ``skygearRules``; other rules are left unchanged.
    ///
    /// Throws `108 InvalidArgument`, with the index of the rule in `info.path`, for two rules of the same users, and for fields
    /// whose rules this form cannot express, which would be lost.
    package func replacingSkygearRules(_ new: [SkygearFieldRule]) throws(SkyrowError) -> StoredFieldRules {
        var stored = rules.filter { Self.skygearRules($1, of: $0) == nil }
        var places: [FieldRuleScope: [Subject: Int]] = [:]
        for (place, rule) in new.enumerated() {
            guard stored[rule.scope] == nil else {
                throw Self.refusal("\(rule.scope) has rules that this form cannot express; remove them first.", place)
            }
            guard places[rule.scope, default: [:]].updateValue(place, forKey: rule.subject) == nil else {
                throw Self.refusal("\(rule.scope) already has such a rule.", place)
            }
            guard places[rule.scope, default: [:]].count <= ClassRule.maximumSubjects else {
                throw Self.refusal("A field can have at most \(ClassRule.maximumSubjects) rules.", place)
            }
        }
        for (scope, group) in Dictionary(grouping: new, by: \.scope) {
            stored[scope] = Self.uses(of: group.sorted { Subject.isBefore($0.subject, $1.subject) })
        }
        for (type, scopes) in Dictionary(grouping: stored.keys, by: \.type)
        where scopes.count > ClassAccess.maximumFields + 1 {
            let place = new.firstIndex { $0.scope.type == type } ?? 0
            throw Self.refusal("At most \(ClassAccess.maximumFields) fields of a type can have rules.", place)
        }
        return StoredFieldRules(stored)
    }

    private static func refusal(_ message: String, _ place: Int) -> SkyrowError {
        SkyrowError.invalidArgument(message, "access").at("access[\(place)]")
    }

    /// Returns the rules of some fields in the form of tables.
    ///
    /// - Parameter rules: in Skygear's order.
    private static func uses(of rules: [SkygearFieldRule]) -> Uses {
        var uses: Uses = [:]
        for use in FieldUse.allCases {
            // The fields of a new record contain no users yet.
            let entries = rules.filter { $0.subject.fits(use) }.map {
                FieldSubjects.Entry($0.subject, allows: $0.allows(use))
            }
            uses[use] = FieldSubjects(entries)
        }
        return uses
    }

    /// Returns the rules of some fields in Skygear's form; nil when it cannot express all of them.
    private static func skygearRules(_ uses: Uses, of scope: FieldRuleScope) -> [SkygearFieldRule]? {
        guard let read = uses[.read], !read.isEmpty, read.subjects.allSatisfy({ $0.skygearRank != nil }) else {
            return nil
        }
        func allows(_ use: FieldUse, _ subject: Subject) -> Bool {
            uses[use]?.entries.contains(FieldSubjects.Entry(subject)) ?? false
        }
        let rules = read.subjects.sorted(by: Subject.isBefore).map { subject in
            SkygearFieldRule(
                scope,
                subject,
                writable: allows(.update, subject),
                readable: allows(.read, subject),
                comparable: allows(.compare, subject),
                discoverable: allows(.discover, subject)
            )
        }
        return Self.uses(of: rules) == uses ? rules : nil
    }
}
