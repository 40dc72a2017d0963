internal import Logging
package import SkyrowModel
package import SkyrowPostgres
internal import SkyrowSystem

extension SkyrowError {
    /// The client's error for a database error, without the text and the values of the latter.
    ///
    /// - Parameter table: the table that a statement wrote to, which maps a refused reference to its field.
    package init(_ error: PostgresError, table: RecordTable? = nil) {
        switch error.code {
        case .acquireTimeout where error.sqlState == .lockNotAvailable:
            self = .locked
        case .overloaded, .acquireTimeout:
            self = .databaseBusy
        case .cannotConnect, .connectionLost, .shutDown:
            self = .databaseUnavailable
        case .indeterminateCommit:
            self.init(.outcomeUnknown, "The database connection was lost: the change may or may not have been made.")
        case .statementTimeout: self.init(.responseTimeout, "The database took too long; nothing was changed.")
        case .invalidValue: self.init(.invalidArgument, "A value cannot be stored, such as text with NUL.")
        case .resultTooLarge: self = .responseTooLarge
        case .resultMemoryExhausted: self = .noResponseMemory
        case .undecodable, .misuse: self = .unexpected
        case .server:
            if let refusal = SkyrowError(raised: error) ?? SkyrowError(membership: error) {
                self = refusal
                return
            }
            self.init(sqlState: error.sqlState ?? "XX000", error, table: table)
        }
    }

    private init(sqlState: PostgresSQLState, _ error: PostgresError, table: RecordTable?) {
        switch sqlState {
        case .foreignKeyViolation:
            let column = error.constraint.flatMap { table?.column(foreignKey: $0) }
            self.init(
                .invalidArgument,
                column?.type == .asset ? SkyrowError.missingFileMessage : SkyrowError.missingTargetMessage,
                info: SkyrowError.arguments(column?.field.rawValue)
            )
        case .uniqueViolation:
            let loginKey = error.constraint.flatMap { LoginKeys.key(ofIndex: $0) }
            let fields = error.constraint.flatMap { table?.fields(ofIndex: $0) } ?? []
            self.init(
                .duplicated,
                fields.count > 1
                    ? "Another record already has these values." : "Another record already has this value.",
                info: SkyrowError.arguments(loginKey.map { [$0] } ?? fields.map(\.rawValue))
            )
        case .programLimitExceeded:
            // An index row takes at most a third of a page; several texts can exceed that together.
            let fields = error.constraint.flatMap { table?.texts(ofIndex: $0) } ?? []
            self.init(
                .invalidArgument,
                fields.isEmpty
                    ? "A value does not fit its field."
                    : "The value does not fit: the text is too long for an index.",
                info: SkyrowError.arguments(fields.isEmpty ? error.column.map { [$0] } ?? [] : fields.map(\.rawValue))
            )
        case .notNullViolation:
            self.init(.invalidArgument, "A required field has no value.", info: SkyrowError.arguments(error.column))
        case .checkViolation where error.constraint == "_check_parent":
            self.init(
                .invalidArgument,
                "A record cannot be its own ancestor, and can have at most 32 ancestors.",
                info: SkyrowError.arguments(FieldName.parent.rawValue)
            )
        case .checkViolation, .exclusionViolation, .raiseException:
            self.init(.constraintViolated, "A constraint of the database does not allow this record.")
        case .undefinedTable, .undefinedColumn, .datatypeMismatch, .undefinedFunction:
            self = .schemaMoved
        case .serializationFailure, .deadlockDetected, .lockNotAvailable:
            self = .locked
        case .readOnlyTransaction:
            self = .databaseReadOnly
        case .tooManyColumns:
            self.init(
                .invalidArgument,
                "The records and their included records have more fields than the 1,664 columns that PostgreSQL can return; "
                    + "select fewer fields with \"select\" of the query and of each inclusion."
            )
        case .statementTooComplex, .tooManyArguments:
            self.init(.invalidArgument, "The request is too large for one statement of PostgreSQL; send it in parts.")
        default:
            switch sqlState.conditionClass {
            case "22", "54":
                self.init(
                    .invalidArgument,
                    "A value does not fit its field.",
                    info: SkyrowError.arguments(error.column)
                )
            // Poolers that have lost their server report class 08.
            case "08", "53", "57", "58": self = .databaseUnavailable
            default: self = .unexpected
            }
        }
    }

    /// Whether a read may succeed a moment later, since the database is busy or unavailable.
    package var isTransient: Bool {
        switch code {
        case .overloaded, .rateLimited, .responseTimeout, .outcomeUnknown, .unexpectedUnableToOpenDatabase: true
        default: false
        }
    }

    /// Another transaction held a lock for longer than a request waits.
    static let locked = SkyrowError(
        .overloaded,
        "Another transaction holds a lock that this request needs; nothing was changed. Try again in a moment.",
        info: ["retry_after": .integer(1)]
    )
    static let databaseBusy = SkyrowError(
        .overloaded,
        "The database is busy; nothing was done. Try again in a moment.",
        info: ["retry_after": .integer(1)]
    )
    private static let databaseReadOnly = SkyrowError(
        .overloaded,
        "The database does not accept writes at the moment; try again in a moment."
    )
    static let databaseUnavailable = SkyrowError(.overloaded, "The database is not available; try again in a moment.")
    package static let unexpected = SkyrowError(.unexpectedError, "Internal error; the service's log has the reason.")

    /// The schema has changed since the statement was built.
    package static let schemaMoved = SkyrowError(.incompatibleSchema, "The schema was changed concurrently; try again.")

    private static let missingTargetMessage = "A reference leads to a record that does not exist."

    /// `108` for a reference to a record that does not exist, or that the caller may not read.
    static func missingTarget(of field: FieldName) -> SkyrowError {
        SkyrowError(.invalidArgument, missingTargetMessage, info: arguments(field.rawValue))
    }

    private static let missingFileMessage = "The file does not exist."

    /// `108` for the name of a file that does not exist, or that the caller may not use.
    package static func missingFile(of field: FieldName) -> SkyrowError {
        SkyrowError(.invalidArgument, missingFileMessage, info: arguments(field.rawValue))
    }

    private static func arguments(_ name: String?) -> [String: ErrorInfo] {
        arguments(name.map { [$0] } ?? [])
    }

    private static func arguments(_ names: [String]) -> [String: ErrorInfo] {
        names.isEmpty ? [:] : ["arguments": .list(names.map { .string($0) })]
    }
}

extension RecordStore {
    /// Runs `body` with the catalog, and again with a reloaded one if PostgreSQL reports an unknown name.
    ///
    /// Another process or psql may just have changed the schema. Throws database errors as `SkyrowError`.
    func withCatalog<Success: Sendable>(_ body: (SchemaCatalog) async throws -> Success) async throws -> Success {
        try await rulesWatch.requireKnown()
        do {
            var retry = SchemaRetry()
            var hasLooked = false
            while true {
                let catalog = cache.current
                do {
                    return try await body(catalog)
                } catch let error as PostgresError where error.isAboutSchema {
                    guard try await catchUp(from: catalog, after: error, &retry) else { throw error }
                } catch let error as SkyrowError where error.isAboutUnknownName && !hasLooked {
                    hasLooked = true
                    guard try await lookForChanges(since: catalog) else { throw error }
                }
            }
        } catch let error as PostgresError {
            throw report(error)
        }
    }

    /// Returns the table of an error, reloaded if the error names an index that is not in the catalog yet.
    func table(_ table: RecordTable, namedBy error: PostgresError) async -> RecordTable {
        let isAboutIndex = error.sqlState == .uniqueViolation || error.sqlState == .programLimitExceeded
        guard isAboutIndex, let name = error.constraint, table.index(named: name) == nil else { return table }
        // Without the index, the error names no field.
        try? await cache.reload(.types([table.name]))
        return cache.current[table.name] ?? table
    }

    /// Reloads the catalog after a statement failed that was built from an old one; returns false if a retry is pointless.
    func catchUp(
        from catalog: SchemaCatalog,
        after error: PostgresError,
        _ retry: inout SchemaRetry
    ) async throws -> Bool {
        try await cache.reload()
        let isChanged = !cache.current.isSame(as: catalog)
        guard let pause = retry.pause(isChanged: isChanged, namesSchema: error.namesSchema) else { return false }
        if pause > .zero { try await ServiceTimer.sleep(for: pause) }
        return true
    }

    /// Returns the client's error, and logs what it does not contain.
    package func report(_ error: PostgresError, table: RecordTable? = nil) -> SkyrowError {
        let reported = SkyrowError(error, table: table)
        // Class 08 includes protocol errors, in addition to what poolers report.
        if reported.code == .unexpectedError || error.sqlState?.conditionClass == "08" {
            logger.error("A statement failed", metadata: ["error": "\(error)"])
        }
        return reported
    }
}

/// Decides how often, and after which pauses, a statement that met a schema change is retried.
///
/// While the schema keeps changing, a request is retried until its deadline, which cancels its task. An error that recurs
/// without schema changes is not caused by a stale catalog: a trigger created by psql may name a dropped column.
struct SchemaRetry: Hashable, Sendable {
    static let maximum = 500
    static let maximumUnchanged = 8

    private(set) var attempts = 0
    private var unchanged = 0

    /// Returns the pause before the next attempt; nil to give up.
    ///
    /// - Parameters:
    ///   - isChanged: whether the catalog has changed since the last attempt.
    ///   - namesSchema: false for an error that may have other causes.
    mutating func pause(isChanged: Bool, namesSchema: Bool) -> Duration? {
        attempts += 1
        unchanged = isChanged ? 0 : unchanged + 1
        guard attempts < Self.maximum, unchanged < (namesSchema ? Self.maximumUnchanged : 1) else { return nil }
        return attempts == 1 ? .zero : .milliseconds(1 << min(attempts - 2, 6))
    }
}

extension PostgresError {
    /// True if a statement may have failed because the schema has changed since its text was made.
    var isAboutSchema: Bool {
        // Includes internal errors of PostgreSQL: a statement concurrent with a change can find a column or table of its
        // catalog gone ("cache lookup failed").
        namesSchema || sqlState == "XX000"
    }

    /// True if a statement named a missing table or column, expected another type of it, or was prepared for other columns.
    var namesSchema: Bool {
        switch sqlState {
        case .some(.undefinedTable), .some(.undefinedColumn), .some(.datatypeMismatch), .some(.undefinedFunction),
            .some(.featureNotSupported):
            true
        default: false
        }
    }
}
