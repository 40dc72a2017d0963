package import SkyrowModel
package import SkyrowPostgres

/// The results of requests with an `idempotency_key`, kept for a day.
///
/// It is used inside the transaction of the request's work, so that both are committed together:
///
/// ```swift
/// try await store.withTransaction { transaction throws(SkyrowError) in
///     switch try await store.idempotency.claim(key, scope: user, fingerprint: hash, in: transaction) {
///     case .completed(let result): return result
///     case .claimed: …
///     }
/// }
/// ```
package struct IdempotencyTable: Sendable {
    /// The state of a request with a key.
    package enum Claim: Hashable, Sendable {
        /// The first request with the key: do the work, then call ``IdempotencyTable/complete(_:scope:result:in:)``.
        case claimed
        /// The request has a result already.
        case completed([UInt8])
    }

    let store: RecordStore

    private var schema: SQLIdentifier { store.schema }

    /// Claims a key, and waits for another request that is running with it.
    ///
    /// Throws `133 IdempotencyKeyReused` if the key was used for another request, and errors of the database.
    package func claim(
        _ key: String,
        scope: String,
        fingerprint: [UInt8],
        in transaction: PostgresTransaction
    ) async throws(SkyrowError) -> Claim {
        try await store.reporting {
            while true {
                let claimed = try await transaction.query(
                    """
                    INSERT INTO \(schema.internal)._idempotency AS known (scope, key, fingerprint)
                    VALUES (\(scope), \(key), \(fingerprint))
                    ON CONFLICT (scope, key) DO UPDATE
                    SET fingerprint = EXCLUDED.fingerprint, answer = NULL, created_at = EXCLUDED.created_at
                    WHERE known.created_at < now() - interval '24 hours' OR known.answer IS NULL
                    RETURNING true
                    """
                )
                guard claimed.isEmpty else { return .claimed }
                let known = try await transaction.query(
                    "SELECT fingerprint, answer FROM \(schema.internal)._idempotency WHERE scope = \(scope) AND key = \(key)"
                )
                // There is no row if the key was purged between the two statements: it is free again.
                guard !known.isEmpty else { continue }
                guard try known.decode(row: 0, column: 0, as: [UInt8].self) == fingerprint else {
                    throw SkyrowError.keyReused
                }
                return .completed(try known.decode(row: 0, column: 1))
            }
        }
    }

    /// Returns the result that a request with this key already got, if any; claims nothing.
    ///
    /// Throws `133 IdempotencyKeyReused` if the key was used for another request.
    package func result(_ key: String, scope: String, fingerprint: [UInt8]) async throws(SkyrowError) -> [UInt8]? {
        try await store.reporting {
            let known = try await store.client.read(
                """
                SELECT fingerprint, answer FROM \(schema.internal)._idempotency
                WHERE scope = \(scope) AND key = \(key) AND created_at >= now() - interval '24 hours'
                """
            )
            guard !known.isEmpty else { return nil }
            guard try known.decode(row: 0, column: 0, as: [UInt8].self) == fingerprint else {
                throw SkyrowError.keyReused
            }
            return try known.decode(row: 0, column: 1, as: [UInt8]?.self)
        }
    }

    /// Stores the result of the request that claimed the key.
    package func complete(
        _ key: String,
        scope: String,
        result: [UInt8],
        in transaction: PostgresTransaction
    ) async throws(SkyrowError) {
        try await store.reporting {
            _ = try await transaction.execute(
                "UPDATE \(schema.internal)._idempotency SET answer = \(result) WHERE scope = \(scope) AND key = \(key)"
            )
        }
    }

    /// Removes results that are older than a day; returns how many.
    @discardableResult
    package func purgeExpired() async throws(SkyrowError) -> Int {
        try await store.write(
            "DELETE FROM \(schema.internal)._idempotency WHERE created_at < now() - interval '24 hours'"
        )
    }
}

extension RecordStore {
    package var idempotency: IdempotencyTable { IdempotencyTable(store: self) }
}

extension SkyrowError {
    fileprivate static let keyReused = SkyrowError(
        .idempotencyKeyReused,
        "This idempotency key was used for another request; send a new one."
    )
}
