package import Logging
internal import ServiceLifecycle

/// Runs statements on PostgreSQL over a few connections.
///
/// ```swift
/// let client = PostgresClient(configuration: configuration, logger: logger)
/// // elsewhere, for as long as the client is used: try await client.run()
/// let result = try await client.read("SELECT title FROM note WHERE _id = \(id)")
/// ```
package final class PostgresClient: Service {
    package let configuration: PostgresConfiguration
    let logger: Logger

    package init(configuration: PostgresConfiguration, logger: Logger) {
        self.configuration = configuration
        self.logger = logger
    }

    /// Owns every connection and thread of the client; returns after a graceful shutdown has drained them.
    package func run() async throws {
    }

    /// Runs a statement that changes nothing. It may be run more than once when a connection is lost.
    package func read(_ sql: SQL) async throws -> PostgresResult {
        throw PostgresError(code: .cannotConnect)
    }

    /// Runs one statement that changes something, and returns after its commit.
    ///
    /// - Throws: ``PostgresError``; its code is `unknownFate` when the connection was lost at a moment that leaves
    ///   open whether the statement was committed. It is never repeated then.
    package func write(_ sql: SQL, sharing: PostgresCommitSharing = .never) async throws -> PostgresResult {
        throw PostgresError(code: .cannotConnect)
    }

    /// Runs `body` in a transaction, commits when it returns and rolls back when it throws.
    package func withTransaction<Success>(
        isolation: PostgresIsolation = .readCommitted,
        retries: Int = 3,
        _ body: (PostgresTransaction) async throws -> Success
    ) async throws -> Success {
        throw PostgresError(code: .cannotConnect)
    }

    /// Feeds `COPY … FROM STDIN` and returns how many rows went in.
    package func copyIn<Chunks: AsyncSequence>(_ statement: SQL, chunks: Chunks) async throws -> Int
    where Chunks.Element == [UInt8] {
        throw PostgresError(code: .cannotConnect)
    }

    /// What other sessions send on a channel with NOTIFY, from now on.
    package func listen(_ channel: SQLIdentifier) -> PostgresNotifications {
        PostgresNotifications()
    }

    /// Whether a connection is open; cheap.
    package var isReady: Bool { false }
}

/// Whether a write may share its commit with other writes.
package enum PostgresCommitSharing: Sendable {
    /// The write has a commit of its own.
    case never
    /// The write is independent of all others that wait.
    case allowed
    /// The write is independent of all others except those with the same key, with which it never shares a commit.
    /// All statements of one commit have the same transaction id and the same `now()`: where these tell two versions
    /// of a row apart, the key should be derived from the row's primary key.
    case allowedExcept(key: Int)
}

package enum PostgresIsolation: Sendable, CaseIterable {
    case readCommitted
    case repeatableRead
    case serializable
}

/// An open transaction, lent to a closure; not Sendable, because its statements run one after another.
package final class PostgresTransaction {
    /// Runs a statement and returns its rows.
    package func query(_ sql: SQL) async throws -> PostgresResult {
        throw PostgresError(code: .cannotConnect)
    }

    /// Runs a statement and returns how many rows it affected.
    @discardableResult
    package func execute(_ sql: SQL) async throws -> Int {
        try await query(sql).affectedRows
    }

    /// Runs several statements, separated by semicolons and without values, as one message.
    package func executeScript(_ sql: SQL) async throws {
        throw PostgresError(code: .cannotConnect)
    }

    /// Runs `body` and undoes what it did, but not the transaction, when it throws.
    package func withSavepoint<Success>(_ body: (PostgresTransaction) async throws -> Success) async throws -> Success {
        try await body(self)
    }

    /// Feeds `COPY … FROM STDIN` and returns how many rows went in.
    package func copyIn<Chunks: AsyncSequence>(_ statement: SQL, chunks: Chunks) async throws -> Int
    where Chunks.Element == [UInt8] {
        throw PostgresError(code: .cannotConnect)
    }
}

/// What a listener learns.
package enum PostgresNotificationEvent: Hashable, Sendable {
    /// Listening has begun.
    case connected
    /// Listening has begun again after an interruption, during which notifications may have been missed.
    case reconnected
    /// Another session, or this one, sent NOTIFY.
    case notification(channel: String, payload: String, processID: Int32)
}

/// The events of one channel, in order; ends when the client shuts down.
package struct PostgresNotifications: AsyncSequence, Sendable {
    package typealias Element = PostgresNotificationEvent
    package typealias Failure = Never

    package struct AsyncIterator: AsyncIteratorProtocol {
        package mutating func next() async -> PostgresNotificationEvent? { nil }
    }

    package func makeAsyncIterator() -> AsyncIterator { AsyncIterator() }
}
