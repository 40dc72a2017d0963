import Foundation
public import SkyrowModel
import SkyrowProtocol

/// The records of one database.
///
/// Each save and delete carries a fresh idempotency key, so that the client can repeat it after a lost response and the service
/// carries it out only once.
public struct RecordDatabase: Sendable {
    public let name: DatabaseName
    let client: SkyrowClient

    init(client: SkyrowClient, name: DatabaseName) {
        self.client = client
        self.name = name
    }

    // MARK: One record

    /// Creates a record or merges fields into it, and returns the whole record.
    @discardableResult
    public func save(_ draft: RecordDraft) async throws(ClientError) -> Record {
        try only(try await save([draft]))
    }

    /// Returns the record of an id; throws `110 ResourceNotFound` also when the caller may not read it.
    public func fetch(_ id: RecordID) async throws(ClientError) -> Record {
        try only(try await fetch([id]))
    }

    /// Deletes a record.
    public func delete(_ id: RecordID) async throws(ClientError) {
        _ = try only(try await delete([id]))
    }

    // MARK: Several records

    /// Saves records; returns the outcome of each, in the order of the drafts.
    ///
    /// - Parameters:
    ///   - drafts: the records, or their changed fields.
    ///   - atomically: whether one failure undoes all; the call then throws `115 AtomicOperationFailure`.
    ///   - members: the members of each record to return.
    public func save(
        _ drafts: [RecordDraft],
        atomically: Bool = false,
        returning members: ReturnedMembers = .record
    ) async throws(ClientError) -> [Result<Record, SkyrowError>] {
        if drafts.isEmpty { return [] }
        let request = SaveRequest(
            database: name,
            items: drafts.map { .draft($0) },
            isAtomic: atomically,
            returnedMembers: members,
            idempotencyKey: UUID().uuidString
        )
        return try await client.write(Actions.recordSave, request).records(count: drafts.count)
    }

    /// Fetches records; returns the outcome of each, in the order of the ids.
    public func fetch(_ ids: [RecordID]) async throws(ClientError) -> [Result<Record, SkyrowError>] {
        if ids.isEmpty { return [] }
        let request = RecordIDsRequest(database: name, ids: ids)
        return try await client.call(Actions.recordFetch, request).records(count: ids.count)
    }

    /// Deletes records; returns the outcome of each, in the order of the ids.
    ///
    /// - Parameters:
    ///   - ids: the records.
    ///   - atomically: whether one failure undoes all; the call then throws `115 AtomicOperationFailure`.
    public func delete(
        _ ids: [RecordID],
        atomically: Bool = false
    ) async throws(ClientError) -> [Result<RecordID, SkyrowError>] {
        let results = try await deleteWithDependents(ids, atomically: atomically)
        return zip(ids, results).map { id, result in result.map { _ in id } }
    }

    /// Deletes records; returns for each, in the order of the ids, what the rules of references (`DeleteRule`) deleted with it.
    ///
    /// - Parameters:
    ///   - ids: the records.
    ///   - atomically: whether one failure undoes all; the call then throws `115 AtomicOperationFailure`.
    public func deleteWithDependents(
        _ ids: [RecordID],
        atomically: Bool = false
    ) async throws(ClientError) -> [Result<DeletedDependents, SkyrowError>] {
        if ids.isEmpty { return [] }
        let request = RecordIDsRequest(
            database: name,
            ids: ids,
            isAtomic: atomically,
            idempotencyKey: UUID().uuidString
        )
        guard case .outcomes(let outcomes) = try await client.write(Actions.recordDelete, .ids(request)) else {
            throw .otherResult
        }
        return try outcomes.results(count: ids.count) {
            if case .deleted(_, let dependents) = $0 { dependents } else { nil }
        }
    }

    // MARK: Queries

    /// Returns the records that match, and their number when the query counts them.
    public func query(_ query: RecordQuery) async throws(ClientError) -> QueryPage {
        let request = QueryRequest(database: name, query: query)
        guard case .found(let result) = try await client.call(Actions.recordQuery, request) else { throw .otherResult }
        var page = QueryPage(
            records: result.records.compactMap { $0 as? Record },
            count: result.count,
            countKind: result.countKind,
            cursor: result.cursor,
            hasMore: result.hasMore
        )
        for case let record as Record in result.included?.map(\.source) ?? [] { page.included[record.id] = record }
        return page
    }

    private func only<Value>(_ results: [Result<Value, SkyrowError>]) throws(ClientError) -> Value {
        switch results.first {
        case .success(let value): return value
        case .failure(let error): throw .refused(error)
        case nil: throw ClientError(.invalidResponse, "The response has no entry.")
        }
    }
}

/// The result of a query.
public struct QueryPage: Hashable, Sendable {
    public var records: [Record]
    /// The included records, when the query returns each of them once (`includingEachOnce`).
    public var included: [RecordID: Record] = [:]
    /// The number of matching records, regardless of position, limit and offset; nil unless the query counts them.
    public var count: Int?
    /// The kind of the count, when the query asked for an estimate.
    public var countKind: CountKind?
    /// The cursor from which the next page continues: that of the last record, or of the first one when the page was read
    /// backwards; nil without records.
    public var cursor: String?
    /// Whether more records match than the limit allows.
    public var hasMore = false
}

extension [RecordOutcome] {
    /// One result an entry; a list of another length cannot be matched to the requested ones and is an invalid response.
    ///
    /// - Parameter value: what an entry that is no failure has; nil where it has something else.
    func results<Value>(
        count: Int,
        _ value: (RecordOutcome) -> Value?
    ) throws(ClientError) -> [Result<Value, SkyrowError>] {
        let results = compactMap { outcome -> Result<Value, SkyrowError>? in
            if case .failure(let error, _) = outcome { .failure(error) } else { value(outcome).map { .success($0) } }
        }
        guard results.count == count else {
            throw ClientError(
                .invalidResponse,
                "The response cannot be read: The response must have one entry for each requested one."
            )
        }
        return results
    }

    /// The records that were read or written.
    func records(count: Int) throws(ClientError) -> [Result<Record, SkyrowError>] {
        try results(count: count) { if case .record(let source) = $0 { source as? Record } else { nil } }
    }
}

extension ClientError {
    static let otherResult = ClientError(
        .invalidResponse,
        "The response cannot be read: It has not the form of the action's result."
    )
}
