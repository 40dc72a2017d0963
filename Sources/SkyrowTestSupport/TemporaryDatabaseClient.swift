package import Logging
package import SkyrowPostgres

/// Runs a client of a database during `body`. It waits for busy machines, where `configure` sets no other limits.
///
/// ```swift
/// try await withTemporaryDatabase { url in
///     try await withPostgresClient(url) { client in … }
/// }
/// ```
package func withPostgresClient<Success>(
    _ url: String,
    configure: (inout PostgresConfiguration) -> Void = { _ in },
    logger: Logger = .silent,
    _ body: (PostgresClient) async throws -> Success
) async throws -> Success {
    var configuration = PostgresConfiguration(connection: url)
    configuration.waitsForBusyMachines()
    configure(&configuration)
    let client = PostgresClient(configuration: configuration, logger: logger)
    return try await withRunning {
        try await client.run()
    } while: {
        try await body(client)
    }
}

extension PostgresConfiguration {
    /// Makes the configuration of a client whose statements wait until the test releases them, even on a busy machine.
    ///
    /// - Parameter limit: The maximum wait of a statement for a connection.
    package init(connection: String, waitingUpTo limit: Duration) {
        self.init(connection: connection)
        waitsForBusyMachines()
        acquireTimeout = limit
    }

    /// Raises the timeouts of connections and statements for machines that are busy with other tests.
    package mutating func waitsForBusyMachines() {
        connectTimeout = testPatience
        acquireTimeout = testPatience
        statementTimeout = testPatience
        readTimeout = testPatience
        idleTransactionTimeout = testPatience
        notificationProbeTimeout = testPatience
        changeReaderTimeout = testPatience
        // Below the second after which PostgreSQL looks for a deadlock.
        tableLockTimeout = .milliseconds(500)
    }

    /// Leaves statements in their group commit or pipeline on a slow machine, where they would otherwise be sent again, alone.
    package mutating func sendsSlowStatementsOnce() {
        groupCommitTimeout = testPatience
        heldUpTimeout = testPatience
    }
}

extension Logger {
    /// A logger that discards everything, for tests unrelated to the log.
    package static var silent: Logger {
        Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    }

    /// A logger of errors only.
    package static var quiet: Logger {
        var logger = Logger(label: "test")
        logger.logLevel = .error
        return logger
    }
}
