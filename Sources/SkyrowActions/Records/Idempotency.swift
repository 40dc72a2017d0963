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
        try await once(claim, as: codec, { $0 }, write).result
    }

    /// The same for a write of which more is known than its result.
    ///
    /// - Parameter value: returns the result of what was written.
    /// - Returns: The result, and what was written; nil if the result is that of an earlier request.
    func once<Value: Sendable, Written: Sendable>(
        _ claim: IdempotencyClaim,
        as codec: Codec<WriteResult<Value>>,
        _ value: @Sendable (Written) -> Value,
        _ write: @Sendable (StoreTransaction) async throws(SkyrowError) -> Written
    ) async throws(SkyrowError) -> (result: WriteResult<Value>, written: Written?) {
        try await store.withTransaction { transaction throws(SkyrowError) in
            let claimed = try await store.idempotency.claim(
                claim.key,
                scope: claim.scope,
                fingerprint: claim.fingerprint,
                in: transaction
            )
            switch claimed {
            case .completed(let bytes):
                return (.encoded(bytes, isReplay: true), nil)
            case .claimed:
                let written = try await write(transaction)
                let bytes = text(of: value(written), codec)
                try await store.idempotency.complete(claim.key, scope: claim.scope, result: bytes, in: transaction)
                return (.encoded(bytes, isReplay: false), written)
            }
        }
    }

    /// Runs work that is no part of a transaction with an idempotency key, such as a function, once for all retries of the request.
    ///
    /// The key is leased while the work runs, so that no transaction is open meanwhile. Its result is kept for a day, and a failure
    /// frees the key. If the process ends, the key is free when the lease ends.
    ///
    /// Throws `130 Conflict` while another request with the key runs, and `133 IdempotencyKeyReused` if the key was used for another
    /// request before.
    ///
    /// - Parameter time: The time that the work has.
    func onceOutsideTransactions(
        _ claim: IdempotencyClaim,
        within time: Duration,
        _ work: () async throws(SkyrowError) -> ResultWriter
    ) async throws(SkyrowError) -> ResultWriter {
        let leased = try await store.idempotency.lease(
            claim.key,
            scope: claim.scope,
            fingerprint: claim.fingerprint,
            // A late result can then still be stored.
            for: max(time, .zero) + .seconds(10)
        )
        switch leased {
        case .running: throw .requestRuns
        case .completed(let bytes): return .stored(bytes)
        case .taken(let end):
            let result: ResultWriter
            do throws(SkyrowError) {
                result = try await work()
            } catch {
                // If this fails, the key is free when the lease ends.
                try? await uncancelled { () async throws(SkyrowError) in
                    try await self.store.idempotency.release(claim.key, scope: claim.scope, until: end)
                }
                throw error
            }
            let bytes = text(of: result)
            try await uncancelled { () async throws(SkyrowError) in
                try await self.store.idempotency.complete(claim.key, scope: claim.scope, result: bytes, until: end)
            }
            return .stored(bytes)
        }
    }

    /// Runs a statement that must be sent even if the request is cancelled.
    private func uncancelled(
        _ body: @escaping @Sendable () async throws(SkyrowError) -> Void
    ) async throws(SkyrowError) {
        let task = Task { () -> Result<Void, SkyrowError> in
            do throws(SkyrowError) { return .success(try await body()) } catch { return .failure(error) }
        }
        try await task.value.get()
    }

    /// Returns the stored result of the key; nil without one.
    func replay<Value>(of claim: IdempotencyClaim) async throws(SkyrowError) -> WriteResult<Value>? {
        let result = try await store.idempotency.result(claim.key, scope: claim.scope, fingerprint: claim.fingerprint)
        return result.map { .encoded($0, isReplay: true) }
    }
}

extension ResultWriter {
    fileprivate static func stored(_ bytes: [UInt8]) -> ResultWriter {
        let text = JSONText(validated: bytes)
        return ResultWriter { $0.json(text) }
    }
}

extension SkyrowError {
    fileprivate static let requestRuns = SkyrowError(
        .conflict,
        "A request with this idempotency key is running; try again in a moment.",
        info: ["retry_after": .integer(1)]
    )
}

/// The text of a result that is kept under an idempotency key; it is bounded like a response.
private func text(of result: ResultWriter) -> [UInt8] {
    let writer = JSONWriter(account: .current)
    result.write(writer)
    defer { writer.discard() }
    return writer.bytes
}

/// The text that is kept under an idempotency key; it is bounded like a response.
private func text<Value>(of value: Value, _ codec: Codec<WriteResult<Value>>) -> [UInt8] {
    let writer = JSONWriter(account: .current)
    codec.write(.fresh(value), writer)
    defer { writer.discard() }
    return writer.bytes
}
