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
