import Foundation
import Synchronization

/// A database prepared once per cluster under a key, and copied for each test.
///
/// ```swift
/// let migrated = DatabaseTemplate(key: "migrated") { url in try await Migrator(url).run() }
/// ```
package struct DatabaseTemplate: Sendable {
    let key: String
    let prepare: @Sendable (_ url: String) async throws -> Void

    /// `prepare` must close its connections before it returns, since PostgreSQL only copies databases without connections.
    package init(key: String, prepare: @escaping @Sendable (_ url: String) async throws -> Void) {
        self.key = key
        self.prepare = prepare
    }
}

/// A test's temporary database.
package struct TemporaryDatabase: Sendable {
    package let cluster: TemporaryCluster
    package let name: String

    package init(cluster: TemporaryCluster, name: String) {
        self.cluster = cluster
        self.name = name
    }

    /// A libpq connection URI with superuser rights.
    package var url: String { cluster.url(database: name) }

    /// Runs statements independently of the code under test (``TemporaryCluster/psql(_:database:)``), and returns the
    /// rows, a line each, with columns separated by `|`.
    @discardableResult
    package func psql(_ statements: String) async throws -> String {
        try await cluster.psql(statements, database: name)
    }

    /// Returns the number of rows read by all sessions so far. It ends the sessions, as PostgreSQL's count is complete
    /// only then.
    ///
    /// ```swift
    /// #expect(try await database.rowsRead() < 10 * rows)
    /// ```
    package func rowsRead() async throws -> Int {
        try await psql(
            """
            SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity
            WHERE datname = current_database() AND pid <> pg_backend_pid()
            """
        )
        let count = try await psql("SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0)) FROM pg_stat_user_tables")
        guard let count = Int(count) else { throw TemporaryClusterError(description: "\(count) is no number of rows") }
        return count
    }

    /// Returns the first log lines of the statements that this database's sessions send during `body`, on the cluster
    /// ``TemporaryCluster/logging()``.
    package func statements(during body: () async throws -> Void) async throws -> [String] {
        let log = try FileHandle(forReadingFrom: URL(fileURLWithPath: cluster.logPath))
        defer { try? log.close() }
        try log.seekToEnd()
        try await body()
        // PostgreSQL logs a statement before it runs it.
        let lines = String(decoding: try log.readToEnd() ?? Data(), as: UTF8.self).split(separator: "\n").map(
            String.init
        )
        return lines.filter { $0.contains("] \(name) ") && $0.contains("LOG:  ") }
    }

    /// Returns the number of this database's sessions that wait for a lock. The cluster's other databases belong to
    /// other tests.
    package func sessionsWaitingForALock() async throws -> Int? {
        Int(
            try await psql(
                """
                SELECT count(*) FROM pg_stat_activity
                WHERE datname = current_database() AND wait_event_type = 'Lock'
                """
            )
        )
    }

    /// Returns the number of this database's locks that satisfy a condition on `pg_locks`.
    ///
    /// Copies of one template have the same OIDs, so a table's name alone would also match locks of other tests.
    package func locks(where condition: String) async throws -> Int? {
        Int(
            try await psql(
                """
                SELECT count(*) FROM pg_locks
                WHERE database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND \(condition)
                """
            )
        )
    }
}

/// Creates a database for one test, empty or from a template, and drops it afterwards.
///
/// ```swift
/// try await withTemporaryDatabase(template: migrated) { url in … }
/// ```
package func withTemporaryDatabase<Success>(
    template: DatabaseTemplate? = nil,
    on cluster: TemporaryCluster? = nil,
    test: String = #function,
    _ body: (_ url: String) async throws -> Success
) async throws -> Success {
    try await withTemporaryDatabaseAndPsql(template: template, on: cluster, test: test) { try await body($0.url) }
}

/// Creates a database like ``withTemporaryDatabase(template:on:test:_:)``, for tests that also access it with psql.
package func withTemporaryDatabaseAndPsql<Success>(
    template: DatabaseTemplate? = nil,
    on cluster: TemporaryCluster? = nil,
    test: String = #function,
    _ body: (TemporaryDatabase) async throws -> Success
) async throws -> Success {
    try await openDatabases.withTurn {
        let cluster = if let cluster { cluster } else { try await TemporaryCluster.shared() }
        let name = cluster.freshName(for: test)
        let source = if let template { try await cluster.prepared(template) } else { "template0" }
        try await cluster.copy(database: source, to: name)
        let database = TemporaryDatabase(cluster: cluster, name: name)
        do {
            let success = try await body(database)
            try await cluster.drop(database: name)
            return success
        } catch {
            // The body's error takes precedence over a failed drop; the cluster ends with the process.
            _ = try? await cluster.drop(database: name)
            throw error
        }
    }
}

/// Each test has up to about 20 of the server's 300 connections.
private let openDatabases = OpenDatabaseLimit(10)

extension TemporaryCluster {
    /// Copies a database by its files. PostgreSQL's default from version 15 on, copying through the WAL, takes twice
    /// the processor time.
    fileprivate func copy(database source: String, to name: String) async throws {
        let strategy = version >= 15 ? "STRATEGY file_copy" : ""
        try await administrate("CREATE DATABASE \(name) TEMPLATE \(source) \(strategy)")
    }

    /// Drops a database after its replication streams have ended, which the server notices shortly after their clients.
    fileprivate func drop(database name: String) async throws {
        do {
            try await administrate("DROP DATABASE \(name) WITH (FORCE)")
        } catch let error as TemporaryClusterError where error.description.contains("active logical replication slot") {
            try await waiting(until: "no stream of \(name) is left") {
                try await psql("SELECT count(*) FROM pg_replication_slots WHERE database = '\(name)' AND active") == "0"
            }
            try await administrate("DROP DATABASE \(name) WITH (FORCE)")
        }
    }

    /// Returns the name of the template's database, made by the first call.
    fileprivate func prepared(_ template: DatabaseTemplate) async throws -> String {
        let task = templates.withLock { templates in
            if let task = templates[template.key] { return task }
            let name = freshName(for: "template\(template.key)")
            let task = Task {
                try await copy(database: "template0", to: name)
                try await template.prepare(url(database: name))
                return name
            }
            templates[template.key] = task
            return task
        }
        return try await task.value
    }
}
