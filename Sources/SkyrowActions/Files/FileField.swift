package import SkyrowModel
package import SkyrowProtocol
import SkyrowStore

/// The field of a record in which a file is, or will be.
package struct FileField: Hashable, Sendable {
    package let record: RecordID
    package let name: FieldName
    package let database: DatabaseName

    /// Throws `108 InvalidArgument` for a temporary id, which names no record between two requests.
    package init(_ name: FieldName, of record: RecordID, in database: DatabaseName = .everyone) throws(SkyrowError) {
        guard !record.isTemporary else { throw .invalidArgument("The id of this record is temporary.", "id") }
        self.record = record
        self.name = name
        self.database = database
    }

    /// A save of the record that changes only this field.
    fileprivate func draft(_ value: RecordValue, _ precondition: SavePrecondition) -> RecordDraft {
        RecordDraft(id: record, fields: [(name, value)], precondition: precondition)
    }
}

/// The save with which an upload into a field of a record ends.
struct FieldSave: Sendable {
    let field: FileField
    let precondition: SavePrecondition
    let sender: Sender
    let id: RequestID
    /// Whether the caller sees a file in the field that this one replaces.
    let replacesFile: Bool
}

extension ActionService {
    /// Returns the file in a field, as a caller with this access sees it; nil for a field without one.
    ///
    /// Throws the error of `record:fetch` for a record that does not exist or that the caller may not read.
    func file(in field: FileField, with access: RecordAccess) async throws(SkyrowError) -> Asset? {
        switch try await store.fetch([field.record], with: access).first {
        case .record(let source):
            guard source.isWhole else { throw .responseTooLarge }
            guard case .asset(let file)? = source.collected()?.fields[field.name] else { return nil }
            return file
        case .failure(let error, _): throw error
        case .deleted, nil: throw .unexpected
        }
    }

    /// Throws what the save of a file in a field would throw now; writes nothing.
    ///
    /// - Returns: Whether the caller sees a file in the field.
    func judgeSave(
        of file: AssetName,
        in field: FileField,
        _ precondition: SavePrecondition,
        by caller: Caller
    ) async throws(SkyrowError) -> Bool {
        let access = try recordAccess(to: field.database, for: .writing, by: caller)
        try access.requireWriting(field.record.type)
        let draft = field.draft(.asset(Asset(file)), precondition)
        if let refusal = try await store.refusals(saving: [draft], with: access)[0] { throw refusal }
        // Throws for a field of another type, and for a missing one that may not be created.
        _ = try store.lacksSchema(for: [.draft(draft)])
        return try await self.file(in: field, with: access) != nil
    }

    /// Saves an uploaded file in its record; without the save the file is deleted.
    func save(_ file: AssetName, in target: FieldSave) async throws(SkyrowError) {
        do throws(SkyrowError) {
            // Sessions may have ended and roles may have changed during the upload.
            let caller = try await caller(of: target.sender, for: Actions.recordSave.description)
            let call = target.sender.call(by: caller, id: target.id)
            try await save(.asset(Asset(file)), in: target.field, target.precondition, call)
        } catch {
            // A task that is not cancelled with the request of a client that has left. A file that the save has reached all the
            // same stays, since the record refers to it.
            await Task {
                _ = try? await store.assets.delete([file], owner: nil, force: false)
                forget(.files)
                await removeGarbage()
            }.value
            throw error
        }
    }

    /// Clears a field that may have a file, by a save of its record.
    ///
    /// Throws what `record:save` throws, and `110 ResourceNotFound` for a field that does not hold files.
    package func removeFile(
        from field: FileField,
        _ precondition: SavePrecondition,
        from sender: Sender,
        id: RequestID
    ) async throws(SkyrowError) {
        do throws(SkyrowError) {
            _ = try requiredFiles
            let caller = try await admittedToSave(sender, id: id)
            guard try await store.assets.holdsFiles(field.name, of: field.record.type) else { throw .fileNotFound }
            try await save(.null, in: field, precondition, sender.call(by: caller, id: id))
        } catch {
            throw error.reported(as: id)
        }
    }

    /// Returns the caller of a request that saves a record, as `record:save` would have it.
    func admittedToSave(_ sender: Sender, id: RequestID) async throws(SkyrowError) -> Caller {
        let action = Actions.recordSave.description
        let caller = try await admitted(sender, for: action, id: id)
        try await requireStepUp(for: action, isAsked: false, by: caller, with: sender.credentials)
        return caller
    }

    private func caller(of sender: Sender, for action: ActionDescription) async throws(SkyrowError) -> Caller {
        if let caller = try cachedCaller(sender.credentials, for: action) { return caller }
        return try await authenticate(sender.credentials, for: action)
    }

    private func save(
        _ value: RecordValue,
        in field: FileField,
        _ precondition: SavePrecondition,
        _ call: Call
    ) async throws(SkyrowError) {
        let request = SaveRequest(
            database: field.database,
            items: [.draft(field.draft(value, precondition))],
            returnedMembers: .changed
        )
        guard case .fresh(let outcomes) = try await run(Actions.recordSave, request, call) else { throw .unexpected }
        if case .failure(let error, _)? = outcomes.first { throw error }
    }
}

extension Sender {
    fileprivate func call(by caller: Caller, id: RequestID) -> Call {
        Call(by: caller, with: credentials, client: client, from: origin(of: id))
    }
}
