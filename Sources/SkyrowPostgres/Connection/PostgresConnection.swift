internal import CLibpq

/// The purpose of a connection, which determines the settings of its session.
enum ConnectionRole: String, Sendable {
    case read
    case write
    case groupCommit = "group_commit"
    case transaction
    case listen

    /// Part of a thread name, which has at most 15 bytes.
    var threadName: String { self == .groupCommit ? "commit" : rawValue }
}

/// One libpq connection.
///
/// Not `Sendable`: libpq allows one thread at a time, and every connection belongs to the thread that opened it. Other threads
/// cancel and abort it through its ``ConnectionGate``.
final class PostgresConnection {
    let handle: OpaquePointer
    let gate: ConnectionGate
    var statements: PreparedStatementCache
    /// Whether statements are prepared and run by name.
    private(set) var usesNamedStatements = false
    /// Whether the session stays with this client until the connection ends.
    private(set) var ownsSession = false
    /// The settings that every transaction must start with when the session cannot keep them; nil without such settings.
    private(set) var transactionSettings: SQL?
    /// The server process of the connection; nil when it is unknown, as behind a pooler.
    private var backend: Backend?
    /// Names of stale statements that the server still has; they are deallocated at the next opportunity.
    var orphans: [String] = []
    /// Whether the connection should be replaced, because libpq's buffer is too large or a pooler keeps too many statements.
    var isSwollen = false

    /// Connects and prepares the session; blocks until that is done.
    ///
    /// - Throws: ``PostgresError`` with the code `cannotConnect`.
    init(configuration: PostgresConfiguration, role: ConnectionRole, gate: ConnectionGate) throws(PostgresError) {
        if let control = gate.control, !control.admitsConnection {
            throw PostgresError(code: .cannotConnect, message: "Too many abandoned statements are still running")
        }
        let options = configuration.libpqOptions(address: configuration.connection)
        let handle = withCStrings(options.map(\.0)) { keywords in
            withCStrings(options.map(\.1)) { values in
                PQconnectdbParams(keywords, values, 1)
            }
        }
        guard let handle else {
            throw PostgresError(code: .cannotConnect, message: "There is not enough memory for a connection")
        }
        guard PQstatus(handle) == CONNECTION_OK else {
            let message = String(cString: PQerrorMessage(handle))
            PQfinish(handle)
            throw PostgresError(code: .cannotConnect, message: message)
        }
        self.handle = handle
        self.gate = gate
        statements = PreparedStatementCache(capacity: configuration.maximumPreparedStatements)
        // Without a receiver, notices go to standard error. libpq also delivers as a notice the message of a server that closes
        // an idle session. The gate outlives the connection.
        let receiver: PQnoticeReceiver = { gate, result in
            guard let gate, let result, PostgresError.announcesEnd(result: result) else { return }
            Unmanaged<ConnectionGate>.fromOpaque(gate).takeUnretainedValue().markBroken()
        }
        PQsetNoticeReceiver(handle, receiver, Unmanaged.passUnretained(gate).toOpaque())
        gate.open(descriptor: PQsocket(handle), handle: CancelHandle(PQgetCancel(handle)))
        // A server that stops responding here is aborted like one that does so later.
        gate.begin(gate, deadline: .now + max(.seconds(2), configuration.connectTimeout))
        defer { _ = gate.end() }
        do throws(PostgresError) {
            let settings = SessionSettings(of: configuration, role: role, serverVersion: PQserverVersion(handle))
            try begin(settings, configuration.preparedStatements)
        } catch {
            // All properties are initialized, so an error runs deinit, which closes the connection.
            throw PostgresError(code: .cannotConnect, sqlState: error.sqlState, message: error.message)
        }
    }

    deinit {
        let isAbandoned = gate.close()
        PQfinish(handle)
        if isAbandoned, let backend { gate.control?.abandon(backend) }
    }

    var isUsable: Bool { PQstatus(handle) == CONNECTION_OK && !gate.isBroken }

    /// libpq's message about the last failure.
    var lastMessage: String { String(cString: PQerrorMessage(handle)) }

    /// Reads what arrived while the connection was idle: a notice, a changed setting, or its end.
    func checkWhileIdle() {
        gate.clearSuspicion()
        guard PQtransactionStatus(handle) == PQTRANS_IDLE, PQconsumeInput(handle) == 1 else {
            gate.markBroken()
            return
        }
        while PQisBusy(handle) == 0, let result = PQgetResult(handle) { PQclear(result) }
    }

    /// Runs a statement outside of a pipeline and waits for its end.
    ///
    /// - Parameter cancel: Requests the server to cancel the statement, once its rows exceed the limit.
    func runAlone(
        _ sql: SQL,
        limit: PostgresRowLimit? = nil,
        cancel: () -> Void = {}
    ) throws(PostgresError) -> PostgresResult {
        if let failure = sql.bindings.failure { throw failure }
        guard sendUnnamed(sql) else { throw PostgresError(code: .connectionLost, message: lastMessage) }
        if limit != nil { expectSingleRows() }
        return try finishAlone(limit: limit, cancel: cancel)
    }

    /// Reads all results of a command outside of a pipeline and returns the last; the first error is thrown.
    func finishAlone(limit: PostgresRowLimit? = nil, cancel: () -> Void = {}) throws(PostgresError) -> PostgresResult {
        var success: PostgresResult?
        var failure: PostgresError?
        while var result = PQgetResult(handle) {
            var collected: CollectedRows?
            if let limit {
                let last = collect(from: result, limit, &collected) { if case .excess = $0 { cancel() } }
                guard let last else { break }
                result = last
            }
            switch PQresultStatus(result) {
            case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY:
                if let code = collected?.failure {
                    PQclear(result)
                    failure = failure ?? PostgresError(code: code)
                } else {
                    success = PostgresResult(handle: result, collected: collected)
                }
            case PGRES_COPY_IN, PGRES_COPY_OUT, PGRES_COPY_BOTH:
                PQclear(result)
                gate.markBroken()
                throw PostgresError(code: .misuse, message: "COPY runs through copyIn and copyOut only")
            default:
                failure = failure ?? PostgresError(result: result).replaced(by: collected)
                if PostgresError.endsSession(result: result) { gate.markBroken() }
                PQclear(result)
            }
        }
        if PQstatus(handle) != CONNECTION_OK { gate.markBroken() }
        if let failure, !gate.isBroken { throw failure }
        guard let success, !gate.isBroken else {
            throw PostgresError(code: .connectionLost, sqlState: failure?.sqlState, message: failure?.message)
        }
        return success
    }

    /// Detects who owns the session and applies its settings. Where another client may get the session after each transaction,
    /// every transaction gets the settings instead.
    private func begin(_ settings: SessionSettings, _ preparedStatements: PreparedStatements) throws(PostgresError) {
        if preparedStatements != .never {
            // A pooler invents a process id, and may assign another server process to the next transaction.
            let isOwn: SQL = preparedStatements == .always ? "true" : "a.pid = \(PQbackendPID(handle))"
            let calls = ["''"] + settings.calls(isLocal: false)
            let result = try runDespiteTimeout(
                """
                SELECT a.pid, a.backend_start, CASE WHEN \(isOwn) THEN concat(\(calls.joined(separator: ", "))) END IS NOT NULL
                FROM pg_stat_get_activity(pg_backend_pid()) AS a
                """
            )
            let processID: Int32 = try result.decode(row: 0, column: 0)
            if processID == PQbackendPID(handle) {
                backend = Backend(processID: processID, startedAt: try result.decode(row: 0, column: 1))
            }
            ownsSession = try result.decode(row: 0, column: 2)
        }
        guard !ownsSession else {
            usesNamedStatements = true
            return
        }
        gate.control?.noteSharedSessions()
        let calls = settings.calls(isLocal: true)
        if !calls.isEmpty { transactionSettings = "SELECT \(calls.joined(separator: ", "))" }
        if preparedStatements == .whereKept { usesNamedStatements = try poolerKeepsStatements() }
    }

    /// Runs a statement that a short `statement_timeout` of the role or database, not yet replaced, may cancel.
    ///
    /// The first statements of a session load PostgreSQL's catalogs into its caches; what a cancelled attempt has loaded makes
    /// the next one faster.
    private func runDespiteTimeout(_ sql: SQL) throws(PostgresError) -> PostgresResult {
        for _ in 1..<Self.maximumAttempts {
            do throws(PostgresError) {
                return try runAlone(sql)
            } catch {
                guard error.sqlState == .queryCanceled else { throw error }
            }
        }
        return try runAlone(sql)
    }

    /// Upper bound on the attempts to apply the settings of a session.
    private static let maximumAttempts = 50

    /// Whether a pooler prepares statements in every session in which they run, as PgBouncer does from 1.21 on with
    /// `max_prepared_statements`.
    ///
    /// Such a pooler renames statements, so the session has none under the name that was sent.
    private func poolerKeepsStatements() throws(PostgresError) -> Bool {
        let name = statements.makeName()
        let question: SQL =
            "SELECT NOT EXISTS (SELECT FROM pg_catalog.pg_prepared_statements WHERE name = \(literal: name))"
        // A statement that the pooler does not keep is deallocated within the
        // transaction, before another client gets the session.
        _ = try runAlone("BEGIN")
        guard PQsendPrepare(handle, name, question.text, 0, nil) == 1 else { throw lossError() }
        _ = try finishAlone()
        guard PQsendQueryPrepared(handle, name, 0, nil, nil, nil, 1) == 1 else { throw lossError() }
        let isKept = try finishAlone().decode(row: 0, column: 0, as: Bool.self)
        if !isKept { _ = try runAlone(deallocation(of: name)) }
        _ = try runAlone("COMMIT")
        return isKept
    }

    func deallocation(of name: String) -> SQL {
        SQL(trustedText: "DEALLOCATE \(name)")
    }
}

extension PostgresConfiguration {
    /// The options with which libpq connects to an address. Later entries override earlier ones, so the connection string can
    /// change all of the defaults.
    func libpqOptions(address: String) -> [(String, String)] {
        var options: [(String, String)] = [
            ("connect_timeout", String(max(2, connectTimeout.components.seconds))),
            ("keepalives_idle", "15"),
            ("keepalives_interval", "5"),
            ("keepalives_count", "3"),
            ("tcp_user_timeout", "15000"),
        ]
        if let name = applicationName { options.append(("fallback_application_name", name)) }
        options.append(("dbname", address))
        options.append(("client_encoding", "UTF8"))
        return options
    }
}

/// Lends a null-terminated array of C strings.
func withCStrings<Success>(_ strings: [String], _ body: ([UnsafePointer<CChar>?]) -> Success) -> Success {
    func lend(
        _ rest: ArraySlice<String>,
        _ pointers: [UnsafePointer<CChar>?],
        _ body: ([UnsafePointer<CChar>?]) -> Success
    ) -> Success {
        guard let first = rest.first else { return body(pointers + [nil]) }
        return first.withCString { lend(rest.dropFirst(), pointers + [$0], body) }
    }
    return lend(strings[...], [], body)
}
