import SkyrowModel
import SkyrowProtocol
import SkyrowStore

extension ActionService {
    /// Upper bound on the records of a change by predicate that are previewed at once.
    private static let pageSize = 100

    /// Changes or deletes the found records of a type with hooks, all of them or none, in one transaction after the hooks of all.
    ///
    /// A record that changes while its hooks run is left as it is, and listed as a conflict. Throws `115 AtomicOperationFailure`
    /// with the errors by record id if a hook refuses a record, or if it cannot be changed.
    func change<Value: Sendable>(
        _ found: FoundRecords,
        _ request: BulkRequest,
        with access: RecordAccess,
        under claim: IdempotencyClaim?,
        _ hooks: RecordHooks,
        as codec: Codec<WriteResult<Value>>,
        _ value: @Sendable (BulkResult) -> Value,
        _ call: Call
    ) async throws(SkyrowError) -> WriteResult<Value> {
        let done = try await perform(found, request, with: access, under: claim, hooks, as: codec, value, call)
        if !hooks.after.isEmpty { await run(hooks.after, after: done.records, for: hookCaller(of: call)) }
        return done.result
    }

    private func perform<Value: Sendable>(
        _ found: FoundRecords,
        _ request: BulkRequest,
        with access: RecordAccess,
        under claim: IdempotencyClaim?,
        _ hooks: RecordHooks,
        as codec: Codec<WriteResult<Value>>,
        _ value: @Sendable (BulkResult) -> Value,
        _ call: Call
    ) async throws(SkyrowError) -> (result: WriteResult<Value>, records: [HookedRecord]) {
        let ids = found.writable
        try request.requireFitting(ids.count)
        let turns = try await enterTurns(of: ids, in: access.database, call)
        defer { hookState.turns.leave(turns) }
        let before = found.result(of: request)
        let change: HookedBulkChange =
            switch request.change {
            case .update(let changes, size: _):
                try await updates(changes, of: ids, before, with: access, hooks, call)
            case .delete:
                try await deletes(of: ids, before, with: access, hooks, call)
            }
        guard let claim else {
            let written = try await store.withTransaction { transaction throws(SkyrowError) in
                try await self.write(change, with: access, transaction)
            }
            return (.fresh(value(written.result)), written.records)
        }
        let (result, written) = try await once(claim, as: codec) { written in
            value(written.result)
        } _: { transaction throws(SkyrowError) -> WrittenBulkChange in
            try await self.write(change, with: access, transaction)
        }
        return (result, written?.records ?? [])
    }

    private func updates(
        _ changes: RecordChanges,
        of ids: [RecordID],
        _ before: BulkResult,
        with access: RecordAccess,
        _ hooks: RecordHooks,
        _ call: Call
    ) async throws(SkyrowError) -> HookedBulkChange {
        let items = ids.map { id -> SaveRequest.Item in
            var draft = changes.draft(of: id)
            draft.precondition = .exists
            return .draft(draft)
        }
        var run = HookedSaveRun(self, hooks, saving: items, with: access, for: hookCaller(of: call))
        var sorting = BulkSorting(before)
        var prepared = items
        for start in stride(from: 0, to: ids.count, by: Self.pageSize) {
            let page = Array(start..<min(start + Self.pageSize, ids.count))
            let part = try await run.prepare(page, isAtomic: false)
            for place in page {
                prepared[place] = part[place]
                guard case .failure(let error, _) = part[place] else { continue }
                sorting.note(error, of: ids[place], isByHook: run.refusedByHooks.contains(place))
            }
        }
        return .updates(ids, prepared, run, try sorting.result())
    }

    private func deletes(
        of ids: [RecordID],
        _ before: BulkResult,
        with access: RecordAccess,
        _ hooks: RecordHooks,
        _ call: Call
    ) async throws(SkyrowError) -> HookedBulkChange {
        var sorting = BulkSorting(before)
        var prepared = HookedDeletes()
        var heldBytes = 0
        for start in stride(from: 0, to: ids.count, by: Self.pageSize) {
            let page = Array(ids[start..<min(start + Self.pageSize, ids.count)])
            let part = try await prepareDeletes(page, with: access, hooks, for: hookCaller(of: call))
            heldBytes += part.records.values.reduce(0) { $0 + $1.heldBytes }
            guard heldBytes <= HookedSaveRun.maximumHeldBytes else { throw .tooMuchForHooks }
            prepared.records.merge(part.records) { _, new in new }
            for (id, error) in part.refusals {
                sorting.note(error, of: id, isByHook: part.refusedByHooks.contains(id))
            }
        }
        return .deletes(ids.filter { prepared.records[$0] != nil }, prepared, try sorting.result())
    }

    private func write(
        _ change: HookedBulkChange,
        with access: RecordAccess,
        _ transaction: StoreTransaction
    ) async throws(SkyrowError) -> WrittenBulkChange {
        switch change {
        case .updates(let ids, let items, let run, let before):
            guard items.contains(where: { $0.draft != nil }) else { return WrittenBulkChange(before, []) }
            var sorting = BulkSorting(before)
            let outcomes = try await store.save(items, with: access, atomic: false, transaction: transaction)
            for (place, outcome) in outcomes.enumerated() where items[place].draft != nil {
                sorting.note(outcome, of: ids[place])
            }
            return WrittenBulkChange(try sorting.result(), run.saved(outcomes))
        case .deletes(let ids, let prepared, let before):
            var sorting = BulkSorting(before)
            let changed = try await store.lock(prepared.revisions, with: access, transaction: transaction)
            for id in ids where changed.contains(id) { sorting.note(.changedDuringHooks, of: id, isByHook: false) }
            let open = ids.filter { !changed.contains($0) }
            guard !open.isEmpty else { return WrittenBulkChange(try sorting.result(), []) }
            let outcomes = try await store.delete(open, with: access, atomic: true, transaction: transaction)
            for (id, outcome) in zip(open, outcomes) { sorting.note(outcome, of: id) }
            return WrittenBulkChange(try sorting.result(), prepared.deleted(outcomes))
        }
    }
}

/// A change by predicate after the hooks before it, with the result so far.
private enum HookedBulkChange: Sendable {
    case updates([RecordID], [SaveRequest.Item], HookedSaveRun, BulkResult)
    case deletes([RecordID], HookedDeletes, BulkResult)
}

/// The result of a change by predicate, and its records for the hooks after it.
private struct WrittenBulkChange: Sendable {
    let result: BulkResult
    let records: [HookedRecord]

    init(_ result: BulkResult, _ records: [HookedRecord]) {
        self.result = result
        self.records = records
    }
}

/// Sorts the records of a change by predicate into the lists of its result.
private struct BulkSorting {
    private var found: BulkResult
    private var failures: [String: SkyrowError] = [:]
    private var deleted: Set<RecordID> = []

    init(_ found: BulkResult) {
        self.found = found
    }

    mutating func note(_ outcome: RecordOutcome, of id: RecordID) {
        switch outcome {
        case .record: found.changed.append(id)
        case .deleted(_, let dependents):
            found.changed.append(id)
            deleted.insert(id)
            found.dependents.ids += dependents.ids
            found.dependents.hidden += dependents.hidden
        case .failure(let error, _): note(error, of: id, isByHook: false)
        }
    }

    mutating func note(_ error: SkyrowError, of id: RecordID, isByHook: Bool) {
        switch error.code {
        case .conflict where !isByHook, .resourceNotFound where !isByHook: found.conflicting.append(id)
        default:
            if error.isAboutPermission, !isByHook {
                found.notPermitted.append(id)
            } else {
                failures[id.description] = error
            }
        }
    }

    /// Throws `115 AtomicOperationFailure` if one of the records cannot be changed.
    func result() throws(SkyrowError) -> BulkResult {
        guard failures.isEmpty else { throw .atomicFailure(failures) }
        var result = found
        result.dependents.ids.removeAll { deleted.contains($0) }
        return result
    }
}
