package import SkyrowModel
import SkyrowStore

extension ActionService {
    /// `record:update`, and `record:delete` by a predicate: all records that match, or none.
    ///
    /// - Parameter encode: makes the bytes of the result; called only with an idempotency key, inside the transaction.
    package func change(
        _ request: BulkRequest,
        by caller: Caller,
        encode: @Sendable (BulkResult) throws(SkyrowError) -> [UInt8]
    ) async throws(SkyrowError) -> WriteResult<BulkResult> {
        let action: ActionName =
            switch request.change {
            case .update: .recordUpdate
            case .delete: .recordDelete
            }
        return try await observed(action) { () async throws(SkyrowError) in
            let access = try recordAccess(to: request.database, for: .writing, by: caller)
            let claim = try IdempotencyClaim(
                key: request.idempotencyKey,
                action: action,
                database: request.database,
                isAtomic: true,
                request: request.fingerprintSource,
                caller: caller
            )
            guard let claim, !request.isDryRun else { return .fresh(try await store.change(request, with: access)) }
            return try await once(claim, encode: encode) { transaction throws(SkyrowError) in
                try await self.store.change(request, with: access, transaction: transaction)
            }
        }
    }
}
