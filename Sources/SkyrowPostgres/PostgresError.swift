/// A failure between this process and PostgreSQL.
///
/// `description` is safe to show and to log: it contains names and codes only. The server's own messages may quote values of a
/// row, so they are kept apart in ``message``, ``detail`` and ``hint``.
package struct PostgresError: Error, Hashable, Sendable {
    /// The kind of failure, by which a caller decides what to do next.
    package enum Code: String, Hashable, Sendable, CaseIterable {
        /// The server refused the statement, for the reason in ``PostgresError/sqlState``; it had no effect.
        case server
        /// The statement ran longer than the statement timeout and was cancelled; it had no effect.
        case statementTimeout
        /// No connection took the statement before the acquire timeout; it was never sent. With the SQLSTATE `lockNotAvailable`,
        /// statements of the same table or row blocked it.
        case acquireTimeout
        /// Too many statements are already waiting; the statement was never sent.
        case overloaded
        /// The connection was lost repeatedly while a read was tried, or inside a
        /// transaction before its commit; nothing was changed.
        case connectionLost
        /// The connection was lost after a write was sent and before its result
        /// arrived; the write may or may not have been committed.
        case indeterminateCommit
        /// No connection could be opened.
        case cannotConnect
        /// The client is shutting down or has shut down; the statement was never sent.
        case shutDown
        /// A value cannot be sent to PostgreSQL, such as text with a NUL byte; the statement was never sent.
        case invalidValue
        /// The result exceeds the row limit of its request; the statement changed nothing.
        case resultTooLarge
        /// The memory budget for result rows is exhausted for now; the statement changed nothing.
        case resultMemoryExhausted
        /// A column of a result does not have the requested type.
        case undecodable
        /// The calling code broke a rule of this module, such as using a transaction after its end.
        case misuse
    }

    package var code: Code

    /// The condition that the server reported.
    package var sqlState: PostgresSQLState?

    /// The names that the server reported with the condition.
    package var schema: String?
    package var table: String?
    package var column: String?
    package var constraint: String?

    /// The server's primary message, or this module's own; it may quote values, so it is for the log only.
    package var message: String?

    /// The server's detail and hint; they often quote a row, so they are for the log only.
    package var detail: String?
    package var hint: String?

    /// Whether not the statement failed, but what runs before it.
    package var isOfPrelude = false

    package init(
        code: Code,
        sqlState: PostgresSQLState? = nil,
        schema: String? = nil,
        table: String? = nil,
        column: String? = nil,
        constraint: String? = nil,
        message: String? = nil,
        detail: String? = nil,
        hint: String? = nil
    ) {
        self.code = code
        self.sqlState = sqlState
        self.schema = schema
        self.table = table
        self.column = column
        self.constraint = constraint
        self.message = message
        self.detail = detail
        self.hint = hint
    }
}

extension PostgresError: CustomStringConvertible, CustomDebugStringConvertible {
    /// One sentence without values of rows or statements.
    package var description: String {
        var names: [String] = []
        if let sqlState { names.append("SQLSTATE \(sqlState.rawValue)") }
        if let table { names.append("table \(schema.map { $0 + "." } ?? "")\(table)") }
        if let column { names.append("column \(column)") }
        if let constraint { names.append("constraint \(constraint)") }
        return names.isEmpty ? code.sentence : "\(code.sentence) (\(names.joined(separator: ", ")))"
    }

    /// All known details, values included: for a developer's terminal and the most detailed log level.
    package var debugDescription: String {
        var lines = [description]
        if let message { lines.append("message: \(message)") }
        if let detail { lines.append("detail: \(detail)") }
        if let hint { lines.append("hint: \(hint)") }
        return lines.joined(separator: "\n")
    }
}

extension PostgresError.Code {
    fileprivate var sentence: String {
        switch self {
        case .server: "PostgreSQL refused the statement"
        case .statementTimeout: "The statement took longer than its time limit and was cancelled"
        case .acquireTimeout: "No database connection became free in time"
        case .overloaded: "Too many statements are waiting for the database"
        case .connectionLost: "The database connection was lost; nothing was changed"
        case .indeterminateCommit:
            "The database connection was lost before the write's result arrived; it may have happened"
        case .cannotConnect: "The database cannot be reached"
        case .shutDown: "The database client has shut down"
        case .invalidValue: "PostgreSQL cannot store a value"
        case .resultTooLarge: "The result has more rows than the request allows"
        case .resultMemoryExhausted: "There is not enough memory for the rows of the result"
        case .undecodable: "A column of the result is not of the expected type"
        case .misuse: "The database client was used incorrectly"
        }
    }
}
