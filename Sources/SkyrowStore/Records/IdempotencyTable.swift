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
package struct IdempotencyTable: StoreTable, Sendable {
    /// The state of a request with a key.
    package enum Claim: Hashable, Sendable {
        /// The first request with the key: do the work, then call ``IdempotencyTable/complete(_:scope:result:in:)``.
        case claimed
        /// The request has a result already.
        case completed([UInt8])
    }

    let store: RecordStore

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
                    WHERE \(Self.isFree)
                    RETURNING true
                    """
                )
                guard claimed.isEmpty else { return .claimed }
                let answer = answer(to: fingerprint)
                let known = try await transaction.query(
                    "SELECT \(answer.list) FROM \(schema.internal)._idempotency WHERE scope = \(scope) AND key = \(key)"
                ).rows(answer)
                // There is no row if the key was purged between the two statements: it is free again.
                guard let known = known.first else { continue }
                guard let known else { throw SkyrowError.unexpected }
                return .completed(known)
            }
        }
    }

    /// The condition that the row `known` counts no more: it is old, or the request that claimed it has no result and runs no more.
    private static let isFree: SQL = """
        known.created_at < now() - interval '24 hours'
            OR (known.answer IS NULL AND (known.leased_until < now()) IS NOT FALSE)
        """

    /// Returns the result that a request with this key already got, if any; claims nothing.
    ///
    /// Throws `133 IdempotencyKeyReused` if the key was used for another request.
    package func result(_ key: String, scope: String, fingerprint: [UInt8]) async throws(SkyrowError) -> [UInt8]? {
        try await store.read(answer(to: fingerprint)) {
            """
            SELECT \($0) FROM \(schema.internal)._idempotency
            WHERE scope = \(scope) AND key = \(key) AND created_at >= now() - interval '24 hours'
            """
        }.first ?? nil
    }

    /// The answer to a request; reading it throws if the row is that of another request.
    private func answer(to fingerprint: [UInt8]) -> Columns<[UInt8]?> {
        Columns(
            { (known: [UInt8], answer: [UInt8]?) in
                guard known == fingerprint else { throw SkyrowError.keyReused }
                return answer
            },
            "fingerprint",
            "answer"
        )
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

    // MARK: Work outside of transactions

    /// The state of a request whose work is no part of a transaction.
    package enum Lease: Hashable, Sendable {
        /// The first request with the key: do the work, then call ``IdempotencyTable/complete(_:scope:result:until:)`` or
        /// ``IdempotencyTable/release(_:scope:until:)`` with this end of the lease.
        case taken(until: Timestamp)
        /// Another request with the key is running.
        case running
        /// The request has a result already.
        case completed([UInt8])
    }

    /// Claims a key for a time, after which another request may claim it, as when the process has ended.
    ///
    /// Throws `133 IdempotencyKeyReused` if the key was used for another request, and errors of the database.
    package func lease(
        _ key: String,
        scope: String,
        fingerprint: [UInt8],
        for time: Duration
    ) async throws(SkyrowError) -> Lease {
        let seconds = Double(time.components.seconds)
        let end: Timestamp? = try await store.value(
            writing: """
                INSERT INTO \(schema.internal)._idempotency AS known (scope, key, fingerprint, leased_until)
                VALUES (\(scope), \(key), \(fingerprint), clock_timestamp() + make_interval(secs => \(seconds)))
                ON CONFLICT (scope, key) DO UPDATE
                SET fingerprint = EXCLUDED.fingerprint, answer = NULL, created_at = EXCLUDED.created_at,
                    leased_until = EXCLUDED.leased_until
                WHERE \(Self.isFree)
                RETURNING known.leased_until
                """
        )
        if let end { return .taken(until: end) }
        // Without a result the request runs, or has failed since the statement before.
        return try await result(key, scope: scope, fingerprint: fingerprint).map { .completed($0) } ?? .running
    }

    /// Stores the result of a request, unless its lease has ended and another request has claimed the key.
    package func complete(
        _ key: String,
        scope: String,
        result: [UInt8],
        until end: Timestamp
    ) async throws(SkyrowError) {
        try await store.write(
            """
            UPDATE \(schema.internal)._idempotency SET answer = \(result), leased_until = NULL
            WHERE scope = \(scope) AND key = \(key) AND leased_until = \(end)
            """
        )
    }

    /// Ends the lease of a request that has failed.
    package func release(_ key: String, scope: String, until end: Timestamp) async throws(SkyrowError) {
        try await store.write(
            """
            DELETE FROM \(schema.internal)._idempotency
            WHERE scope = \(scope) AND key = \(key) AND leased_until = \(end)
            """
        )
    }

    /// Removes results that are older than a day; returns how many.
    @discardableResult
    package func purgeExpired() async throws(SkyrowError) -> Int {
        try await store.write(
            "DELETE FROM \(schema.internal)._idempotency WHERE created_at < now() - interval '24 hours'"
        )
    }
}

extension SkyrowError {
    fileprivate static let keyReused = SkyrowError(
        .idempotencyKeyReused,
        "This idempotency key was used for another request; send a new one."
    )
}
