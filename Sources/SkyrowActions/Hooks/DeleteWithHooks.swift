import SkyrowModel
import SkyrowProtocol
import SkyrowStore

/// The records of a delete whose types have hooks, as the hooks left them.
struct HookedDeletes: Sendable {
    /// The records to delete, by id.
    var records: [RecordID: Record] = [:]
    /// The records that are not deleted.
    var refusals: [RecordID: SkyrowError] = [:]
    /// Those of them that hooks have refused.
    var refusedByHooks: Set<RecordID> = []

    /// The revisions that the records had when their hooks ran.
    var revisions: [RecordID: Int64] { records.compactMapValues(\.revision) }

    /// The deleted records, for the hooks after the delete.
    func deleted(_ outcomes: some Sequence<RecordOutcome>) -> [HookedRecord] {
        var seen: Set<RecordID> = []
        return outcomes.compactMap { outcome in
            guard case .deleted(let id, _) = outcome, seen.insert(id).inserted, let record = records[id] else {
                return nil
            }
            return HookedRecord(record, original: record)
        }
    }
}

extension ActionService {
    /// Deletes records of types with hooks, each only while it has the revision with which its hooks got it.
    ///
    /// The records that are deleted with them have no hooks.
    func delete(
        _ request: RecordIDsRequest,
        with access: RecordAccess,
        under claim: IdempotencyClaim?,
        _ hooks: RecordHooks,
        _ call: Call
    ) async throws(SkyrowError) -> WriteResult<DeletionResult> {
        if let claim, let result: WriteResult<DeletionResult> = try await replay(of: claim) { return result }
        let (result, deleted) = try await perform(request, with: access, under: claim, hooks, call)
        if !hooks.after.isEmpty { await run(hooks.after, after: deleted, for: hookCaller(of: call)) }
        return result
    }

    private func perform(
        _ request: RecordIDsRequest,
        with access: RecordAccess,
        under claim: IdempotencyClaim?,
        _ hooks: RecordHooks,
        _ call: Call
    ) async throws(SkyrowError) -> (WriteResult<DeletionResult>, [HookedRecord]) {
        let hooked = request.ids.filter { hooks.types.contains($0.type) }
        let turns = try await enterTurns(of: hooked, in: access.database, call)
        defer { hookState.turns.leave(turns) }
        if claim == nil, !request.isAtomic {
            let (outcomes, deleted) = try await deleteEach(request.ids, with: access, hooks, for: hookCaller(of: call))
            return (.fresh(.outcomes(call.reported(noteRefusals(in: outcomes)))), deleted)
        }
        let ids = request.ids
        for attempt in 1... {
            let prepared = try await prepareDeletes(
                ids,
                with: access,
                hooks,
                isAtomic: request.isAtomic,
                for: hookCaller(of: call)
            )
            let races: Races = attempt == HookedSaveRun.attempts ? .reports : .throwsLost
            do throws(SkyrowError) {
                guard let claim else {
                    let outcomes = try await store.withTransaction { transaction throws(SkyrowError) in
                        try await self.delete(ids, prepared, with: access, atomic: true, races, transaction)
                    }
                    return (.fresh(.outcomes(call.reported(noteRefusals(in: outcomes)))), prepared.deleted(outcomes))
                }
                let (result, outcomes) = try await once(claim, as: Actions.recordDelete.result) { outcomes in
                    .outcomes(call.reported(self.noteRefusals(in: outcomes)))
                } _: { transaction throws(SkyrowError) -> [RecordOutcome] in
                    try await self.delete(ids, prepared, with: access, atomic: request.isAtomic, races, transaction)
                }
                return (result, prepared.deleted(outcomes ?? []))
            } catch {
                guard error == .raceLost else { throw error }
            }
        }
        throw .changedDuringHooks
    }

    /// Deletes each record by itself; returns the outcomes, and the deleted records for the hooks after the delete.
    ///
    /// Throws an error only if nothing was deleted.
    private func deleteEach(
        _ ids: [RecordID],
        with access: RecordAccess,
        _ hooks: RecordHooks,
        for caller: HookCaller
    ) async throws(SkyrowError) -> ([RecordOutcome], [HookedRecord]) {
        var settled: [RecordID: RecordOutcome] = [:]
        var deleted: [HookedRecord] = []
        var open = ids
        for _ in 1...HookedSaveRun.attempts where !open.isEmpty {
            let part = open
            do throws(SkyrowError) {
                let prepared = try await prepareDeletes(part, with: access, hooks, for: caller)
                let outcomes = try await store.withTransaction { transaction throws(SkyrowError) in
                    try await self.delete(part, prepared, with: access, atomic: false, .reports, transaction)
                }
                for (id, outcome) in zip(part, outcomes) { settled[id] = outcome }
                deleted += prepared.deleted(outcomes)
                open = part.filter { settled[$0]?.hasLostRace == true }
            } catch {
                guard !deleted.isEmpty else { throw error }
                for id in part { settled[id] = .failure(error, id: id.description) }
                open = []
            }
        }
        let outcomes = ids.map { settled[$0] ?? .failure(.changedDuringHooks, id: $0.description) }
        return (outcomes, deleted)
    }

    /// Reads the records of a delete, and runs the hooks before it.
    ///
    /// Throws `115 AtomicOperationFailure` when the request is atomic and a record is refused, `132 PayloadTooLarge` if the
    /// records take too much memory, and database errors.
    func prepareDeletes(
        _ ids: [RecordID],
        with access: RecordAccess,
        _ hooks: RecordHooks,
        isAtomic: Bool = false,
        for caller: HookCaller
    ) async throws(SkyrowError) -> HookedDeletes {
        let hooked = Array(Set(ids.filter { hooks.types.contains($0.type) })).sorted(by: RecordID.precedes)
        let found = try await store.previewDeleting(hooked, with: access)
        var prepared = HookedDeletes()
        var changes: [Int: HookedChange] = [:]
        for (place, id) in hooked.enumerated() {
            switch found[id] {
            case .success(let record): changes[place] = HookedChange(HookedRecord(record, original: record))
            case .failure(let error): prepared.refusals[id] = error
            case nil: prepared.refusals[id] = .unexpected
            }
        }
        guard changes.values.reduce(0, { $0 + $1.heldBytes }) <= HookedSaveRun.maximumHeldBytes else {
            throw .tooMuchForHooks
        }
        if isAtomic { try prepared.requireAll() }
        await run(hooks.before, on: &changes, for: caller)
        for change in changes.values {
            let record = change.record.record
            if let refusal = change.refusal {
                prepared.refusals[record.id] = refusal
                prepared.refusedByHooks.insert(record.id)
            } else {
                prepared.records[record.id] = record
            }
        }
        if isAtomic { try prepared.requireAll() }
        return prepared
    }

    /// What happens when records were changed while their hooks ran.
    enum Races: Sendable {
        /// The transaction is given up, by throwing `raceLost`.
        case throwsLost
        /// These records are not deleted.
        case reports
    }

    /// Deletes records as part of a transaction, except those that are refused or were changed while their hooks ran.
    ///
    /// Returns an outcome for each id, in order. Throws `115 AtomicOperationFailure` when `atomic` and a record is not deleted.
    func delete(
        _ ids: [RecordID],
        _ prepared: HookedDeletes,
        with access: RecordAccess,
        atomic: Bool,
        _ races: Races,
        _ transaction: StoreTransaction
    ) async throws(SkyrowError) -> [RecordOutcome] {
        let changed = try await store.lock(prepared.revisions, with: access, transaction: transaction)
        if !changed.isEmpty, races == .throwsLost { throw .raceLost }
        var refusals = prepared.refusals
        for id in changed { refusals[id] = .changedDuringHooks }
        if atomic, !refusals.isEmpty { throw .atomicFailure(refusals.byDescription) }
        let open = ids.filter { refusals[$0] == nil }
        var outcomes: [RecordID: RecordOutcome] = [:]
        if !open.isEmpty {
            let deleted = try await store.delete(open, with: access, atomic: atomic, transaction: transaction)
            for (id, outcome) in zip(open, deleted) { outcomes[id] = outcome }
        }
        return ids.map { outcomes[$0] ?? .failure(refusals[$0] ?? .unexpected, id: $0.description) }
    }
}

extension HookedDeletes {
    /// Throws `115 AtomicOperationFailure` if a record is refused.
    func requireAll() throws(SkyrowError) {
        if !refusals.isEmpty { throw .atomicFailure(refusals.byDescription) }
    }
}

extension [RecordID: SkyrowError] {
    /// The errors by the ids as clients see them.
    fileprivate var byDescription: [String: SkyrowError] {
        [String: SkyrowError](uniqueKeysWithValues: map { ($0.key.description, $0.value) })
    }
}

extension RecordID {
    /// The order of types and ids.
    static func precedes(_ a: RecordID, _ b: RecordID) -> Bool {
        (a.type, TextKey(a.id)) < (b.type, TextKey(b.id))
    }
}

extension RecordOutcome {
    fileprivate var hasLostRace: Bool {
        if case .failure(.changedDuringHooks, _) = self { true } else { false }
    }
}
