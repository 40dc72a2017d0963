import SkyrowModel
import SkyrowProtocol
import SkyrowStore

extension ActionService {
    /// Saves items of types with hooks.
    ///
    /// Missing types and fields of the request are created first, since the hooks get the records as they will be.
    func save(
        _ items: [SaveRequest.Item],
        of request: SaveRequest,
        with access: RecordAccess,
        under claim: IdempotencyClaim?,
        _ hooks: RecordHooks,
        _ call: Call
    ) async throws(SkyrowError) -> WriteResult<[RecordOutcome]> {
        if let claim, let result: WriteResult<[RecordOutcome]> = try await replay(of: claim) { return result }
        var attempt = 1
        while true {
            var permitted = items
            if try store.lacksSchema(for: items) {
                permitted = try await createMissingSchema(for: items, with: access, isAtomic: request.isAtomic)
            }
            let run = HookedSaveRun(self, hooks, saving: permitted, with: access, for: hookCaller(of: call))
            do throws(SkyrowError) {
                let (result, saved) = try await perform(run, of: request, with: access, under: claim, call)
                if !hooks.after.isEmpty { await self.run(hooks.after, after: saved, for: hookCaller(of: call)) }
                return result
            } catch {
                guard error == .schemaMoved, attempt < Self.attemptsAtMovingSchema else { throw error }
            }
            attempt += 1
        }
    }

    /// Runs the hooks before the save, and saves; returns the saved records for the hooks after it.
    private func perform(
        _ run: HookedSaveRun,
        of request: SaveRequest,
        with access: RecordAccess,
        under claim: IdempotencyClaim?,
        _ call: Call
    ) async throws(SkyrowError) -> (WriteResult<[RecordOutcome]>, [HookedRecord]) {
        let turns = try await enterTurns(of: run.ids, in: access.database, call)
        defer { hookState.turns.leave(turns) }
        var run = run
        if claim == nil, !request.isAtomic {
            let outcomes = try await run.saveEach()
            return (.fresh(finished(outcomes, of: request.items, in: request, call)), run.saved(outcomes))
        }
        for attempt in 1... {
            let isLast = attempt == HookedSaveRun.attempts
            let items = try await run.prepareTogether(isAtomic: request.isAtomic)
            let prepared = run
            do throws(SkyrowError) {
                guard let claim else {
                    let outcomes = try await store.save(items, with: access, atomic: true, freshIDs: run.freshIDs)
                    return (.fresh(finished(outcomes, of: request.items, in: request, call)), run.saved(outcomes))
                }
                let (result, outcomes) = try await once(claim, as: Actions.recordSave.result) { outcomes in
                    self.finished(outcomes, of: request.items, in: request, call)
                } _: { transaction throws(SkyrowError) -> [RecordOutcome] in
                    let outcomes = try await self.store.save(
                        items,
                        with: access,
                        atomic: request.isAtomic,
                        freshIDs: prepared.freshIDs,
                        transaction: transaction
                    )
                    if !isLast, prepared.haveLostRace(outcomes) { throw .raceLost }
                    return outcomes
                }
                return (result, run.saved(outcomes ?? []))
            } catch {
                guard !isLast, run.hasLostRace(error) else { throw error }
            }
        }
        throw .changedDuringHooks
    }
}
