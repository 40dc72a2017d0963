internal import CLibpq

/// How much of concurrent transactions a transaction sees.
package enum PostgresIsolation: Sendable, CaseIterable {
    /// Each statement sees what was committed before it.
    case readCommitted
    /// All statements see what was committed before the first.
    case repeatableRead
    /// As if the transactions ran one after another.
    case serializable
    /// As ``repeatableRead``, and read-only.
    case snapshot

    fileprivate var beginStatement: SQL {
        switch self {
        case .readCommitted: "BEGIN ISOLATION LEVEL READ COMMITTED"
        case .repeatableRead: "BEGIN ISOLATION LEVEL REPEATABLE READ"
        case .serializable: "BEGIN ISOLATION LEVEL SERIALIZABLE"
        case .snapshot: "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"
        }
    }
}

/// An open transaction, lent to the closure of ``PostgresClient/withTransaction(isolation:retries:_:)``.
///
/// Not `Sendable`, because its statements run one after another. It must not be used after the closure has returned. Statements
/// are sent unnamed: a plan that a schema change made stale could not be replaced without losing the transaction.
package final class PostgresTransaction {
    let worker: TransactionWorker
    private let isolation: PostgresIsolation
    private let isTimed: Bool
    private var hasBegun = false
    private var isOver = false
    private var savepoints = 0

    /// Whether the last failure is transient, so that the transaction may succeed when it is run again from the start.
    private(set) var hasTransientFailure = false

    init(worker: TransactionWorker, isolation: PostgresIsolation, isTimed: Bool) {
        self.worker = worker
        self.isolation = isolation
        self.isTimed = isTimed
    }

    /// ``PostgresConfiguration/tableLockTimeout`` in milliseconds.
    package var tableLockMilliseconds: Int64 { worker.configuration.tableLockTimeout.settingMilliseconds }

    /// Runs a statement and returns its rows.
    ///
    /// - Parameter limit: Bounds the rows in memory.
    package func query(_ sql: SQL, limit: PostgresRowLimit? = nil) async throws -> PostgresResult {
        try await perform(sql) { connection throws(PostgresError) in
            try connection.runAlone(sql, limit: limit)
        } begin: {
            connection,
            begin throws(PostgresError) in
            try connection.run(sql, after: begin, limit: limit)
        }
    }

    /// Runs a statement and returns the number of affected rows.
    @discardableResult
    package func execute(_ sql: SQL) async throws -> Int {
        try await query(sql).affectedRows
    }

    /// Runs several statements, separated by semicolons and without values, as one message. It is not reported as a statement,
    /// since its text may be as long as a whole schema.
    package func executeScript(_ sql: SQL) async throws {
        _ = try await perform { connection throws(PostgresError) in try connection.runScript(sql) }
    }

    /// Runs `body` in a savepoint; when it throws, its effects are undone but not the transaction.
    package func withSavepoint<Success>(_ body: (PostgresTransaction) async throws -> Success) async throws -> Success {
        savepoints += 1
        let name = try SQLIdentifier("skyrow_\(savepoints)")
        try await execute("SAVEPOINT \(name)")
        do {
            let success = try await body(self)
            try await execute("RELEASE SAVEPOINT \(name)")
            return success
        } catch {
            _ = try? await perform(isCancellable: false) { connection throws(PostgresError) in
                try connection.runScript("ROLLBACK TO SAVEPOINT \(name); RELEASE SAVEPOINT \(name)")
            }
            throw error
        }
    }

    /// Commits the transaction.
    ///
    /// - Throws: ``PostgresError``; with `indeterminateCommit` when the connection was lost before the result.
    func commit() async throws {
        isOver = true
        guard hasBegun else { return }
        do {
            let commit: SQL = "COMMIT"
            let result = try await worker.perform(commit, isCancellable: false) { session throws(PostgresError) in
                let connection = try session.currentConnection()
                do throws(PostgresError) {
                    return try connection.runAlone(commit)
                } catch {
                    guard error.code == .connectionLost else { throw error }
                    throw PostgresError(code: .indeterminateCommit, sqlState: error.sqlState, message: error.message)
                }
            }
            // The server turns a COMMIT after a failed statement into a rollback without an error.
            guard result.commandTag == "COMMIT" else {
                throw PostgresError(
                    code: .server,
                    sqlState: "25P02",
                    message: "The transaction was rolled back because one of its statements had failed"
                )
            }
        } catch {
            note(error)
            throw error
        }
    }

    /// Rolls the transaction back; a connection that fails to do so is abandoned, which has the same effect.
    func rollBack() async {
        isOver = true
        guard hasBegun else { return }
        _ = try? await worker.perform(isCancellable: false) { session throws(PostgresError) in
            let connection = try session.currentConnection()
            guard connection.isInTransaction else { return }
            do throws(PostgresError) {
                _ = try connection.runAlone("ROLLBACK")
            } catch {
                connection.gate.markBroken()
                throw error
            }
        }
    }

    /// Runs `body` with the connection, after BEGIN if it is the first use.
    ///
    /// - Parameter statement: The statement of `body`, if it is timed as one.
    func perform<Success: Sendable>(
        _ statement: SQL? = nil,
        isCancellable: Bool = true,
        _ body: @escaping @Sendable (PostgresConnection) throws(PostgresError) -> Success,
        begin: (@Sendable (PostgresConnection, SQL) throws(PostgresError) -> Success)? = nil
    ) async throws -> Success {
        guard !isOver else { throw PostgresError(code: .misuse, message: "The transaction has ended") }
        let isFirst = !hasBegun
        hasBegun = true
        let beginStatement = isolation.beginStatement
        let isTimed = isTimed
        do {
            return try await worker.perform(
                statement,
                isCancellable: isCancellable,
                isTimed: isTimed
            ) { session throws(PostgresError) in
                guard isFirst else { return try body(session.currentConnection()) }
                let connection = try session.openConnection()
                if let begin, isTimed { return try begin(connection, beginStatement) }
                _ = try connection.runAlone(beginStatement)
                if let settings = connection.transactionSettings { _ = try connection.runAlone(settings) }
                if !isTimed { _ = try connection.runAlone("SET LOCAL statement_timeout = 0") }
                return try body(connection)
            }
        } catch {
            note(error)
            throw error
        }
    }

    private func note(_ error: any Error) {
        guard let error = error as? PostgresError else { return }
        hasTransientFailure =
            error.code == .connectionLost
            || error.sqlState == .serializationFailure || error.sqlState == .deadlockDetected
    }
}

extension PostgresConnection {
    var isInTransaction: Bool {
        switch PQtransactionStatus(handle) {
        case PQTRANS_ACTIVE, PQTRANS_INTRANS, PQTRANS_INERROR: true
        default: false
        }
    }

    /// Runs BEGIN and the first statement in one round trip.
    func run(_ sql: SQL, after begin: SQL, limit: PostgresRowLimit? = nil) throws(PostgresError) -> PostgresResult {
        guard enterPipeline() else { throw PostgresError(code: .connectionLost, message: lastMessage) }
        defer { PQexitPipelineMode(handle) }
        var steps: [PipelineStep] = []
        if let failure = sql.bindings.failure { throw failure }
        try send(begin, index: 0, named: false, steps: &steps)
        try sendTransactionSettings(steps: &steps)
        try send(sql, index: 1, named: false, steps: &steps)
        guard sync() else { throw PostgresError(code: .connectionLost, message: lastMessage) }
        var last: PipelineResult = .aborted
        for step in steps {
            var stepLimit: PostgresRowLimit?
            if case .execute(index: 1, _, _) = step { stepLimit = limit }
            if stepLimit != nil { expectSingleRows() }
            let result = receive(step, limit: stepLimit)
            switch result {
            case .success: last = result
            case .failure: last = result
            case .aborted: break
            case .lost(let error):
                throw PostgresError(code: .connectionLost, sqlState: error.sqlState, message: error.message)
            }
        }
        if case .lost(let error)? = receiveSync() {
            throw PostgresError(code: .connectionLost, sqlState: error.sqlState, message: error.message)
        }
        switch last {
        case .success(let result): return result
        case .failure(let error), .lost(let error): throw error
        case .aborted: throw PostgresError(code: .connectionLost)
        }
    }

    /// Runs statements without values through PostgreSQL's simple query protocol.
    func runScript(_ sql: SQL) throws(PostgresError) {
        if let failure = sql.bindings.failure { throw failure }
        guard sql.bindings.isEmpty else { throw PostgresError(code: .misuse, message: "A script cannot have values") }
        guard PQsendQuery(handle, sql.text) == 1 else {
            throw PostgresError(code: .connectionLost, message: lastMessage)
        }
        _ = try finishAlone()
    }
}
