import SkyrowJSON
import SkyrowModel
import SkyrowProtocol
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
        as codec: Codec<WriteResult<Value>>,
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
                let bytes = text(of: try await write(transaction), codec)
                try await store.idempotency.complete(claim.key, scope: claim.scope, result: bytes, in: transaction)
                return .encoded(bytes, isReplay: false)
            }
        }
    }

    /// Returns the stored result of the key; nil without one.
    func replay<Value>(of claim: IdempotencyClaim) async throws(SkyrowError) -> WriteResult<Value>? {
        let result = try await store.idempotency.result(claim.key, scope: claim.scope, fingerprint: claim.fingerprint)
        return result.map { .encoded($0, isReplay: true) }
    }
}

/// The text that is kept under an idempotency key; it is bounded like a response.
private func text<Value>(of value: Value, _ codec: Codec<WriteResult<Value>>) -> [UInt8] {
    let writer = JSONWriter(account: .current)
    codec.write(.fresh(value), writer)
    defer { writer.discard() }
    return writer.bytes
}
