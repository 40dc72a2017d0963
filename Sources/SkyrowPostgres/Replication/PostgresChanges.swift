/// What is committed in the tables of a publication, in the order of the commits, for as long as this value is kept.
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
/// It is for one reader. A reader that falls behind holds the stream up, in bounded memory; one that is behind for
/// longer than ``PostgresConfiguration/changeReaderTimeout`` loses it, as ``ChangeEvent/interrupted(_:)`` says, and it
/// begins anew where the reader then is. It ends when it is stopped or the client shuts down.
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

    /// Ends it: the connection is closed, and its slot is gone with it.
    package func stop() {
        worker.stop()
    }

    /// Has the server be asked how far it is, so that a ``ChangeEvent/position(_:)`` comes soon though nothing is
    /// written.
    package func requestPosition() {
        worker.requestPosition()
    }

    /// The bytes of changes that wait for the reader.
    package var heldBytes: Int { worker.queue.byteCount }

    package struct AsyncIterator: AsyncIteratorProtocol {
        /// Keeps the stream.
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
    /// Streams what is committed in the tables of a publication.
    ///
    /// A stream has a connection and a temporary replication slot of its own, and the thread `pg-changes`. The role of
    /// the connection needs REPLICATION, and the server `wal_level = logical`.
    ///
    /// - Throws: ``PostgresError`` with the code `shutDown` when the client shuts down, `overloaded` when there is no thread.
    package func changes(publication: SQLIdentifier) throws(PostgresError) -> PostgresChanges {
        PostgresChanges(worker: try changeStreams.open(publication: publication))
    }
}
