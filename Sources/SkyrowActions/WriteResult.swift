/// The result of a write that may have an idempotency key.
package enum WriteResult<Value: Sendable>: Sendable {
    case fresh(Value)
    /// The request had an idempotency key: the bytes that the caller's `encode` returned, now or at the first use of the key.
    /// They contain only the result: each retry has its own envelope and id.
    case encoded([UInt8], isReplay: Bool)
}
