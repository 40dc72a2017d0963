package import SkyrowModel
import SkyrowStore

extension ActionService {
    /// `record:update`, and `record:delete` by a predicate: changes all matching records, or none.
    ///
    /// It waits in the read queue, since it searches records as a query does; the master key does not queue.
    ///
    /// - Parameter encode: encodes the result; called only with an idempotency key, inside the transaction.
    package func change(
        _ request: BulkRequest,
        by caller: Caller,
        from client: ClientKey,
        encode: @Sendable (BulkResult) throws(SkyrowError) -> [UInt8]
    ) async throws(SkyrowError) -> WriteResult<BulkResult> {
        let action: ActionName =
            switch request.change {
            case .update: .recordUpdate
            case .delete: .recordDelete
            }
        return try await observed(action) { () async throws(SkyrowError) in
            let access = try recordAccess(to: request.database, for: .writing, by: caller)
            let turn = ReadTurn(of: client, in: reads)
            if !caller.isOperator { try await turn.enter() }
            defer { turn.leave() }
            let claim = try IdempotencyClaim(
                key: request.idempotencyKey,
                action: action,
                database: request.database,
                isAtomic: true,
                request: request.fingerprintSource,
                caller: caller
            )
            guard let claim, !request.isDryRun else {
                return try await admitting(caller, turn) { admit async throws(SkyrowError) in
                    .fresh(try await self.store.change(request, with: access, admitting: admit))
                }
            }
            if let replay: WriteResult<BulkResult> = try await replay(of: claim) { return replay }
            // Before the transaction, so that a slow read occupies no writer's connection.
            let found = try await admitting(caller, turn) { admit async throws(SkyrowError) in
                try await self.store.find(request, with: access, admitting: admit)
            }
            return try await once(claim, encode: encode) { transaction throws(SkyrowError) in
                try await self.store.change(found, request, with: access, transaction: transaction)
            }
        }
    }
}
