/// The committed changes in the tables of a publication, in commit order, for as long as this value is kept.
///
/// ```swift
/// let changes = try client.changes(publication: "skyrow_app")
/// for await event in changes {
///     switch event {
///     case .connected(let position): …          // from here on nothing is missed
///     case .transaction(let transaction): …
///     case .interrupted(let failure): …         // until the next .connected changes are missed
///     case .position, .delayed: break
///     }
/// }
/// ```
///
/// It has one reader. A reader that falls behind holds up the stream, in bounded memory. When it is behind for longer than
/// ``PostgresConfiguration/changeReaderTimeout``, the stream is dropped (``ChangeEvent/interrupted(_:)``) and restarts at the
/// current position once the reader has caught up. The stream ends when it is stopped or the client shuts down.
package final class PostgresChanges: AsyncSequence, Sendable {
    package typealias Element = ChangeEvent
    package typealias Failure = Never

    private let worker: ChangeWorker

    init(worker: ChangeWorker) {
        self.worker = worker
    }

    deinit {
        worker.stop()
    }

    /// Ends the stream: closes the connection, which drops its temporary slot.
    package func stop() {
        worker.stop()
    }

    /// Requests the server's current position, so that a ``ChangeEvent/position(_:)`` follows soon even when nothing is written.
    package func requestPosition() {
        worker.requestPosition()
    }

    /// The bytes of unread changes.
    package var heldBytes: Int { worker.queue.byteCount }

    package struct AsyncIterator: AsyncIteratorProtocol {
        /// Keeps the stream alive.
        fileprivate let changes: PostgresChanges

        package mutating func next() async -> ChangeEvent? {
            await changes.worker.queue.next()
        }
    }

    package func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(changes: self)
    }
}

extension PostgresClient {
    /// Streams the committed changes in the tables of a publication.
    ///
    /// A stream has its own connection, temporary replication slot and thread `pg-changes`. The role of the connection needs
    /// REPLICATION, and the server `wal_level = logical`.
    ///
    /// - Throws: ``PostgresError`` with the code `shutDown` when the client shuts
    ///   down, `overloaded` when no thread can be started.
    package func changes(publication: SQLIdentifier) throws(PostgresError) -> PostgresChanges {
        PostgresChanges(worker: try changeStreams.open(publication: publication))
    }
}
