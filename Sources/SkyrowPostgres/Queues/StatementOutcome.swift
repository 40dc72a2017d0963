/// The outcome of all statements under one sync.
enum BatchOutcome {
    case committed
    case commitFailed(PostgresError)
    /// The connection was lost after the sync was sent.
    case lost(PostgresError)
    /// The connection was lost before the sync was sent, so nothing can have been committed.
    case notSent
}

/// The server's response to one request of a batch.
enum StatementOutcome {
    /// None: the connection was lost before.
    case none
    case success(PostgresResult)
    /// `wasRun` is false when the statement was refused before it was sent.
    case failure(PostgresError, wasRun: Bool)
    /// The prepared statement no longer fits the schema, is missing, or already exists; it was not run.
    case stale
    /// An earlier statement under the same sync failed.
    case aborted

    init(_ result: PipelineResult, isFresh: Bool, preparationFailure: PostgresError?) {
        switch result {
        case .success(let rows): self = .success(rows)
        case .failure(let error):
            self = error.isStaleStatement && !isFresh ? .stale : .failure(error, wasRun: true)
        case .aborted:
            self =
                switch preparationFailure {
                case nil: .aborted
                case let failure? where failure.sqlState == .duplicatePreparedStatement: .stale
                case let failure?: .failure(failure, wasRun: true)
                }
        case .lost: self = .none
        }
    }
}

extension StatementOutcome {
    /// The inputs of the decision.
    struct Situation {
        var role: ConnectionRole
        var outcome: BatchOutcome
        /// Whether a statement failed the group commit of this one.
        var groupFailed = false
        var isOnlyOne = true
        /// Whether a cancel was sent while the batch ran, and whether it was for this request.
        var wasCancelled = false
        var isCancelled = false
        /// Whether the request itself made its transaction read-only.
        var isReadOnly = false
        /// Whose statement exceeded its time limit, so that the connection was aborted.
        var overdue = Overdue.none
        var losses = 0
        var conflicts = 0
    }

    enum Overdue {
        case none
        case neighbour
        case itself
    }

    /// What happens to a request.
    enum Disposition {
        case alreadyFinished
        case succeed(PostgresResult)
        case fail(PostgresError)
        case cancelled
        case retry(ConnectionQueue.RetryReason)
        /// Retried on a new connection, because the server of this one is read-only now.
        case reconnectAndRetry
        /// Retried with its own commit.
        case alone
    }

    /// How often a statement without effect is retried on another connection, or after a deadlock, before it fails. A statement
    /// that crashes the server must not do so for ever.
    static let maximumRetries = 3

    func disposition(in situation: Situation) -> Disposition {
        switch situation.role {
        case .read: readDisposition(in: situation)
        case .write, .transaction, .listen: writeDisposition(in: situation)
        case .groupCommit: groupDisposition(in: situation)
        }
    }

    /// A read may always run again.
    private func readDisposition(in situation: Situation) -> Disposition {
        switch self {
        case .success: .alreadyFinished
        case .stale: .retry(.stale)
        case .failure(let error, _): Self.disposition(of: error, in: situation)
        case .none, .aborted:
            switch situation.outcome {
            case .committed, .commitFailed: .retry(.unrelated)
            case .lost(let error): Self.lostRead(error, in: situation)
            case .notSent: Self.lost(nil, in: situation)
            }
        }
    }

    /// A write may run again only if it certainly was not committed.
    private func writeDisposition(in situation: Situation) -> Disposition {
        switch (self, situation.outcome) {
        case (.stale, _): .retry(.stale)
        case (.failure(let error, _), _): Self.disposition(of: error, in: situation)
        case (.success(let result), .committed): .succeed(result)
        case (.success, .commitFailed(let error)): Self.disposition(of: error, in: situation)
        case (_, .notSent): Self.lost(nil, in: situation)
        case (.success, .lost(let error)), (.none, .lost(let error)), (.aborted, .lost(let error)):
            .fail(PostgresError(code: error.code == .misuse ? .misuse : .indeterminateCommit, message: error.message))
        case (.none, .committed), (.none, .commitFailed), (.aborted, .committed), (.aborted, .commitFailed):
            .retry(.unrelated)
        }
    }

    /// The member that failed its group is retried alone, since the others may have caused its failure; the others are grouped
    /// again. When the commit itself failed, any member may be the cause, so all are retried alone.
    private func groupDisposition(in situation: Situation) -> Disposition {
        if case .failure(let error, wasRun: false) = self { return .fail(error) }
        guard situation.groupFailed else { return writeDisposition(in: situation) }
        switch (self, situation.outcome) {
        case (.failure(let error, _), _):
            guard situation.isOnlyOne else { return .alone }
            switch error.sqlState {
            // These may result from the short limits of the group-commit connection only.
            case .lockNotAvailable, .queryCanceled: return .alone
            default: return Self.disposition(of: error, in: situation)
            }
        case (_, .commitFailed): return .alone
        case (.stale, _): return .retry(.stale)
        case (_, .committed): return .retry(.unrelated)
        // A group that has failed cannot have been committed.
        case (_, .lost(let error)): return Self.lost(error, in: situation)
        case (_, .notSent): return Self.lost(nil, in: situation)
        }
    }

    private static func disposition(of error: PostgresError, in situation: Situation) -> Disposition {
        switch error.sqlState {
        case .queryCanceled where situation.isCancelled: .cancelled
        // The cancel was for another statement of the batch.
        case .queryCanceled where situation.wasCancelled: .retry(.unrelated)
        case .serializationFailure, .deadlockDetected:
            situation.conflicts < maximumRetries ? .retry(.conflict) : .fail(error)
        case .readOnlyTransaction:
            situation.conflicts == 0 && !situation.isReadOnly ? .reconnectAndRetry : .fail(error)
        default: .fail(error)
        }
    }

    private static func lostRead(_ error: PostgresError, in situation: Situation) -> Disposition {
        switch situation.overdue {
        case .none: lost(error, in: situation)
        case .neighbour: .retry(.unrelated)
        // It would take as long on the next connection.
        case .itself: situation.isCancelled ? .cancelled : .fail(PostgresError(code: .statementTimeout))
        }
    }

    private static func lost(_ error: PostgresError?, in situation: Situation) -> Disposition {
        if let error, error.code == .misuse { return .fail(error) }
        guard situation.losses >= maximumRetries else { return .retry(.connectionLost) }
        return .fail(PostgresError(code: .connectionLost, sqlState: error?.sqlState, message: error?.message))
    }
}

/// What failed a group commit.
enum GroupFailure {
    /// The first statement that failed or must be prepared again.
    case statement(Int, PostgresSQLState?)
    /// The commit itself, for example a constraint that is checked at the commit.
    case commit

    /// - Parameter statements: In the order of execution; those after a failure were not run.
    init?(_ statements: [StatementOutcome], outcome: BatchOutcome) {
        if case .commitFailed = outcome {
            self = .commit
            return
        }
        for (place, outcome) in statements.enumerated() {
            switch outcome {
            case .failure(let error, wasRun: true):
                self = .statement(place, error.sqlState)
                return
            case .stale:
                self = .statement(place, nil)
                return
            case .success, .none, .aborted, .failure: continue
            }
        }
        return nil
    }
}
