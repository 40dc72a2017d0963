import Foundation
import SkyrowJSON
public import SkyrowModel
import SkyrowWire

extension RecordDatabase {
    /// Changes all records of a type that match, or none; records that may be read and not written are named and left alone.
    ///
    /// ```swift
    /// let late = try await tasks.update(task, where: Field("due") < today, set: RecordChanges(["late": true]), atMost: 500)
    /// print(late.changed.count, late.notPermitted)
    /// ```
    ///
    /// Throws `108 InvalidArgument` with `info.count` where more records match than `atMost`, and `115
    /// AtomicOperationFailure` where one of them cannot be changed so. With `isDryRun` nothing is changed, and the result
    /// says what would be.
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

    /// Changes records of one type by their ids, or none; the result names those that were not found.
    @discardableResult
    public func update(
        _ ids: [RecordID],
        set changes: RecordChanges,
        isDryRun: Bool = false
    ) async throws(ClientError) -> BulkResult {
        guard let type = ids.first?.type else { return BulkResult() }
        return try await change(.ids(ids), of: type, changes, atMost: nil, isDryRun)
    }

    /// Deletes all records of a type that match, or none.
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
    /// Fields to set and operators to apply; throws `108 InvalidArgument` when a text is no name.
    ///
    /// ```swift
    /// let changes = try RecordChanges(["late": true], applying: ["reminders": .increment(by: 1)])
    /// ```
    ///
    /// - Parameter operators: changes that the service makes of what is stored, none of a field that gets a value.
    public init(
        _ fields: KeyValuePairs<String, RecordValue> = [:],
        applying operators: KeyValuePairs<String, FieldOperator> = [:],
        access: AccessList? = nil
    ) throws(SkyrowError) {
        self.init(try RecordDraft("record/1", fields, applying: operators, access: access))
    }
}
