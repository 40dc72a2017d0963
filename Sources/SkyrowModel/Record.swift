/// A stored record with its metadata, made when a rule, a hook, a subscriber or a client asks for one.
public struct Record: Hashable, Sendable {
    public var id: RecordID
    public var owner: UserID?
    /// nil means the type's default: everyone reads, the owner writes.
    public var access: AccessList?
    public var createdAt: Timestamp?
    public var createdBy: UserID?
    public var updatedAt: Timestamp?
    public var updatedBy: UserID?
    public var revision: Int64?
    /// User fields that are not NULL.
    public var fields: [FieldName: RecordValue]
    /// Included records by the name of the inclusion; nil where the target is missing or unreadable.
    public var transient: [String: Record?]
    /// Included numbers, such as distances, by the name of the inclusion; there is none where a value is missing.
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

/// Some records that travel with another.
public struct RecordList: Hashable, Sendable {
    /// Those that the caller may read, up to the limit of the inclusion.
    public var records: [Record]
    /// How many there are, where the inclusion asks for that.
    public var count: Int?

    public init(_ records: [Record], count: Int? = nil) {
        self.records = records
        self.count = count
    }
}

/// A condition on the stored record under which a save goes ahead, `_if_revision` on the wire.
public enum SavePrecondition: Hashable, Sendable {
    /// `"new"`: there is no such record yet.
    case isNew
    /// `"any"`: there is such a record, of whatever revision.
    case exists
    case revision(Int64)
}

/// A record as a client sends it to be saved: the fields it names are set, the others stay as they are.
public struct RecordDraft: Hashable, Sendable {
    /// The id may be temporary (`post/$1`).
    public var id: RecordID
    /// nil keeps the stored list, or gives a new record the type's default.
    public var access: AccessList?
    /// In the order they were sent, each name once.
    public var fields: [(name: FieldName, value: RecordValue)]
    /// The fields that are changed by an operator, in the order they were sent; none of them is among ``fields``.
    public var operators: [(name: FieldName, change: FieldOperator)]
    public var precondition: SavePrecondition?
    /// What must hold of the stored record, of its own fields only; without a record it does not hold.
    public var condition: RecordPredicate?

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
            && a.fields.elementsEqual(b.fields) { $0.name == $1.name && $0.value == $1.value }
            && a.operators.elementsEqual(b.operators) { $0.name == $1.name && $0.change == $1.change }
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(id)
        hasher.combine(access)
        hasher.combine(precondition)
        hasher.combine(condition)
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
