/// An action on records that the rules of a record type control.
public enum ClassAction: String, Hashable, Sendable, CaseIterable {
    case create
    case read
    case update
    case delete
}

/// The rule of a record type for one action: the subjects that it allows, and how the access lists of records affect it.
///
/// ```swift
/// ClassRule([.owner, .field(editors)], .require)  // the owner and the editors, if the record's list also admits them
/// ```
public struct ClassRule: Hashable, Sendable {
    /// How a rule and the access list of a record combine.
    public enum Mode: String, Hashable, Sendable, CaseIterable {
        /// The rule applies to records without a list.
        case `default`
        /// The rule and the record's list must both admit the caller.
        case require
        /// The rule alone decides; lists are ignored, for owners too.
        case override
    }

    /// The allowed subjects as a set, in the order of ``Subject``; empty for the master key only.
    public let allow: [Subject]
    public let mode: Mode

    public init(_ allow: [Subject], _ mode: Mode = .default) {
        self.allow = Set(allow).sorted()
        self.mode = mode
    }

    /// The default upper bound on the subjects of a rule, which is also that on the entries of a list.
    package static let maximumSubjects = AccessList.defaultMaximum
    /// Upper bound on the number that a setting may allow.
    package static let utmostSubjects = AccessList.utmostMaximum
}

extension ClassRule {
    /// Returns the rule of a type that has no rule for the action.
    package static func standard(_ action: ClassAction) -> ClassRule {
        switch action {
        case .create: usersOnly
        case .read: everyoneReads
        case .update, .delete: ownersOnly
        }
    }

    private static let usersOnly = ClassRule([.users])
    private static let everyoneReads = ClassRule([.everyone])
    private static let ownersOnly = ClassRule([.owner])
}

/// Who creates, reads, changes and deletes the records of a type, and the defaults of new records: the result of
/// `schema:access:get`.
///
/// ```swift
/// var access = ClassAccess()
/// access.rules[.create] = ClassRule([.role("writer")])
/// access.allowsPrivate = false
/// ```
public struct ClassAccess: Hashable, Sendable {
    /// Who changes the access list of a record.
    public enum ListWriters: String, Hashable, Sendable, CaseIterable {
        case owner
        /// Callers who may update the record.
        case update
    }

    /// Who sees the whole access list of a record, among its readers. Others see the entries that name no user, role, group, key
    /// or relation.
    public enum ListReaders: String, Hashable, Sendable, CaseIterable {
        case owner
        /// Callers who may update the record.
        case update
        /// Callers who may read the record.
        case read
    }

    /// The owner of a new public record.
    public enum NewOwner: String, Hashable, Sendable, CaseIterable {
        /// The user who creates it.
        case creator = "owner"
        /// No owner: only rules and lists say what its creator may do with it.
        case noOne = "none"
    }

    /// Who may transfer records to other owners.
    public enum Transferrers: String, Hashable, Sendable, CaseIterable {
        /// Only the master key.
        case master
        /// The owner of a record as well.
        case owner
    }

    /// The rules that were set; other actions have the standard ones.
    public var rules: [ClassAction: ClassRule] = [:]
    /// The access list of a new public record that is saved without one; nil for no list.
    public var defaultAccess: AccessList?
    /// nil for the service's setting.
    public var listWriters: ListWriters?
    /// nil for the service's setting.
    public var listReaders: ListReaders?
    public var transferrers = Transferrers.master
    public var newOwner = NewOwner.creator
    /// Whether private databases may contain records of the type.
    public var allowsPrivate = true
    /// Whether callers other than the master key may compute aggregates of the records.
    public var allowsAggregates = true
    /// The rules of single fields: the subjects that each use is allowed to, among those to whom a record is open. A field or a
    /// use without a rule is as open as the record; an empty rule allows it to the master key only.
    public var fields: [FieldName: [FieldUse: FieldSubjects]] = [:]
    /// The rules of every field without a rule for the use, `"*"` among the names of fields.
    public var everyField: [FieldUse: FieldSubjects] = [:]

    /// The name that stands for every type, or for every field.
    package static let everyName = "*"

    /// Upper bound on the fields of a type with rules.
    package static let maximumFields = 500

    public init() {}

    /// The rules of fields in the order of the names, with those of every field last.
    package var fieldRules: [(field: String, uses: [(use: FieldUse, allow: FieldSubjects)])] {
        let named = fields.sorted { $0.key < $1.key }.map { (field: $0.key.rawValue, uses: $0.value) }
        return (named + (everyField.isEmpty ? [] : [(field: Self.everyName, uses: everyField)])).map { field, uses in
            (field, uses.sorted { $0.key.rawValue < $1.key.rawValue }.map { (use: $0.key, allow: $0.value) })
        }
    }

    /// Returns the rule of an action, which is the standard one when none was set.
    public func rule(_ action: ClassAction) -> ClassRule {
        rules[action] ?? .standard(action)
    }
}

/// A change of the rules of a type: `schema:access:set`. A nil member is left unchanged.
public struct ClassAccessChange: Hashable, Sendable {
    public var type: RecordTypeName
    /// An inner nil removes a rule.
    public var rules: [ClassAction: ClassRule?] = [:]
    public var defaultAccess: AccessList??
    public var listWriters: ClassAccess.ListWriters??
    public var listReaders: ClassAccess.ListReaders??
    public var transferrers: ClassAccess.Transferrers?
    public var newOwner: ClassAccess.NewOwner?
    public var allowsPrivate: Bool?
    public var allowsAggregates: Bool?
    /// The rules to change, by field; an inner nil removes a rule.
    public var fields: [FieldName: [FieldUse: FieldSubjects?]] = [:]
    /// The same for every field without a rule for the use.
    public var everyField: [FieldUse: FieldSubjects?] = [:]

    public init(type: RecordTypeName) {
        self.type = type
    }
}

extension ClassAccess {
    /// Returns the rules after a change.
    package func applying(_ change: ClassAccessChange) -> ClassAccess {
        var access = self
        for (action, rule) in change.rules { access.rules[action] = rule }
        if let list = change.defaultAccess { access.defaultAccess = list }
        if let writers = change.listWriters { access.listWriters = writers }
        if let readers = change.listReaders { access.listReaders = readers }
        if let transferrers = change.transferrers { access.transferrers = transferrers }
        if let newOwner = change.newOwner { access.newOwner = newOwner }
        if let allowsPrivate = change.allowsPrivate { access.allowsPrivate = allowsPrivate }
        if let allowsAggregates = change.allowsAggregates { access.allowsAggregates = allowsAggregates }
        for (field, uses) in change.fields {
            var rules = access.fields[field] ?? [:]
            for (use, allow) in uses { rules[use] = allow }
            access.fields[field] = rules.isEmpty ? nil : rules
        }
        for (use, allow) in change.everyField { access.everyField[use] = allow }
        return access
    }
}

extension Subject {
    /// Whether a rule about an action may name it.
    package func fits(_ action: ClassAction) -> Bool {
        // A new record has no owner or field yet.
        !dependsOnRecord || (kind == .owner || kind == .field) && action != .create
    }
}

extension ClassAccessChange {
    /// Creates the change that replaces the rules of a type by these; fields without rules among these keep theirs.
    public init(type: RecordTypeName, to access: ClassAccess) {
        self.init(type: type)
        for action in ClassAction.allCases { rules.updateValue(access.rules[action], forKey: action) }
        defaultAccess = .some(access.defaultAccess)
        listWriters = .some(access.listWriters)
        listReaders = .some(access.listReaders)
        transferrers = access.transferrers
        newOwner = access.newOwner
        allowsPrivate = access.allowsPrivate
        allowsAggregates = access.allowsAggregates
        for (field, rules) in access.fields {
            for use in FieldUse.allCases { fields[field, default: [:]].updateValue(rules[use], forKey: use) }
        }
        for use in FieldUse.allCases { everyField.updateValue(access.everyField[use], forKey: use) }
    }
}

extension SkyrowError {
    /// Returns the same error about the default list of a type, for an error about a list in `_access`.
    package var aboutDefaultAccess: SkyrowError {
        let path = "default_access" + (path ?? "_access").dropFirst("_access".count)
        return SkyrowError.invalidArgument(message, "default_access").at(path)
    }
}
