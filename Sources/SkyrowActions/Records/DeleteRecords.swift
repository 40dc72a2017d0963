package import SkyrowModel
import SkyrowStore

extension ActionService {
    /// `record:delete`: one outcome for each id, in the order of the request; profiles are never deleted (`102`).
    ///
    /// - Parameter encode: encodes the result; called only with an idempotency key, inside the transaction.
    package func delete(
        _ request: RecordIDsRequest,
        by caller: Caller,
        encode: @Sendable ([RecordOutcome]) throws(SkyrowError) -> [UInt8]
    ) async throws(SkyrowError) -> WriteResult<[RecordOutcome]> {
        try await observed(.recordDelete) { () async throws(SkyrowError) in
            let access = try recordAccess(to: request.database, for: .writing, by: caller)
            guard !request.ids.isEmpty else {
                throw .invalidArgument("Send at least one id.", "ids")
            }
            let claim = try IdempotencyClaim(
                key: request.idempotencyKey,
                action: .recordDelete,
                database: request.database,
                isAtomic: request.isAtomic,
                request: request.ids.flatMap { Array($0.description.utf8) + [0] },
                caller: caller
            )
            guard let claim else {
                return .fresh(
                    noteRefusals(in: try await store.delete(request.ids, with: access, atomic: request.isAtomic))
                )
            }
            return try await once(claim, encode: encode) { transaction throws(SkyrowError) in
                let outcomes = try await self.store.delete(
                    request.ids,
                    with: access,
                    atomic: request.isAtomic,
                    transaction: transaction
                )
                return self.noteRefusals(in: outcomes)
            }
        }
    }
}
