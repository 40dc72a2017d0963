/// The result of a call that writes and may carry an idempotency key.
package enum WriteResult<Value: Sendable>: Sendable {
    case fresh(Value)
    /// The request had an idempotency key: the bytes that the caller's `encode` made of the value, now or when the
    /// key was first used. They are the result alone: a retry has an envelope, and an id, of its own.
    case encoded([UInt8], isReplay: Bool)
}
