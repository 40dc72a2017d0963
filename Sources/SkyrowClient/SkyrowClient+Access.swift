import SkyrowModel
import SkyrowProtocol

extension SkyrowClient {
    /// Returns who creates, reads, updates and deletes the records of a type, and the defaults of new ones; requires the master
    /// key.
    public func classAccess(of type: RecordTypeName) async throws(ClientError) -> ClassAccess {
        try await call(Actions.schemaAccessGet, type).access
    }

    /// Changes the rules of a type and returns all of them; requires the master key.
    ///
    /// ```swift
    /// var change = ClassAccessChange(type: report)
    /// change.rules[.create] = ClassRule([.role("writer")])
    /// change.rules[.delete] = ClassRule([], .override)
    /// change.fields[director] = [.read: [.owner, .role("staff")]]
    /// try await client.changeClassAccess(change)
    /// ```
    @discardableResult
    public func changeClassAccess(_ change: ClassAccessChange) async throws(ClientError) -> ClassAccess {
        try await call(Actions.schemaAccessSet, change).access
    }

    /// Sets the access list of the user's new public records that are saved without one; nil for the default of their type.
    public func setDefaultAccess(_ access: AccessList?) async throws(ClientError) {
        _ = try await call(Actions.authDefaultAccessSet, access)
    }

    /// Transfers public records to another owner; returns the outcome of each, in the order of the ids.
    ///
    /// The owner of a record may transfer it when the rules of its type allow that (`transfer_by`).
    public func transfer(
        _ ids: [RecordID],
        to owner: UserID
    ) async throws(ClientError) -> [Result<Record, SkyrowError>] {
        if ids.isEmpty { return [] }
        let transfer = RecordTransfer(ids: ids, owner: owner)
        return try await call(Actions.recordTransfer, transfer).records(count: ids.count)
    }
}
