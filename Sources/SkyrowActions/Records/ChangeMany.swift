package import SkyrowModel
import SkyrowStore

extension ActionService {
    /// `record:update`, and `record:delete` by a predicate: all records that match, or none.
    ///
    /// It waits for the client's turn among the reads, since it looks for records as a query does; the master key waits for
    /// none.
    ///
    /// - Parameter encode: makes the bytes of the result; called only with an idempotency key, inside the transaction.
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
            // Before the transaction, so that a read that takes long holds no connection of a writer.
            let found = try await admitting(caller, turn) { admit async throws(SkyrowError) in
                try await self.store.find(request, with: access, admitting: admit)
            }
            return try await once(claim, encode: encode) { transaction throws(SkyrowError) in
                try await self.store.change(found, request, with: access, transaction: transaction)
            }
        }
    }
}
