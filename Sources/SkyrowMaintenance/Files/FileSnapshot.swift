import SkyrowModel
import SkyrowPostgres
import SkyrowStore

/// The stored files of an application as of one moment, none of which is deleted meanwhile.
///
/// Passed to the body of ``withFiles(of:client:_:)`` and not `Sendable`, like its transaction.
package final class FileSnapshot {
    private let transaction: PostgresTransaction
    private let schema: SQLIdentifier

    init(_ transaction: PostgresTransaction, schema: SQLIdentifier) {
        self.transaction = transaction
        self.schema = schema
    }

    /// Calls `body` with a snapshot of the stored files.
    ///
    /// Uploads continue; deletions wait until `body` returns. Throws the errors of `body`, and `PostgresError`.
    static func withFiles<Success>(
        of schema: SQLIdentifier,
        client: PostgresClient,
        _ body: (FileSnapshot) async throws -> Success
    ) async throws -> Success {
        try await holding(schema, client: client) {
            try await client.withTransaction(isolation: .snapshot, retries: 0, isTimed: false) { transaction in
                // PostgreSQL takes the snapshot with the first query.
                _ = try await transaction.query("SELECT")
                return try await body(FileSnapshot(transaction, schema: schema))
            }
        }
    }

    /// Calls `body` while no file is deleted.
    ///
    /// A deletion adds a row to `_garbage` in the transaction that deletes the row of the file. A lock of the table assigns no
    /// transaction id, unlike a row lock: a new stream of changes would wait for the end of a transaction that has one. The
    /// lock has a transaction for itself, since a snapshot must be later, and behind a pooler a transaction begins with a query.
    static func holding<Success>(
        _ schema: SQLIdentifier,
        client: PostgresClient,
        _ body: () async throws -> Success
    ) async throws -> Success {
        try await client.withTransaction(retries: 0, isTimed: false) { transaction in
            try await transaction.execute("LOCK TABLE \(schema.internal)._garbage IN SHARE MODE")
            return try await body()
        }
    }

    /// Returns the name by which pg_dump reads the same snapshot.
    func exported() async throws -> String {
        try await transaction.query("SELECT pg_export_snapshot()").decode(row: 0, column: 0)
    }

    /// Calls `body` with the row of each stored file, in the order of names.
    func each(_ body: (FileRow) async throws -> Void) async throws {
        var last: AssetName?
        repeat {
            let page = try FileRow.all(in: await transaction.query(FileRow.page(after: last, in: schema)))
            for row in page { try await body(row) }
            last = page.count < FileRow.pageLength ? nil : page.last?.name
        } while last != nil
    }
}
