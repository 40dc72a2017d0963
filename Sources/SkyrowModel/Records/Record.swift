/// A stored record with its metadata, created when a rule, a hook, a subscriber or a client needs one.
public struct Record: Hashable, Sendable {
    public var id: RecordID
    public var owner: UserID?
    /// nil for the type's default: everyone reads, the owner writes.
    public var access: AccessList?
    public var createdAt: Timestamp?
    public var createdBy: UserID?
    public var updatedAt: Timestamp?
    public var updatedBy: UserID?
    public var revision: Int64?
    /// User fields that are not NULL.
    public var fields: [FieldName: RecordValue]
    /// Included records by the name of the inclusion; nil when the target is missing or unreadable.
    public var transient: [String: Record?]
    /// Included numbers, such as distances, by the name of the inclusion; a missing value has no entry.
    public var computed: [String: Double] = [:]
    /// Included lists of records by the name of the inclusion.
    public var lists: [String: RecordList]

    public init(id: RecordID, fields: [FieldName: RecordValue] = [:]) {
        self.id = id
        self.fields = fields
        transient = [:]
        lists = [:]
    }
}

extension Record {
    /// The record that this one belongs to and is deleted with.
    public var parent: RecordID? {
        if case .reference(let id)? = fields[.parent] { id } else { nil }
    }
}

/// The records of an included list.
public struct RecordList: Hashable, Sendable {
    /// The records that the caller may read, up to the limit of the inclusion.
    public var records: [Record]
    /// The total number of records, if the inclusion asks for it.
    public var count: Int?

    public init(_ records: [Record], count: Int? = nil) {
        self.records = records
        self.count = count
    }
}

/// A condition on the stored record under which a save takes effect, `_if_revision` on the wire.
public enum SavePrecondition: Hashable, Sendable {
    /// `"new"`: the record does not exist yet.
    case isNew
    /// `"any"`: the record exists, with any revision.
    case exists
    case revision(Int64)
}

/// A record as a client sends it to be saved: the fields it names are set, the others are left unchanged.
public struct RecordDraft: Hashable, Sendable {
    /// The id may be temporary (`post/$1`).
    public var id: RecordID
    /// nil keeps the stored access list, or gives a new record the type's default.
    public var access: AccessList?
    /// In the order of the request; each name occurs once.
    public var fields: [(name: FieldName, value: RecordValue)]
    /// The fields that an operator changes, in the order of the request; disjoint from ``fields``.
    public var operators: [(name: FieldName, change: FieldOperator)]
    public var precondition: SavePrecondition?
    /// What must hold for the stored record, on its own fields only; it does not hold when no record exists.
    public var condition: RecordPredicate?
    /// What hooks have set; nil for nothing. No request can name it.
    package var trusted: TrustedMembers?

    public init(
        id: RecordID,
        access: AccessList? = nil,
        fields: [(name: FieldName, value: RecordValue)] = [],
        precondition: SavePrecondition? = nil,
        operators: [(name: FieldName, change: FieldOperator)] = [],
        condition: RecordPredicate? = nil
    ) {
        self.id = id
        self.access = access
        self.fields = fields
        self.operators = operators
        self.precondition = precondition
        self.condition = condition
    }

    public static func == (a: RecordDraft, b: RecordDraft) -> Bool {
        a.id == b.id && a.access == b.access && a.precondition == b.precondition && a.condition == b.condition
            && a.trusted == b.trusted
            && a.fields.elementsEqual(b.fields) { $0.name == $1.name && $0.value == $1.value }
            && a.operators.elementsEqual(b.operators) { $0.name == $1.name && $0.change == $1.change }
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(id)
        hasher.combine(access)
        hasher.combine(precondition)
        hasher.combine(condition)
        hasher.combine(trusted)
        for field in fields {
            hasher.combine(field.name)
            hasher.combine(field.value)
        }
        for field in operators {
            hasher.combine(field.name)
            hasher.combine(field.change)
        }
    }
}
