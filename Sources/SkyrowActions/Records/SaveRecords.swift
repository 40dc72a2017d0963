import SkyrowModel
import SkyrowProtocol
import SkyrowStore

extension ActionService {
    /// `record:save`: creates records and merges fields into existing ones.
    ///
    /// Refuses a caller who may not write at all, then individual items that may not be saved; the store saves the others, after
    /// missing types and fields are created.
    func save(_ request: SaveRequest, _ call: Call) async throws(SkyrowError) -> WriteResult<[RecordOutcome]> {
        let access = try recordAccess(to: request.database, for: .writing, by: call.caller)
        if request.isAtomic { try request.items.requireReadable() }
        let claim = IdempotencyClaim(
            key: request.idempotencyKey,
            action: Actions.recordSave.name,
            database: request.database,
            isAtomic: request.isAtomic,
            request: request.fingerprintSource,
            caller: call.caller
        )
        let permitted = try await applyingTypeRules(to: request.items, with: access, isAtomic: request.isAtomic)
        var judged = try await keepingLoginKeys(
            of: permitted,
            with: access,
            by: call.caller,
            call.credentials,
            isAtomic: request.isAtomic
        )
        // Few drafts name files.
        let files = judged.files
        if !files.isEmpty {
            let foreign = try await foreignFiles(among: files, for: call.caller)
            // A file may have been deleted since the first use of the key.
            if !foreign.isEmpty, let claim, let result: WriteResult<[RecordOutcome]> = try await replay(of: claim) {
                return result
            }
            judged = try judged.refusing(isAtomic: request.isAtomic) { $0.refusal(naming: foreign) }
        }
        let hooks = try recordHooks(
            before: .beforeSave,
            after: .afterSave,
            on: judged.types,
            isAsked: request.runsHooks,
            by: call.caller
        )
        if let hooks { return try await save(judged, of: request, with: access, under: claim, hooks, call) }
        // The first attempt shows whether types and fields are missing, and writes nothing then. A field can be dropped
        // between its creation and the save, so this may repeat.
        var items = judged
        var attempt = 1
        while true {
            do throws(SkyrowError) {
                return try await save(items, of: request, with: access, under: claim, call)
            } catch {
                guard error == .schemaMoved, attempt < Self.attemptsAtMovingSchema else { throw error }
            }
            attempt += 1
            guard try store.lacksSchema(for: judged) else { continue }
            // The schema for a request that was completed already would be left over.
            if let claim, let result: WriteResult<[RecordOutcome]> = try await replay(of: claim) { return result }
            items = try await createMissingSchema(for: judged, with: access, isAtomic: request.isAtomic)
        }
    }

    /// Upper bound on the attempts of a save whose fields are dropped meanwhile.
    static let attemptsAtMovingSchema = 100

    /// Saves items that fit the schema; throws `schemaMoved` if they do not, before anything is written.
    private func save(
        _ items: [SaveRequest.Item],
        of request: SaveRequest,
        with access: RecordAccess,
        under claim: IdempotencyClaim?,
        _ call: Call
    ) async throws(SkyrowError) -> WriteResult<[RecordOutcome]> {
        guard let claim else {
            let outcomes = try await store.save(items, with: access, atomic: request.isAtomic, fitsSchema: true)
            return .fresh(finished(outcomes, of: items, in: request, call))
        }
        return try await once(claim, as: Actions.recordSave.result) { transaction throws(SkyrowError) in
            let outcomes = try await self.store.save(
                items,
                with: access,
                atomic: request.isAtomic,
                fitsSchema: true,
                transaction: transaction
            )
            return self.finished(outcomes, of: items, in: request, call)
        }
    }

    /// Counts what was refused, and returns the outcomes as the request and its envelope have them.
    func finished(
        _ outcomes: [RecordOutcome],
        of items: [SaveRequest.Item],
        in request: SaveRequest,
        _ call: Call
    ) -> [RecordOutcome] {
        let returned = request.returned(noteRefusals(in: outcomes), of: items)
        return call.reported(call.rules == .v1 ? returned.map(\.ofSkygear) : returned)
    }
}

extension SaveRequest {
    /// Returns the outcomes with the members that the request selects of each record.
    fileprivate func returned(_ outcomes: [RecordOutcome], of items: [SaveRequest.Item]) -> [RecordOutcome] {
        switch returnedMembers {
        case .record: return outcomes
        case .changed:
            return zip(items, outcomes).map { item, outcome in
                guard case .record(let record) = outcome else { return outcome }
                return .record(ChangedMembers(of: record, fields: item.draft?.operators.map(\.name) ?? []))
            }
        }
    }
}

extension RecordOutcome {
    /// The same with an error as Skygear has it.
    fileprivate var ofSkygear: RecordOutcome {
        if case .failure(let error, let id) = self { .failure(error.ofSkygear, id: id) } else { self }
    }
}
