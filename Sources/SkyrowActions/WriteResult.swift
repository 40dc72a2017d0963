package import SkyrowModel

/// The result of `record:save` and `record:delete`.
package enum WriteResult: Sendable {
    /// One outcome an item, in the order of the request.
    case outcomes([RecordOutcome])
    /// The request had an idempotency key: the bytes that the caller's `encode` made of the outcomes, now or when the
    /// key was first used. They are the result alone: a retry has an envelope, and an id, of its own.
    case encoded([UInt8], isReplay: Bool)
}
