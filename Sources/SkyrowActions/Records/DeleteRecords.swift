import SkyrowModel
import SkyrowProtocol
import SkyrowStore

extension ActionService {
    /// `record:delete`: one outcome for each id, in the order of the request, and profiles are never deleted (`102`); or all
    /// records that match a predicate.
    func delete(_ deletion: RecordDeletion, _ call: Call) async throws(SkyrowError) -> WriteResult<DeletionResult> {
        switch deletion {
        case .ids(let request): try await delete(request, call)
        case .matches(let request): try await change(request, call, as: Actions.recordDelete) { .matches($0) }
        }
    }

    private func delete(
        _ request: RecordIDsRequest,
        _ call: Call
    ) async throws(SkyrowError) -> WriteResult<DeletionResult> {
        let access = try recordAccess(to: request.database, for: .writing, by: call.caller)
        let claim = IdempotencyClaim(
            key: request.idempotencyKey,
            action: Actions.recordDelete.name,
            database: request.database,
            isAtomic: request.isAtomic,
            request: request.ids.flatMap { Array($0.description.utf8) + [0] },
            caller: call.caller
        )
        let hooks = try recordHooks(
            before: .beforeDelete,
            after: .afterDelete,
            on: Set(request.ids.map(\.type)),
            isAsked: request.runsHooks,
            by: call.caller
        )
        if let hooks { return try await delete(request, with: access, under: claim, hooks, call) }
        guard let claim else {
            let outcomes = try await store.delete(request.ids, with: access, atomic: request.isAtomic)
            return .fresh(.outcomes(call.reported(noteRefusals(in: outcomes))))
        }
        return try await once(claim, as: Actions.recordDelete.result) { transaction throws(SkyrowError) in
            let outcomes = try await self.store.delete(
                request.ids,
                with: access,
                atomic: request.isAtomic,
                transaction: transaction
            )
            return .outcomes(call.reported(self.noteRefusals(in: outcomes)))
        }
    }

    /// `record:update`, and `record:delete` by a predicate: changes all matching records, or none.
    ///
    /// It waits in the read queue, since it searches records as a query does; the master key does not queue.
    func update(_ request: BulkRequest, _ call: Call) async throws(SkyrowError) -> WriteResult<BulkResult> {
        try await change(request, call, as: Actions.recordUpdate) { $0 }
    }

    private func change<Parameters, Value>(
        _ request: BulkRequest,
        _ call: Call,
        as action: Action<Parameters, WriteResult<Value>>,
        _ value: @Sendable (BulkResult) -> Value
    ) async throws(SkyrowError) -> WriteResult<Value> {
        let access = try recordAccess(to: request.database, for: .writing, by: call.caller)
        let turn = ReadTurn(of: call.client, in: reads)
        if !call.caller.isOperator { try await turn.enter() }
        defer { turn.leave() }
        let claim = IdempotencyClaim(
            key: request.idempotencyKey,
            action: action.name,
            database: request.database,
            isAtomic: true,
            request: request.fingerprintSource,
            caller: call.caller
        )
        let hooks = try recordHooks(
            before: request.change.isDelete ? .beforeDelete : .beforeSave,
            after: request.change.isDelete ? .afterDelete : .afterSave,
            on: [request.type],
            isAsked: request.runsHooks,
            by: call.caller
        )
        if let hooks, !request.isDryRun {
            if let claim, let replay: WriteResult<Value> = try await replay(of: claim) { return replay }
            try await requireUsableFiles(of: request, by: call.caller)
            let found = try await admitting(call.caller, turn) { admit async throws(SkyrowError) in
                try await self.store.find(request, with: access, admitting: admit)
            }
            // The hooks may take long, and are no read.
            turn.leave()
            return try await change(found, request, with: access, under: claim, hooks, as: action.result, value, call)
        }
        guard let claim, !request.isDryRun else {
            try await requireUsableFiles(of: request, by: call.caller)
            return try await admitting(call.caller, turn) { admit async throws(SkyrowError) in
                .fresh(value(try await self.store.change(request, with: access, admitting: admit)))
            }
        }
        if let replay: WriteResult<Value> = try await replay(of: claim) { return replay }
        try await requireUsableFiles(of: request, by: call.caller)
        // Before the transaction, so that a slow read occupies no writer's connection.
        let found = try await admitting(call.caller, turn) { admit async throws(SkyrowError) in
            try await self.store.find(request, with: access, admitting: admit)
        }
        return try await once(claim, as: action.result) { transaction throws(SkyrowError) in
            value(try await self.store.change(found, request, with: access, transaction: transaction))
        }
    }

    private func requireUsableFiles(of request: BulkRequest, by caller: Caller) async throws(SkyrowError) {
        guard case .update(let changes, size: _) = request.change else { return }
        try await requireUsableFiles(in: changes.draft, by: caller)
    }
}

extension BulkRequest.Change {
    fileprivate var isDelete: Bool {
        switch self {
        case .update: false
        case .delete: true
        }
    }
}
