internal import SkyrowPostgres

/// Where the statements of a request run.
enum StatementRunner {
    /// Each on its own.
    case client(PostgresClient)
    /// All in one transaction; one that fails is undone alone.
    case transaction(PostgresTransaction)

    /// How often a statement is tried that meets others who write the same rows in another order.
    private static let attempts = 5

    /// - Parameters:
    ///   - limit: bounds the rows that come back, as one that keeps columns.
    ///   - contention: what it may have to wait for.
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

    /// Runs statements whose foreign keys are checked together, after the last.
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
    /// True when PostgreSQL gave up a statement in favour of another one, so that it may be tried again.
    fileprivate var isTransient: Bool {
        switch sqlState {
        case .some(.deadlockDetected), .some(.serializationFailure): true
        default: false
        }
    }
}
