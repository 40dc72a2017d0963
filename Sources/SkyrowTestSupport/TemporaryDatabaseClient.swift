package import Logging
package import SkyrowPostgres

/// Runs a client of a database for as long as `body` runs.
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
    configure(&configuration)
    let client = PostgresClient(configuration: configuration, logger: logger)
    return try await withRunning {
        try await client.run()
    } while: {
        try await body(client)
    }
}

extension PostgresConfiguration {
    /// That of a client whose statements wait until a test lets them run, however busy the machine is.
    ///
    /// - Parameter limit: how long a statement waits for a connection.
    package init(connection: String, waitingUpTo limit: Duration) {
        self.init(connection: connection)
        acquireTimeout = limit
    }

    /// Has connections and statements take as long as they do on a machine that is busy with other tests, which is no reason to refuse.
    package mutating func waitsForBusyMachines() {
        connectTimeout = testPatience
        acquireTimeout = testPatience
        statementTimeout = testPatience
        readTimeout = testPatience
    }
}

extension Logger {
    /// Swallows everything, for tests whose output is not about the log.
    package static var silent: Logger {
        Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    }

    /// Says nothing below an error.
    package static var quiet: Logger {
        var logger = Logger(label: "test")
        logger.logLevel = .error
        return logger
    }
}
