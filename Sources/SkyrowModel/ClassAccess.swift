/// What the rules of a record type are about.
public enum ClassAction: String, Hashable, Sendable, CaseIterable {
    case create
    case read
    case update
    case delete
}

/// The rule of a record type about one action: whom it allows, and what the lists of records add to that.
///
/// ```swift
/// ClassRule([.owner, .field(editors)], .require)  // the owner and the editors, as far as the record's list admits them
/// ```
public struct ClassRule: Hashable, Sendable {
    /// What a rule means beside the list of a record.
    public enum Mode: String, Hashable, Sendable, CaseIterable {
        /// The rule is what a record without a list has.
        case `default`
        /// The rule and the record's list must both admit the caller.
        case require
        /// The rule alone decides; lists are ignored, for owners too.
        case override
    }

    /// A set, in the order of ``Subject``; an empty one allows the action to the master key alone.
    public let allow: [Subject]
    public let mode: Mode

    public init(_ allow: [Subject], _ mode: Mode = .default) {
        self.allow = Set(allow).sorted()
        self.mode = mode
    }

    /// How many subjects a rule may have unless a setting says otherwise, which is also how many entries a list may.
    package static let maximumSubjects = AccessList.defaultMaximum
    /// How many a setting may allow.
    package static let utmostSubjects = AccessList.utmostMaximum
}

extension ClassRule {
    /// The rule of a type that has none of its own.
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

/// Who creates, reads, changes and deletes the records of a type, and what new ones begin with: what `schema:access:get`
/// answers.
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
        /// Those who may update the record.
        case update
    }

    /// Who sees the whole access list of a record, of those who may read it. Others see what it says of everyone and of all users.
    public enum ListReaders: String, Hashable, Sendable, CaseIterable {
        case owner
        /// Those who may update the record.
        case update
        /// Those who may read it.
        case read
    }

    /// Whose a new public record is.
    public enum NewOwner: String, Hashable, Sendable, CaseIterable {
        /// The user who makes it.
        case creator = "owner"
        /// No one's: rules and lists alone say what its creator may do with it.
        case noOne = "none"
    }

    /// Who gives records to other owners.
    public enum Transferrers: String, Hashable, Sendable, CaseIterable {
        /// The master key alone.
        case master
        /// The owner of a record, too.
        case owner
    }

    /// The rules that were set; others are the standard ones.
    public var rules: [ClassAction: ClassRule] = [:]
    /// What a new public record has that brings no list; nil for none.
    public var defaultAccess: AccessList?
    /// nil for what the service's settings say.
    public var listWriters: ListWriters?
    /// nil for what the service's settings say.
    public var listReaders: ListReaders?
    public var transferrers = Transferrers.master
    public var newOwner = NewOwner.creator
    /// Whether private databases have records of the type.
    public var allowsPrivate = true
    /// Whether others than the master key have aggregates of the records computed.
    public var allowsAggregates = true
    /// The rules of single fields: whom each allows what, among those to whom a record is open. A field or a use without a rule is
    /// as open as the record; an empty rule allows it to the master key alone.
    public var fields: [FieldName: [FieldUse: FieldSubjects]] = [:]
    /// Those of every field that has no rule of its own about the use, `"*"` among the names of fields.
    public var everyField: [FieldUse: FieldSubjects] = [:]

    /// What stands for every type, or for every field, in the place of a name.
    package static let everyName = "*"

    /// How many fields of a type may have rules.
    package static let maximumFields = 500

    public init() {}

    /// The rules of fields in the order of the names, those of every field at the end.
    package var fieldRules: [(field: String, uses: [(use: FieldUse, allow: FieldSubjects)])] {
        let named = fields.sorted { $0.key < $1.key }.map { (field: $0.key.rawValue, uses: $0.value) }
        return (named + (everyField.isEmpty ? [] : [(field: Self.everyName, uses: everyField)])).map { field, uses in
            (field, uses.sorted { $0.key.rawValue < $1.key.rawValue }.map { (use: $0.key, allow: $0.value) })
        }
    }

    /// The rule about an action, the standard one where none was set.
    public func rule(_ action: ClassAction) -> ClassRule {
        rules[action] ?? .standard(action)
    }
}

/// A change of the rules of a type: `schema:access:set`. What is nil stays as it is.
public struct ClassAccessChange: Hashable, Sendable {
    public var type: RecordTypeName
    /// An inner nil takes a rule away.
    public var rules: [ClassAction: ClassRule?] = [:]
    public var defaultAccess: AccessList??
    public var listWriters: ClassAccess.ListWriters??
    public var listReaders: ClassAccess.ListReaders??
    public var transferrers: ClassAccess.Transferrers?
    public var newOwner: ClassAccess.NewOwner?
    public var allowsPrivate: Bool?
    public var allowsAggregates: Bool?
    /// Of each field the rules to change; an inner nil takes a rule away.
    public var fields: [FieldName: [FieldUse: FieldSubjects?]] = [:]
    /// The same of every field that has no rule of its own about the use.
    public var everyField: [FieldUse: FieldSubjects?] = [:]

    public init(type: RecordTypeName) {
        self.type = type
    }
}

extension ClassAccess {
    /// The same after a change.
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
        switch self {
        case .everyone, .users, .registered, .verified, .user, .role, .group, .apiKey: true
        // There is no record yet whose owner or field it could be.
        case .owner, .field: action != .create
        case .relation: false
        }
    }
}

extension ClassAccessChange {
    /// The change that makes the rules of a type these, whatever they are; fields without rules among these keep theirs.
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

/// `schema:access` of Skygear, decoded: the roles whose users create records of a type.
package struct CreateRolesRequest: Hashable, Sendable {
    package var type: RecordTypeName
    /// None of them for every logged-in user.
    package var roles: [RoleName]

    package init(type: RecordTypeName, roles: [RoleName]) {
        self.type = type
        self.roles = roles
    }
}

/// `schema:default_access` of Skygear, and `auth:default_access:set`, decoded: the access list that new public records get that
/// bring none.
package struct DefaultAccessRequest: Hashable, Sendable {
    /// nil for a user's own list, which those of all types get.
    package var type: RecordTypeName?
    /// nil for none.
    package var access: AccessList?

    package init(type: RecordTypeName? = nil, access: AccessList?) {
        self.type = type
        self.access = access
    }
}

/// `record:transfer`, decoded.
package struct TransferRequest: Hashable, Sendable {
    package var ids: [RecordID]
    /// Whose they are to be.
    package var owner: UserID

    package init(ids: [RecordID], owner: UserID) {
        self.ids = ids
        self.owner = owner
    }
}

extension SkyrowError {
    /// The same about the list that new records of a type get, for an error about one in `_access`.
    package var aboutDefaultAccess: SkyrowError {
        let path = "default_access" + (path ?? "_access").dropFirst("_access".count)
        return SkyrowError.invalidArgument(message, "default_access").at(path)
    }
}
