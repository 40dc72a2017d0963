/// The records of a request that changes many at once.
package enum RecordMatch: Sendable {
    /// The records that the caller may read and that match the predicate.
    case predicate(RecordPredicate)
    case ids([RecordID])
}

/// The changes to make in each of several records: values, operators and the access list, without an id.
public struct RecordChanges: Hashable, Sendable {
    /// A draft whose id and precondition are ignored.
    package let draft: RecordDraft

    package init(_ draft: RecordDraft) {
        self.draft = draft
    }

    /// Returns the draft that makes these changes to a record.
    package func draft(of id: RecordID) -> RecordDraft {
        RecordDraft(id: id, access: draft.access, fields: draft.fields, operators: draft.operators)
    }

    /// The fields that get a value or have an operator.
    package var fields: [FieldName] { draft.fields.map(\.name) + draft.operators.map(\.name) }
}

/// `record:update`, or `record:delete` by a predicate, decoded.
package struct BulkRequest: Sendable {
    package enum Change: Sendable {
        /// - Parameter size: the size of the changes in bytes of JSON.
        case update(RecordChanges, size: Int)
        case delete
    }

    /// Upper bound on the records of one request.
    package static let maximumRecords = 10_000
    /// Upper bound on the bytes that one request may write: the size of its changes times the number of records.
    package static let maximumBytes = 64 << 20

    package var database: DatabaseName
    package var type: RecordTypeName
    package var match: RecordMatch
    package var change: Change
    /// When more records match than this, nothing is changed.
    package var atMost: Int
    /// Whether nothing is changed, and the result reports what would be.
    package var isDryRun: Bool
    /// Up to 64 bytes; a retry with the same key gets the first result.
    package var idempotencyKey: String?
    /// The bytes from which the SHA-256 of the request's canonical text is computed when a key is given.
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

/// The outcome for the records of a request, by their ids.
public struct BulkResult: Hashable, Sendable {
    /// The updated or deleted records, in the order of their ids.
    public var changed: [RecordID] = []
    /// The records that the caller may read but not change this way.
    public var notPermitted: [RecordID] = []
    /// The requested ids of records that do not exist, or that the caller may not read.
    public var notFound: [RecordID] = []
    /// The records that others changed or deleted meanwhile, so that they no longer match.
    public var conflicting: [RecordID] = []
    /// The records that the rules of references deleted with the deleted ones.
    public var dependents = DeletedDependents.none

    public init() {}

    /// The number of matching records.
    public var count: Int { changed.count + notPermitted.count + conflicting.count }
}
