import SkyrowModel
import SkyrowStore

extension ActionService {
    /// Runs a write with an idempotency key, once for all retries of the request.
    ///
    /// Claiming the key, writing and storing the result are one transaction: a concurrent retry waits for its end, a later one
    /// finds the result, and a write that fails as a whole leaves no claim.
    ///
    /// Throws `133 IdempotencyKeyReused` if the key was used for another request before.
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

    /// Returns the stored result of the key; nil without one.
    func replay<Value>(of claim: IdempotencyClaim) async throws(SkyrowError) -> WriteResult<Value>? {
        let result = try await store.idempotency.result(
            claim.key,
            scope: claim.scope,
            fingerprint: claim.fingerprint
        )
        return result.map { .encoded($0, isReplay: true) }
    }
}
