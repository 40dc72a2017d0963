/// How much one request may ask (Documentation/Decisions/wire-format.md); more is refused before any work is done.
package enum WireLimits {
    /// Records of `record:save`, ids of `record:fetch` and `record:delete`.
    package static let batchCount = 10_000
    /// Bytes of JSON of one record.
    package static let recordBytes = 1_048_576
    /// Characters of a number inside of JSON, in plain decimal form: `1e131071` is short and is stored as 131,072 digits.
    package static let numberLength = 400
    /// Values on the right side of one `in`.
    package static let listCount = 10_000
    /// Conditions of one predicate, `and`, `or` and `not` counted too; its depth is bounded by that of the JSON.
    package static let predicateCount = 1_000
    /// Keys of `sort`.
    package static let sortCount = 32
    package static let cursorBytes = 12_288
    /// Names of `include`.
    package static let includeCount = 32
    /// The longest `timeout_ms`; the service's own limit is shorter.
    package static let timeoutMilliseconds = 600_000
    package static let idempotencyKeyBytes = 64
}
