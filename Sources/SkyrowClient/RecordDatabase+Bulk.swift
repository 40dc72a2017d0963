import Foundation
public import SkyrowModel
import SkyrowProtocol

extension RecordDatabase {
    /// Changes all matching records of a type, or none. Records that the caller may only read are reported and left unchanged.
    ///
    /// ```swift
    /// let late = try await tasks.update(task, where: Field("due") < today, set: RecordChanges(["late": true]), atMost: 500)
    /// print(late.changed.count, late.notPermitted)
    /// ```
    ///
    /// Throws `108 InvalidArgument` with `info.count` when more than `atMost` records match, and `115 AtomicOperationFailure`
    /// when one of them cannot be changed. With `isDryRun` nothing is changed, and the result reports what would be.
    @discardableResult
    public func update(
        _ type: RecordTypeName,
        where predicate: RecordPredicate,
        set changes: RecordChanges,
        atMost: Int,
        isDryRun: Bool = false
    ) async throws(ClientError) -> BulkResult {
        var request = request(.predicate(predicate), of: type, .update(changes, size: 0), isDryRun)
        request.atMost = atMost
        return try await client.write(Actions.recordUpdate, request)
    }

    /// Changes records of one type by their ids, all or none; the result reports the ids that were not found.
    @discardableResult
    public func update(
        _ ids: [RecordID],
        set changes: RecordChanges,
        isDryRun: Bool = false
    ) async throws(ClientError) -> BulkResult {
        guard let type = ids.first?.type else { return BulkResult() }
        let request = request(.ids(ids), of: type, .update(changes, size: 0), isDryRun)
        return try await client.write(Actions.recordUpdate, request)
    }

    /// Deletes all matching records of a type, or none.
    @discardableResult
    public func delete(
        _ type: RecordTypeName,
        where predicate: RecordPredicate,
        atMost: Int,
        isDryRun: Bool = false
    ) async throws(ClientError) -> BulkResult {
        var request = request(.predicate(predicate), of: type, .delete, isDryRun)
        request.atMost = atMost
        guard case .matches(let result) = try await client.write(Actions.recordDelete, .matches(request)) else {
            throw .otherResult
        }
        return result
    }

    private func request(
        _ match: RecordMatch,
        of type: RecordTypeName,
        _ change: BulkRequest.Change,
        _ isDryRun: Bool
    ) -> BulkRequest {
        BulkRequest(
            database: name,
            type: type,
            match: match,
            change: change,
            isDryRun: isDryRun,
            idempotencyKey: isDryRun ? nil : UUID().uuidString
        )
    }
}

extension RecordChanges {
    /// Creates changes from fields to set and operators to apply; throws `108 InvalidArgument` when a text is not a field name.
    ///
    /// ```swift
    /// let changes = try RecordChanges(["late": true], applying: ["reminders": .increment(by: 1)])
    /// ```
    ///
    /// - Parameter operators: changes that the service computes from stored values; a field has either an operator or a value.
    public init(
        _ fields: KeyValuePairs<String, RecordValue> = [:],
        applying operators: KeyValuePairs<String, FieldOperator> = [:],
        access: AccessList? = nil
    ) throws(SkyrowError) {
        self.init(try RecordDraft("record/1", fields, applying: operators, access: access))
    }
}
