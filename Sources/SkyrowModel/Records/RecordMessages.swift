/// `record:save`, decoded: drafts in the order of the request, or an error in place of one that could not be read.
package struct SaveRequest: Sendable {
    /// An element of the list.
    package enum Item: Sendable {
        case draft(RecordDraft)
        /// `id` as it was sent, if it could be read.
        case failure(SkyrowError, id: String?)
    }

    package var database: DatabaseName
    package var items: [Item]
    package var isAtomic: Bool
    package var returnedMembers: ReturnedMembers
    /// Up to 64 bytes; a retry with the same key gets the first result.
    package var idempotencyKey: String?
    /// The bytes from which the SHA-256 of the request's canonical text is computed when a key is given.
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

// A batch has many items, so these members iterate by index, without copies.

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
    /// How to explain the query; nil to run it.
    package var explanation: ExplainMode?
    /// How long the database may work on it; nil for the service's own limit.
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

/// The outcome of one entry of a batch.
package enum RecordOutcome: Sendable {
    case record(any RecordSource)
    /// Sent as `{"_id": "note/1", "_type": "record"}`, with the records that were deleted with it.
    case deleted(RecordID, with: DeletedDependents = .none)
    /// Sent as `{"_id": …, "_type": "error", "name": …, "code": …, "message": …}`.
    case failure(SkyrowError, id: String?)
}

/// The result of `record:query`.
package struct QueryResult: Sendable {
    package var records: [any RecordSource]
    /// The included records, each once, by the ids that stand for them; nil when they are nested.
    package var included: [IncludedRecord]?
    /// The number of matching records, regardless of position, limit and offset; nil unless the query counts them.
    package var count: Int?
    /// The kind of the count, when it may be an estimate.
    package var countKind: CountKind?
    /// Whether the limit left out matching records.
    package var hasMore: Bool
    /// The cursor of the record that was read last, from which the next page continues; nil without records.
    package var cursor: String?
    /// Whether an envelope with room beside the result describes more than its records.
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
