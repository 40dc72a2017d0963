/// What became of everything under one sync.
enum BatchFate {
    case committed
    case commitFailed(PostgresError)
    /// The connection was lost after the sync was sent.
    case lost(PostgresError)
    /// The connection was lost before the sync was sent, so that nothing can have been committed.
    case notSent
}

/// What the server said to one request of a batch.
enum RequestAnswer {
    /// Nothing: the connection was lost before.
    case none
    case success(PostgresResult)
    /// `wasRun` is false when the statement was refused before it was sent.
    case failure(PostgresError, wasRun: Bool)
    /// The prepared statement no longer fits the schema, or is gone; it was not run.
    case stale
    /// Another statement under the same sync failed before.
    case aborted

    init(_ answer: PipelineAnswer, isFresh: Bool, preparationFailure: PostgresError?) {
        switch answer {
        case .success(let result): self = .success(result)
        case .failure(let error):
            self = error.isStaleStatement && !isFresh ? .stale : .failure(error, wasRun: true)
        case .aborted:
            self = preparationFailure.map { .failure($0, wasRun: true) } ?? .aborted
        case .lost: self = .none
        }
    }
}

extension RequestAnswer {
    /// Everything the decision depends on.
    struct Situation {
        var role: ConnectionRole
        var fate: BatchFate
        /// Whether a statement spoilt the shared commit this one was part of.
        var groupFailed = false
        var isOnlyOne = true
        /// Whether a cancel was sent while the batch ran, and whether it was meant for this request.
        var wasCancelled = false
        var isCancelled = false
        /// Whose statement did not end in time, so that the connection was cut off.
        var overdue = Overdue.none
        var losses = 0
        var conflicts = 0
    }

    enum Overdue {
        case none
        case neighbour
        case itself
    }

    /// What is done about a request.
    enum Disposition {
        case alreadyFinished
        case succeed(PostgresResult)
        case fail(PostgresError)
        case cancelled
        case again(Lane.Repetition)
        /// The connection leads to a server that refuses writes by now.
        case reconnectAndAgain
        /// Once more, with a commit of its own.
        case alone
    }

    /// So often is a statement without effect tried on another connection, or after a deadlock, before its caller
    /// learns of it: a statement that itself brings the server down must not do so for ever.
    static let repetitions = 3

    func disposition(in situation: Situation) -> Disposition {
        switch situation.role {
        case .read: readDisposition(in: situation)
        case .write, .transaction, .listen: writeDisposition(in: situation)
        case .shared: sharedDisposition(in: situation)
        }
    }

    /// A read may be run again whatever happened.
    private func readDisposition(in situation: Situation) -> Disposition {
        switch self {
        case .success: .alreadyFinished
        case .stale: .again(.innocent)
        case .failure(let error, _): Self.disposition(of: error, in: situation)
        case .none, .aborted:
            switch situation.fate {
            case .committed, .commitFailed: .again(.innocent)
            case .lost(let error): Self.lostRead(error, in: situation)
            case .notSent: Self.lost(nil, in: situation)
            }
        }
    }

    /// A write may be run again only if it is certain that it was not committed.
    private func writeDisposition(in situation: Situation) -> Disposition {
        switch (self, situation.fate) {
        case (.stale, _): .again(.innocent)
        case (.failure(let error, _), _): Self.disposition(of: error, in: situation)
        case (.success(let result), .committed): .succeed(result)
        case (.success, .commitFailed(let error)): Self.disposition(of: error, in: situation)
        case (_, .notSent): Self.lost(nil, in: situation)
        case (.success, .lost(let error)), (.none, .lost(let error)), (.aborted, .lost(let error)):
            .fail(PostgresError(code: error.code == .misuse ? .misuse : .unknownFate, message: error.message))
        case (.none, .committed), (.none, .commitFailed), (.aborted, .committed), (.aborted, .commitFailed):
            .again(.innocent)
        }
    }

    /// The member of a group whose failure spoilt it is tried alone, since the others may be the cause of its failure;
    /// the others are grouped again. When the commit itself failed, any of them may be to blame, so all are tried
    /// alone.
    private func sharedDisposition(in situation: Situation) -> Disposition {
        if case .failure(let error, wasRun: false) = self { return .fail(error) }
        guard situation.groupFailed else { return writeDisposition(in: situation) }
        switch (self, situation.fate) {
        case (.failure(let error, _), _):
            guard situation.isOnlyOne else { return .alone }
            switch error.sqlState {
            // These may come from the short limits of the shared connection alone.
            case .lockNotAvailable, .queryCanceled: return .alone
            default: return Self.disposition(of: error, in: situation)
            }
        case (_, .commitFailed): return .alone
        case (_, .committed): return .again(.innocent)
        // A group that has failed cannot have been committed.
        case (_, .lost(let error)): return Self.lost(error, in: situation)
        case (_, .notSent): return Self.lost(nil, in: situation)
        }
    }

    private static func disposition(of error: PostgresError, in situation: Situation) -> Disposition {
        switch error.sqlState {
        case .queryCanceled where situation.isCancelled: .cancelled
        // The cancel was meant for a neighbour.
        case .queryCanceled where situation.wasCancelled: .again(.innocent)
        case .serializationFailure, .deadlockDetected:
            situation.conflicts < repetitions ? .again(.conflict) : .fail(error)
        case .readOnlyTransaction:
            situation.conflicts == 0 ? .reconnectAndAgain : .fail(error)
        default: .fail(error)
        }
    }

    private static func lostRead(_ error: PostgresError, in situation: Situation) -> Disposition {
        switch situation.overdue {
        case .none: lost(error, in: situation)
        case .neighbour: .again(.innocent)
        // On the next connection it would do the same.
        case .itself: situation.isCancelled ? .cancelled : .fail(PostgresError(code: .statementTimeout))
        }
    }

    private static func lost(_ error: PostgresError?, in situation: Situation) -> Disposition {
        if let error, error.code == .misuse { return .fail(error) }
        guard situation.losses >= repetitions else { return .again(.connectionLost) }
        return .fail(PostgresError(code: .connectionLost, sqlState: error?.sqlState, message: error?.message))
    }
}

/// What spoilt the commit of a group.
enum GroupFailure {
    /// The first statement that failed, or has to be prepared again.
    case statement(Int, PostgresSQLState?)
    /// The commit itself, as a constraint that is checked there does.
    case commit

    /// - Parameter answers: In the order of the statements; those behind a failure were not run.
    init?(_ answers: [RequestAnswer], fate: BatchFate) {
        if case .commitFailed = fate {
            self = .commit
            return
        }
        for (place, answer) in answers.enumerated() {
            switch answer {
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
