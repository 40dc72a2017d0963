/// Which records a request is about that changes many at once.
package enum RecordMatch: Sendable {
    /// Those that the caller may read and for which the predicate is true.
    case predicate(RecordPredicate)
    case ids([RecordID])
}

/// What is set in each of some records: values, operators and the access list, without an id.
public struct RecordChanges: Hashable, Sendable {
    /// A draft whose id and precondition do not count.
    package let draft: RecordDraft

    package init(_ draft: RecordDraft) {
        self.draft = draft
    }

    /// The draft that makes these changes to a record.
    package func draft(of id: RecordID) -> RecordDraft {
        RecordDraft(id: id, access: draft.access, fields: draft.fields, operators: draft.operators)
    }

    /// The fields that get a value or have an operator.
    package var fields: [FieldName] { draft.fields.map(\.name) + draft.operators.map(\.name) }
}

/// `record:update`, or `record:delete` by a predicate, decoded.
package struct BulkRequest: Sendable {
    package enum Change: Sendable {
        /// - Parameter size: the bytes of JSON of the changes.
        case update(RecordChanges, size: Int)
        case delete
    }

    /// The records of one request at most.
    package static let maximumRecords = 10_000
    /// The bytes that one request may write at most, as the size of its changes times the number of records.
    package static let maximumBytes = 64 << 20

    package var database: DatabaseName
    package var type: RecordTypeName
    package var match: RecordMatch
    package var change: Change
    /// Where more records match than this, nothing is changed.
    package var atMost: Int
    /// Whether nothing is changed, and the result says what would be.
    package var isDryRun: Bool
    /// Up to 64 bytes; a retry with the same key gets the first result.
    package var idempotencyKey: String?
    /// The SHA-256 of the request's canonical text is made from these bytes when a key is given.
    package var fingerprintSource: [UInt8]

    package init(
        database: DatabaseName,
        type: RecordTypeName,
        match: RecordMatch,
        change: Change,
        atMost: Int,
        isDryRun: Bool = false,
        idempotencyKey: String? = nil,
        fingerprintSource: [UInt8] = []
    ) {
        self.database = database
        self.type = type
        self.match = match
        self.change = change
        self.atMost = atMost
        self.isDryRun = isDryRun
        self.idempotencyKey = idempotencyKey
        self.fingerprintSource = fingerprintSource
    }
}

/// What has become of the records that a request was about, by their ids.
public struct BulkResult: Hashable, Sendable {
    /// Those that were updated or deleted, in the order of their ids.
    public var changed: [RecordID] = []
    /// Those that the caller may read and not change so.
    public var notPermitted: [RecordID] = []
    /// Those of the ids that were sent that do not exist, or that the caller may not read.
    public var notFound: [RecordID] = []
    /// Those that others changed or deleted meanwhile, so that they match no more.
    public var conflicting: [RecordID] = []
    /// What was deleted with those that were deleted, by the rules of references.
    public var dependents = DeletedDependents.none

    public init() {}

    /// How many records matched.
    public var count: Int { changed.count + notPermitted.count + conflicting.count }
}
