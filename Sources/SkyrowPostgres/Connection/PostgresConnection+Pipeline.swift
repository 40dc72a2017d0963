internal import CLibpq

/// One message of a pipeline whose result is outstanding.
enum PipelineStep {
    /// The settings of the transaction, sent first.
    case settings
    /// What runs before the statement of the only request.
    case prelude
    case prepare(PreparedStatement)
    /// The statement of the request at this index of the batch; `statement` is nil when it was sent unnamed.
    case execute(index: Int, statement: PreparedStatement?, isFresh: Bool)
    case deallocate
}

/// The response to one step.
enum PipelineResult {
    case success(PostgresResult)
    case failure(PostgresError)
    /// An earlier statement under the same sync failed, so the server skipped this one.
    case aborted
    case lost(PostgresError)
}

extension PostgresConnection {
    /// The address of an empty value, which must not look like NULL.
    /// Unsafe only in name: it is never read or written, since libpq gets a length of zero.
    private nonisolated(unsafe) static let empty = UnsafePointer(UnsafeMutablePointer<CChar>.allocate(capacity: 1))

    /// Upper bound on the text, in bytes, of a prepared statement. The server needs many times as much memory for it, on each
    /// connection, for as many statements as the cache holds.
    private static let longestNamedStatement = 128 * 1024
    /// How many times the cache's capacity of names a pooler gets before the
    /// connection is replaced; a pooler is never told to deallocate.
    private static let namesWithPooler = 16

    func enterPipeline() -> Bool {
        PQenterPipelineMode(handle) == 1
    }

    /// Adds a statement to the pipeline, and appends what was sent to `steps`.
    ///
    /// - Throws: ``PostgresError``. With the code `connectionLost` nothing of the pipeline can take effect, because the sync that
    ///   commits it was not sent.
    func send(_ sql: SQL, index: Int, named: Bool, steps: inout [PipelineStep]) throws(PostgresError) {
        if let failure = sql.bindings.failure { throw failure }
        guard sql.bindings.count <= Int(UInt16.max) else {
            throw PostgresError(code: .invalidValue, message: "A statement has at most 65535 values")
        }
        let isNamed = named && usesNamedStatements && sql.utf8.count <= Self.longestNamedStatement
        let known = isNamed ? statements.find(sql) : nil
        guard isNamed, known?.state != .unusable else {
            guard sendUnnamed(sql) else { throw sendFailure() }
            steps.append(.execute(index: index, statement: nil, isFresh: true))
            return
        }
        if let known, known.state == .prepared {
            guard sendPrepared(known, sql) else { throw sendFailure() }
            steps.append(.execute(index: index, statement: known, isFresh: false))
            return
        }
        let statement: PreparedStatement
        if let known { statement = known } else { statement = try makeStatement(sql, steps: &steps) }
        let types = statement.types.map(\.rawValue)
        guard PQsendPrepare(handle, statement.name, sql.text, Int32(types.count), types) == 1 else {
            statements.remove(statement)
            throw sendFailure()
        }
        statement.state = .prepared
        steps.append(.prepare(statement))
        guard sendPrepared(statement, sql) else { throw sendFailure() }
        steps.append(.execute(index: index, statement: statement, isFresh: true))
    }

    /// Creates a statement under a new name; the statement that it evicts is deallocated.
    private func makeStatement(_ sql: SQL, steps: inout [PipelineStep]) throws(PostgresError) -> PreparedStatement {
        let (statement, evicted) = statements.add(sql)
        guard ownsSession else {
            // The session that the pooler lends now may not have the statement.
            if statements.names > Self.namesWithPooler * statements.capacity { isSwollen = true }
            return statement
        }
        for name in [evicted?.name, orphans.popLast()].compactMap(\.self) {
            guard sendUnnamed(deallocation(of: name)) else { throw sendFailure() }
            steps.append(.deallocate)
        }
        return statement
    }

    /// Adds the settings of the transaction, if it needs any, as the first step of the pipeline.
    func sendTransactionSettings(steps: inout [PipelineStep]) throws(PostgresError) {
        guard let transactionSettings else { return }
        guard sendUnnamed(transactionSettings) else { throw sendFailure() }
        steps.append(.settings)
    }

    /// Adds what runs before the statement of a request.
    ///
    /// - Throws: as ``send(_:index:named:steps:)``.
    func sendPrelude(_ sql: SQL, steps: inout [PipelineStep]) throws(PostgresError) {
        if let failure = sql.bindings.failure { throw failure }
        guard sendUnnamed(sql) else { throw sendFailure() }
        steps.append(.prelude)
    }

    /// Ends the implicit transaction and sends the pipeline.
    func sync() -> Bool {
        PQpipelineSync(handle) == 1
    }

    /// Whether the next result has not arrived yet, so that reading it would block.
    var wouldBlock: Bool { PQisBusy(handle) != 0 }

    /// Makes libpq return the rows of the next result one by one; must be called before the result is read.
    func expectSingleRows() {
        // libpq refuses when the result has already begun; the rows then arrive all at once, as without a limit.
        PQsetSingleRowMode(handle)
    }

    /// Returns the result of the oldest outstanding step; blocks until it arrives.
    ///
    /// - Parameters:
    ///   - limit: Bounds the rows, which must be announced by ``expectSingleRows()``.
    ///   - events: Called while the rows are received.
    func receive(
        _ step: PipelineStep,
        limit: PostgresRowLimit? = nil,
        events: (CollectingEvent) -> Void = { _ in }
    ) -> PipelineResult {
        guard var result = PQgetResult(handle) else { return .lost(lossError()) }
        var collected: CollectedRows?
        if let limit {
            guard let last = collect(from: result, limit, &collected, events) else { return .lost(lossError()) }
            result = last
        }
        let outcome: PipelineResult
        switch PQresultStatus(result) {
        case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY:
            if let failure = collected?.failure {
                PQclear(result)
                outcome = .failure(PostgresError(code: failure))
            } else {
                outcome = .success(PostgresResult(handle: result, collected: collected))
            }
        case PGRES_PIPELINE_ABORTED:
            PQclear(result)
            outcome = .aborted
        case PGRES_FATAL_ERROR:
            let error = PostgresError(result: result)
            let isOver = PostgresError.endsSession(result: result) || PQstatus(handle) != CONNECTION_OK
            PQclear(result)
            guard !isOver else {
                gate.markBroken()
                return .lost(error)
            }
            outcome = .failure(error.replaced(by: collected))
        default:
            // COPY cannot be part of a pipeline and leaves it in a state that libpq cannot leave.
            PQclear(result)
            gate.markBroken()
            return .lost(PostgresError(code: .misuse, message: "COPY runs through copyIn only"))
        }
        while let extra = PQgetResult(handle) { PQclear(extra) }
        note(outcome, for: step)
        return outcome
    }

    /// Returns the outcome of everything since the last sync: nil when it was committed.
    func receiveSync() -> PipelineResult? {
        var failure: PipelineResult?
        var emptyResults = 0
        while true {
            guard let result = PQgetResult(handle) else {
                // A nil separates two results; a second consecutive one means that no result will come.
                emptyResults += 1
                if emptyResults > 1 || PQstatus(handle) != CONNECTION_OK { return .lost(lossError()) }
                continue
            }
            defer { PQclear(result) }
            emptyResults = 0
            switch PQresultStatus(result) {
            case PGRES_PIPELINE_SYNC:
                return failure
            case PGRES_FATAL_ERROR:
                // For example a deferred constraint, which is checked at the commit.
                let error = PostgresError(result: result)
                if PostgresError.endsSession(result: result) || PQstatus(handle) != CONNECTION_OK {
                    gate.markBroken()
                    return .lost(error)
                }
                failure = .failure(error)
            default:
                gate.markBroken()
                return .lost(lossError())
            }
        }
    }

    /// Keeps the cache of prepared statements consistent with the server.
    private func note(_ result: PipelineResult, for step: PipelineStep) {
        switch (step, result) {
        case (.prepare(let statement), .failure(let error)) where error.sqlState == .duplicatePreparedStatement:
            // Names are unique per connection, so the existing statement is this one.
            statement.state = .prepared
        case (.prepare(let statement), .failure), (.prepare(let statement), .aborted):
            statements.remove(statement)
        case (.execute(_, let statement?, false), .failure(let error)) where error.sqlState == .invalidStatementName:
            statement.state = .forgotten
        case (.execute(_, let statement?, false), .failure(let error)) where error.isStaleStatement:
            guard ownsSession else {
                // Under another name the pooler would run the same statement.
                statement.state = .unusable
                break
            }
            statements.remove(statement)
            orphans.append(statement.name)
        case (.settings, _), (.prelude, _), (.prepare, _), (.execute, _), (.deallocate, _):
            break
        }
    }

    func lossError() -> PostgresError {
        gate.markBroken()
        return PostgresError(code: .connectionLost, message: lastMessage)
    }

    private func sendFailure() -> PostgresError {
        gate.markBroken()
        return PostgresError(code: .connectionLost, message: lastMessage)
    }

    func sendUnnamed(_ sql: SQL) -> Bool {
        let types = sql.bindings.values.map(\.type.rawValue)
        return withParameters(of: sql.bindings) { count, pointers, lengths, formats in
            PQsendQueryParams(handle, sql.text, count, types, pointers, lengths, formats, 1) == 1
        }
    }

    private func sendPrepared(_ statement: PreparedStatement, _ sql: SQL) -> Bool {
        withParameters(of: sql.bindings) { count, pointers, lengths, formats in
            PQsendQueryPrepared(handle, statement.name, count, pointers, lengths, formats, 1) == 1
        }
    }

    /// Lends the values in libpq's form: their number, addresses, lengths and formats.
    private func withParameters(
        of bindings: PostgresBindings,
        _ body: (Int32, UnsafePointer<UnsafePointer<CChar>?>?, UnsafePointer<Int32>?, UnsafePointer<Int32>?) -> Bool
    ) -> Bool {
        let count = bindings.count
        return withUnsafeTemporaryAllocation(of: UnsafePointer<CChar>?.self, capacity: count) { pointers in
            withUnsafeTemporaryAllocation(of: Int32.self, capacity: 2 * count) { numbers in
                bindings.encoder.bytes.withUnsafeBytes { bytes in
                    let base = bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
                    for (index, value) in bindings.values.enumerated() {
                        let place =
                            value.length < 0 ? nil : value.length == 0 ? Self.empty : base.map { $0 + value.offset }
                        pointers.initializeElement(at: index, to: place)
                        numbers.initializeElement(at: index, to: Int32(truncatingIfNeeded: max(0, value.length)))
                        // All values are binary.
                        numbers.initializeElement(at: count + index, to: 1)
                    }
                    let lengths = UnsafePointer(numbers.baseAddress)
                    return body(Int32(count), UnsafePointer(pointers.baseAddress), lengths, lengths.map { $0 + count })
                }
            }
        }
    }
}

extension PostgresError {
    /// Whether a prepared statement no longer fits the schema or is missing; the statement was not run.
    var isStaleStatement: Bool {
        switch sqlState {
        case .featureNotSupported, .invalidStatementName: true
        default: false
        }
    }
}
