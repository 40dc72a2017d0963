/// `record:save`, decoded: drafts in the order they were sent, an error where one could not be read.
package struct SaveRequest: Sendable {
    /// What came at one place of the list.
    package enum Item: Sendable {
        case draft(RecordDraft)
        /// `id` as it was sent, when it could be read at all.
        case failure(SkyrowError, id: String?)
    }

    package var database: DatabaseName
    package var items: [Item]
    package var isAtomic: Bool
    package var returnedMembers: ReturnedMembers
    /// Up to 64 bytes; a retry with the same key gets the first result.
    package var idempotencyKey: String?
    /// The SHA-256 of the request's canonical text is made from these bytes when a key is given.
    package var fingerprintSource: [UInt8]

    package init(
        database: DatabaseName,
        items: [Item],
        isAtomic: Bool = false,
        returnedMembers: ReturnedMembers = .record,
        idempotencyKey: String? = nil,
        fingerprintSource: [UInt8] = []
    ) {
        self.database = database
        self.items = items
        self.isAtomic = isAtomic
        self.returnedMembers = returnedMembers
        self.idempotencyKey = idempotencyKey
        self.fingerprintSource = fingerprintSource
    }
}

// A batch has many items, so what is asked of all of them is asked of each where it stands, without a copy.

extension [SaveRequest.Item] {
    /// The types of the drafts.
    package var types: Set<RecordTypeName> {
        var types: Set<RecordTypeName> = []
        // Most requests save records of one type.
        var last: RecordTypeName?
        for place in indices {
            guard case .draft(let draft) = self[place], draft.id.type != last else { continue }
            types.insert(draft.id.type)
            last = draft.id.type
        }
        return types
    }

    /// Whether a draft has an access list.
    package var haveAccessLists: Bool {
        indices.contains { place in
            if case .draft(let draft) = self[place] { draft.access != nil } else { false }
        }
    }
}

/// `record:fetch` or `record:delete`, decoded.
package struct RecordIDsRequest: Sendable {
    package var database: DatabaseName
    package var ids: [RecordID]
    package var isAtomic: Bool
    package var idempotencyKey: String?

    package init(database: DatabaseName, ids: [RecordID], isAtomic: Bool = false, idempotencyKey: String? = nil) {
        self.database = database
        self.ids = ids
        self.isAtomic = isAtomic
        self.idempotencyKey = idempotencyKey
    }
}

/// `record:query`, decoded.
package struct QueryRequest: Sendable {
    package var database: DatabaseName
    package var query: RecordQuery
    /// How it is to be explained; nil where it is to be answered.
    package var explanation: ExplainMode?
    /// How long the database may work at it; nil for as long as the service lets it.
    package var timeLimit: Duration?

    package init(
        database: DatabaseName,
        query: RecordQuery,
        explanation: ExplainMode? = nil,
        timeLimit: Duration? = nil
    ) {
        self.database = database
        self.query = query
        self.explanation = explanation
        self.timeLimit = timeLimit
    }
}

/// What became of one entry of a batch.
package enum RecordOutcome: Sendable {
    case record(any RecordSource)
    /// Answered as `{"_id": "note/1", "_type": "record"}`, with what was deleted with it.
    case deleted(RecordID, with: DeletedDependents = .none)
    /// Answered as `{"_id": …, "_type": "error", "name": …, "code": …, "message": …}`.
    case failure(SkyrowError, id: String?)
}

/// The result of `record:query`.
package struct QueryResult: Sendable {
    package var records: [any RecordSource]
    /// The records that these include, each once, by the ids that stand in their places; nil where they are nested.
    package var included: [IncludedRecord]?
    /// How many records match before position, limit and offset, when it was asked.
    package var count: Int?
    /// What the count is, when it may be an estimate.
    package var countKind: CountKind?
    /// Whether records that match were left out because of the limit.
    package var hasMore: Bool
    /// The place of the record that was read last, from which the next page goes on; nil without records.
    package var cursor: String?
    /// Whether an envelope with room beside the result says more than its records.
    package var isDescribed: Bool

    package init(
        records: [any RecordSource],
        count: Int? = nil,
        countKind: CountKind? = nil,
        hasMore: Bool = false,
        cursor: String? = nil,
        isDescribed: Bool = true
    ) {
        self.records = records
        self.count = count
        self.countKind = countKind
        self.hasMore = hasMore
        self.cursor = cursor
        self.isDescribed = isDescribed
    }
}

/// A record that records of a page include.
package struct IncludedRecord: Sendable {
    /// `"person/9"`
    package let id: String
    package let source: any RecordSource

    package init(id: String, source: any RecordSource) {
        self.id = id
        self.source = source
    }
}
