internal import Logging
package import SkyrowModel
internal import SkyrowPostgres
package import SkyrowProtocol

extension RecordStore {
    /// Calls a function that returns no records of a type; returns the JSON of its result, or nil for NULL.
    ///
    /// Throws what the function raises for the client, `108 InvalidArgument` for its arguments, `122 ResponseTimeout` if it takes
    /// too long, `132 PayloadTooLarge` for too large a result, `135 Overloaded` if too many functions run, and `10000
    /// UnexpectedError` for anything else that goes wrong in it.
    ///
    /// - Parameter timeLimit: how long the function may run.
    package func call(
        _ function: SQLFunction,
        with arguments: JSONText?,
        by caller: Caller,
        within timeLimit: Duration
    ) async throws(SkyrowError) -> JSONText? {
        try await reporting {
            let statement = try FunctionStatement(function, arguments, by: caller, in: schema, timeLimit: timeLimit)
            let result = try await run(statement.result, of: function, statement.prelude, limit: nil)
            let text: String? = result.isEmpty ? nil : try result.decode(row: 0, column: 0)
            return text.map { JSONText(validated: Array($0.utf8)) }
        }
    }

    /// Calls a function that returns records, of which it selects those that the caller may read and that match a query.
    ///
    /// Throws as ``call(_:with:by:within:)`` and ``query(_:with:admitting:)`` do.
    package func call(
        _ function: SQLFunction,
        with arguments: JSONText?,
        selecting query: RecordQuery,
        with access: RecordAccess,
        by caller: Caller,
        within timeLimit: Duration
    ) async throws(SkyrowError) -> QueryResult {
        let call = try await reporting {
            try FunctionStatement(function, arguments, by: caller, in: schema, timeLimit: timeLimit)
        }
        return try await preparing(query, for: access, from: call.call) { prepared in
            guard let prepared else { return try QueryResult(withoutTable: query) }
            let statement = prepared.statement
            let result = try await self.run(
                statement.sql,
                of: function,
                call.prelude,
                limit: .writing(prepared.table.wholeRow)
            )
            return try await self.page(of: query, statement, result, for: access)
        }
    }

    /// - Parameter limit: the bound on the rows of a function that may write.
    ///
    /// Throws `SkyrowError` for all errors of the function: the statement must not be repeated as one that met a changed schema.
    private func run(
        _ sql: SQL,
        of function: SQLFunction,
        _ prelude: PostgresPrelude,
        limit: PostgresRowLimit?
    ) async throws -> PostgresResult {
        // Functions hold only a share of the connections, as statements of one table do.
        let contention = PostgresContention(table: "\(schema.name)()".hashValue)
        do {
            guard function.isReadOnly else {
                return try await client.write(sql, limit: limit, contention: contention, prelude: prelude)
            }
            return try await client.read(sql, limit: .reading, contention: contention, prelude: prelude)
        } catch let error as PostgresError {
            let reported = SkyrowError(error, of: function)
            if reported.code == .unexpectedError {
                logger.error("A function failed", metadata: ["function": "\(function.name)", "error": "\(error)"])
                // With the text of the error, which may have values.
                logger.debug("A function failed", metadata: ["error": "\(error.debugDescription)"])
            }
            throw reported
        }
    }
}

extension SkyrowError {
    /// The client's error for an error of a function, without anything that the function did not raise for the client.
    init(_ error: PostgresError, of function: SQLFunction) {
        switch error.code {
        case .acquireTimeout:
            self = .databaseBusy
            return
        case .server: break
        default:
            self.init(error)
            return
        }
        if error.isOfPrelude, error.sqlState?.conditionClass == "22" {
            self = .invalidArgument("An argument does not fit the type of its parameter.", "args")
        } else if let raised = SkyrowError(raised: error) {
            self = raised.code == .unexpectedError ? .functionFailed : raised
        } else {
            switch error.sqlState {
            case .some(.serializationFailure), .some(.deadlockDetected), .some(.lockNotAvailable): self = .locked
            case .some(.readOnlyTransaction) where !function.isReadOnly: self.init(error)
            default:
                switch error.sqlState?.conditionClass {
                case "08", "53", "57", "58": self = .databaseUnavailable
                default: self = .functionFailed
                }
            }
        }
    }

    private static let functionFailed = SkyrowError(
        .unexpectedError,
        "The function failed; the service's log has the reason."
    )
}
