import Foundation
import SkyrowJSON
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
        let key = UUID().uuidString
        let database = name
        return try await client.call(.recordSave, repeatability: .safe) {
            $0.saveParameters(
                drafts,
                database: database,
                isAtomic: atomically,
                returning: members,
                idempotencyKey: key
            )
        } read: { json throws(SkyrowError) in
            try recordResults(json, count: drafts.count)
        }
    }

    /// Fetches records; returns the outcome of each, in the order of the ids.
    public func fetch(_ ids: [RecordID]) async throws(ClientError) -> [Result<Record, SkyrowError>] {
        if ids.isEmpty { return [] }
        let database = name
        return try await client.call(.recordFetch) {
            $0.recordIDsParameters(ids, database: database)
        } read: { json throws(SkyrowError) in
            try recordResults(json, count: ids.count)
        }
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
        let key = UUID().uuidString
        let database = name
        return try await client.call(.recordDelete, repeatability: .safe) {
            $0.recordIDsParameters(ids, database: database, isAtomic: atomically, idempotencyKey: key)
        } read: { json throws(SkyrowError) in
            let results = try recordResults(json, count: ids.count)
            return zip(results, json.elements).map { result, json in result.map { _ in DeletedDependents(json) } }
        }
    }

    // MARK: Queries

    /// Returns the records that match, and their number when the query counts them.
    public func query(_ query: RecordQuery) async throws(ClientError) -> QueryPage {
        let database = name
        return try await client.call(.recordQuery) {
            $0.queryParameters(query, database: database)
        } read: { json throws(SkyrowError) in
            var included: [RecordID: Record] = [:]
            for (id, record) in json["included"]?.uniqueMembers ?? [] {
                included[try RecordID(id)] = try Record(record)
            }
            var records: [Record] = []
            for record in json["records"].map({ Array($0.elements) }) ?? [] {
                records.append(try Record(record, included: included))
            }
            let count = json["info"]?["count"]?.wholeNumber
            return QueryPage(
                records: records,
                included: included,
                count: count.flatMap { Int(exactly: $0) },
                countKind: json["info"]?["count_kind"]?.string.flatMap { CountKind(rawValue: $0) },
                cursor: json["info"]?["cursor"]?.string,
                hasMore: json["info"]?["has_more"]?.boolean ?? false
            )
        }
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

/// Reads one result per entry; a list of another length cannot be matched to the ids and is an invalid response.
func recordResults(_ json: JSONView, count: Int) throws(SkyrowError) -> [Result<Record, SkyrowError>] {
    guard json.isArray, json.count == count else {
        throw .invalidArgument("The response must have one entry for each requested one.")
    }
    var results: [Result<Record, SkyrowError>] = []
    results.reserveCapacity(count)
    for element in json.elements {
        switch try RecordEntry(element) {
        case .record(let record): results.append(.success(record))
        case .failure(let error, _): results.append(.failure(error))
        }
    }
    return results
}
