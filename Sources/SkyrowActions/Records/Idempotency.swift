import SkyrowModel
import SkyrowStore

extension ActionService {
    /// Runs a write of a request with an idempotency key, once for all its retries.
    ///
    /// Claiming the key, writing and storing the result are one transaction: a retry that comes meanwhile waits for its
    /// end, one that comes later finds the result, and when the write fails as a whole nothing is left of the claim.
    ///
    /// Throws `133 IdempotencyKeyReused` when the key came with another request before.
    func once<Value: Sendable>(
        _ claim: IdempotencyClaim,
        encode: @Sendable (Value) throws(SkyrowError) -> [UInt8],
        _ write: @Sendable (StoreTransaction) async throws(SkyrowError) -> Value
    ) async throws(SkyrowError) -> WriteResult<Value> {
        try await store.withTransaction { transaction throws(SkyrowError) in
            let claimed = try await store.idempotency.claim(
                claim.key,
                scope: claim.scope,
                fingerprint: claim.fingerprint,
                in: transaction
            )
            switch claimed {
            case .completed(let bytes):
                return .encoded(bytes, isReplay: true)
            case .claimed:
                let bytes = try encode(try await write(transaction))
                try await store.idempotency.complete(
                    claim.key,
                    scope: claim.scope,
                    result: bytes,
                    in: transaction
                )
                return .encoded(bytes, isReplay: false)
            }
        }
    }

    /// The result that the key already has.
    func replay<Value>(of claim: IdempotencyClaim) async throws(SkyrowError) -> WriteResult<Value>? {
        let result = try await store.idempotency.result(
            claim.key,
            scope: claim.scope,
            fingerprint: claim.fingerprint
        )
        return result.map { .encoded($0, isReplay: true) }
    }
}
