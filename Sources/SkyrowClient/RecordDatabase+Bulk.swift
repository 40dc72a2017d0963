import Foundation
import SkyrowJSON
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
        try await change(.predicate(predicate), of: type, changes, atMost: atMost, isDryRun)
    }

    /// Changes records of one type by their ids, all or none; the result reports the ids that were not found.
    @discardableResult
    public func update(
        _ ids: [RecordID],
        set changes: RecordChanges,
        isDryRun: Bool = false
    ) async throws(ClientError) -> BulkResult {
        guard let type = ids.first?.type else { return BulkResult() }
        return try await change(.ids(ids), of: type, changes, atMost: nil, isDryRun)
    }

    /// Deletes all matching records of a type, or none.
    @discardableResult
    public func delete(
        _ type: RecordTypeName,
        where predicate: RecordPredicate,
        atMost: Int,
        isDryRun: Bool = false
    ) async throws(ClientError) -> BulkResult {
        try await change(.predicate(predicate), of: type, nil, atMost: atMost, isDryRun)
    }

    private func change(
        _ match: RecordMatch,
        of type: RecordTypeName,
        _ changes: RecordChanges?,
        atMost: Int?,
        _ isDryRun: Bool
    ) async throws(ClientError) -> BulkResult {
        let key = UUID().uuidString
        let database = name
        return try await client.call(changes == nil ? .recordDelete : .recordUpdate, repeatability: .safe) {
            $0.bulkParameters(
                match,
                of: type,
                changes: changes,
                atMost: atMost,
                isDryRun: isDryRun,
                database: database,
                idempotencyKey: isDryRun ? nil : key
            )
        } read: { json throws(SkyrowError) in
            BulkResult(json)
        }
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
