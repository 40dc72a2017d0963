internal import Logging
package import SkyrowModel
package import SkyrowPostgres

extension SkyrowError {
    /// What a client is told about a failure of the database: never its text, and no value.
    ///
    /// - Parameter table: the table a statement wrote to, by which a refused reference finds its field.
    package init(_ error: PostgresError, table: RecordTable? = nil) {
        switch error.code {
        case .overloaded, .acquireTimeout, .cannotConnect, .connectionLost, .shutDown:
            self = .databaseUnavailable
        case .unknownFate:
            self.init(.outcomeUnknown, "The database connection was lost: the change may or may not have been made.")
        case .statementTimeout:
            self.init(.responseTimeout, "The database took too long; nothing was changed.")
        case .invalidValue:
            self.init(.invalidArgument, "A value cannot be stored, such as text with a NUL character.")
        case .resultTooLarge:
            self = .responseTooLarge
        case .resultMemoryExhausted:
            self = .noResponseMemory
        case .undecodable, .misuse:
            self = .unexpected
        case .server:
            self.init(sqlState: error.sqlState ?? "XX000", error, table: table)
        }
    }

    private init(sqlState: PostgresSQLState, _ error: PostgresError, table: RecordTable?) {
        switch sqlState {
        case .foreignKeyViolation:
            let field = error.constraint.flatMap { table?.column(foreignKey: $0)?.field.rawValue }
            self.init(
                .invalidArgument,
                "A reference names a record that does not exist.",
                info: SkyrowError.arguments(field)
            )
        case .uniqueViolation:
            let loginKey = error.constraint.flatMap { LoginKeys.key(ofIndex: $0) }
            self.init(
                .duplicated,
                "Another record has this value already.",
                info: SkyrowError.arguments(loginKey)
            )
        case .notNullViolation:
            self.init(
                .invalidArgument,
                "A field that must have a value has none.",
                info: SkyrowError.arguments(error.column)
            )
        case .checkViolation, .exclusionViolation, .raiseException:
            self.init(.constraintViolated, "A rule of the database does not allow this record.")
        case .undefinedTable, .undefinedColumn, .datatypeMismatch, .undefinedFunction:
            self.init(.incompatibleSchema, "The schema was changed meanwhile; try again.")
        case .serializationFailure, .deadlockDetected, .readOnlyTransaction, .lockNotAvailable:
            self = .databaseUnavailable
        default:
            switch sqlState.conditionClass {
            case "22", "54":
                self.init(
                    .invalidArgument,
                    "A value does not fit its field.",
                    info: SkyrowError.arguments(error.column)
                )
            case "53", "57", "58": self = .databaseUnavailable
            default: self = .unexpected
            }
        }
    }

    static let databaseUnavailable = SkyrowError(.overloaded, "The database is not available; try again in a moment.")
    static let unexpected = SkyrowError(.unexpectedError, "The service failed; its log says why.")

    private static func arguments(_ name: String?) -> [String: ErrorInfo] {
        name.map { ["arguments": .list([.string($0)])] } ?? [:]
    }
}

extension RecordStore {
    /// Runs `body` with the catalogue, and once more with a fresh one when PostgreSQL does not know a name it used.
    ///
    /// Another process or psql may have changed the schema a moment ago. Errors of the database leave as `SkyrowError`.
    func withCatalog<Success: Sendable>(
        _ body: (SchemaCatalog) async throws -> Success
    ) async throws -> Success {
        do {
            do {
                return try await body(cache.current)
            } catch let error as PostgresError where error.isAboutSchema {
                try await cache.reload()
                return try await body(cache.current)
            }
        } catch let error as PostgresError {
            throw report(error)
        }
    }

    /// The error for the client; what it does not tell goes to the log.
    func report(_ error: PostgresError, table: RecordTable? = nil) -> SkyrowError {
        let reported = SkyrowError(error, table: table)
        if reported.code == .unexpectedError {
            logger.error("A statement failed", metadata: ["error": "\(error)"])
        }
        return reported
    }
}

extension PostgresError {
    /// True when a statement named a table or column that is not there, or expected another type of it.
    var isAboutSchema: Bool {
        switch sqlState {
        case .some(.undefinedTable), .some(.undefinedColumn), .some(.datatypeMismatch), .some(.undefinedFunction): true
        default: false
        }
    }
}
