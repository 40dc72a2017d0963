package import SkyrowModel
import SkyrowStore

extension ActionService {
    /// `record:delete`: one outcome an id, in the order of the request.
    ///
    /// - Parameter encode: makes the bytes of the result; called only with an idempotency key, inside the transaction.
    package func delete(
        _ request: RecordIDsRequest,
        by caller: Caller,
        encode: @Sendable ([RecordOutcome]) throws(SkyrowError) -> [UInt8]
    ) async throws(SkyrowError) -> WriteAnswer {
        try await observed(.recordDelete) { () async throws(SkyrowError) in
            let scope = try writableScope(request.database, caller: caller)
            guard !request.ids.isEmpty else {
                throw .invalidArgument("Send at least one id.", "ids")
            }
            let claim = try IdempotencyClaim(
                key: request.idempotencyKey, action: .recordDelete, database: request.database,
                isAtomic: request.isAtomic, request: request.ids.flatMap { Array($0.description.utf8) + [0] },
                caller: caller
            )
            var refusals: [Int: SkyrowError] = [:]
            for (place, id) in request.ids.enumerated() {
                switch UserRecordRules.delete(id) {
                case .allowed, .allowedIfPresent: break
                case .refused(let error): refusals[place] = error
                }
            }
            if request.isAtomic, !refusals.isEmpty {
                throw .atomicFailure(
                    Dictionary(refusals.map { (request.ids[$0].description, $1) }) { first, _ in first }
                )
            }
            let deletion = Deletion(ids: request.ids, refusals: refusals, isAtomic: request.isAtomic)
            guard let claim else {
                let outcomes = try await store.reporting {
                    try await store.delete(deletion.remaining, in: scope, caller: caller, atomic: deletion.isAtomic)
                }
                return .outcomes(deletion.merge(outcomes))
            }
            return try await once(claim, encode: encode) { transaction in
                deletion.merge(
                    try await self.store.delete(
                        deletion.remaining, in: scope, caller: caller, atomic: deletion.isAtomic,
                        transaction: transaction
                    )
                )
            }
        }
    }
}

/// A deletion of which some entries are settled before the store is asked.
private struct Deletion: Sendable {
    var ids: [RecordID]
    /// By place in `ids`.
    var refusals: [Int: SkyrowError]
    var isAtomic: Bool

    /// What the store is asked to delete.
    var remaining: [RecordID] {
        ids.enumerated().filter { refusals[$0.offset] == nil }.map(\.element)
    }

    /// Puts the store's outcomes and the refusals back into the order of the request.
    func merge(_ outcomes: [RecordOutcome]) -> [RecordOutcome] {
        var outcomes = outcomes.makeIterator()
        return ids.enumerated().compactMap { place, id in
            refusals[place].map { .failure($0, id: id.description) } ?? outcomes.next()
        }
    }
}
