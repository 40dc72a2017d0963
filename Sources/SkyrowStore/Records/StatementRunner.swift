internal import SkyrowPostgres

/// Executes the statements of a request.
enum StatementRunner {
    /// Each in a separate transaction.
    case client(PostgresClient)
    /// All in one transaction; one that fails is rolled back alone.
    case transaction(PostgresTransaction)

    /// How often to try a statement that deadlocks with writers of the same rows.
    private static let attempts = 5

    /// - Parameters:
    ///   - limit: bounds the returned rows, for statements that keep whole columns.
    ///   - contention: what the statement may have to wait for.
    func write(
        _ sql: SQL,
        groupCommit: PostgresGroupCommit = .never,
        limit: PostgresRowLimit? = nil,
        contention: PostgresContention? = nil
    ) async throws -> PostgresResult {
        switch self {
        case .client(let client):
            for _ in 1..<Self.attempts {
                do {
                    return try await client.write(sql, groupCommit: groupCommit, limit: limit, contention: contention)
                } catch let error as PostgresError where error.isTransient {
                    continue
                }
            }
            return try await client.write(sql, groupCommit: groupCommit, limit: limit, contention: contention)
        case .transaction(let transaction):
            return try await transaction.withSavepoint { try await $0.query(sql, limit: limit) }
        }
    }

    func read(
        _ sql: SQL,
        limit: PostgresRowLimit? = nil,
        contention: PostgresContention? = nil
    ) async throws -> PostgresResult {
        switch self {
        case .client(let client): try await client.read(sql, limit: limit, contention: contention)
        case .transaction(let transaction): try await transaction.query(sql, limit: limit)
        }
    }

    /// Runs statements with deferred foreign keys, which are checked after the last one.
    func deferringReferences(_ body: (StatementRunner) async throws -> Void) async throws {
        switch self {
        case .client(let client):
            try await client.withTransaction { transaction in
                try await StatementRunner.deferringReferences(in: transaction, body)
            }
        case .transaction(let transaction):
            try await transaction.withSavepoint { transaction in
                try await StatementRunner.deferringReferences(in: transaction, body)
            }
        }
    }

    private static func deferringReferences(
        in transaction: PostgresTransaction,
        _ body: (StatementRunner) async throws -> Void
    ) async throws {
        _ = try await transaction.query("SET CONSTRAINTS ALL DEFERRED")
        try await body(.transaction(transaction))
        _ = try await transaction.query("SET CONSTRAINTS ALL IMMEDIATE")
    }
}

extension PostgresError {
    /// True if PostgreSQL aborted the statement in favor of another, so that it can be retried.
    fileprivate var isTransient: Bool {
        switch sqlState {
        case .some(.deadlockDetected), .some(.serializationFailure): true
        default: false
        }
    }
}
