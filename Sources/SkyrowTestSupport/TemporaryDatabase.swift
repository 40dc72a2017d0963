import Foundation
import Synchronization

/// A database that is prepared once per cluster, under a key, and then copied for each test.
///
/// ```swift
/// let migrated = DatabaseTemplate(key: "migrated") { url in try await Migrator(url).run() }
/// ```
package struct DatabaseTemplate: Sendable {
    let key: String
    let prepare: @Sendable (_ url: String) async throws -> Void

    /// `prepare` must have closed its connections when it returns, since PostgreSQL copies a quiet database only.
    package init(key: String, prepare: @escaping @Sendable (_ url: String) async throws -> Void) {
        self.key = key
        self.prepare = prepare
    }
}

/// A database of a test's own.
package struct TemporaryDatabase: Sendable {
    package let cluster: TemporaryCluster
    package let name: String

    package init(cluster: TemporaryCluster, name: String) {
        self.cluster = cluster
        self.name = name
    }

    /// A connection URI for libpq, with all rights.
    package var url: String { cluster.url(database: name) }

    /// Runs statements beside the code under test (``TemporaryCluster/psql(_:database:)``); returns the rows, a line each, columns separated by `|`.
    @discardableResult
    package func psql(_ statements: String) async throws -> String {
        try await cluster.psql(statements, database: name)
    }

    /// How many rows its sessions have read since it was made, which ends them: only then PostgreSQL has all of the count.
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

    /// What the sessions of this database send while `body` runs, on the cluster ``TemporaryCluster/logging()``: the lines of PostgreSQL's log
    /// with which statements begin.
    package func statements(during body: () async throws -> Void) async throws -> [String] {
        let log = try FileHandle(forReadingFrom: URL(fileURLWithPath: cluster.logPath))
        defer { try? log.close() }
        try log.seekToEnd()
        try await body()
        // A statement is in the log before it is run.
        let lines = String(decoding: try log.readToEnd() ?? Data(), as: UTF8.self).split(separator: "\n").map(
            String.init
        )
        return lines.filter { $0.contains("] \(name) ") && $0.contains("LOG:  ") }
    }

    /// How many sessions of this database wait for a lock; the cluster's other databases belong to other tests.
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

    /// How many locks of this database fulfil a condition on `pg_locks`.
    ///
    /// Copies of one template have the same OIDs, so that the name of a table alone finds locks of other tests too.
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

/// Makes a database for one test, empty or a copy of a template, and drops it afterwards.
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

/// The same, for tests that also look at the database with psql.
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
            // The body's error matters more than whether the database is dropped; the cluster ends with the process.
            _ = try? await cluster.drop(database: name)
            throw error
        }
    }
}

/// Each has up to about 20 connections of the server's 300.
private let openDatabases = OpenDatabaseLimit(10)

extension TemporaryCluster {
    /// Copies the files of a database; to write its pages to the log of PostgreSQL, as is usual from PostgreSQL 15 on, takes twice the
    /// processor time.
    fileprivate func copy(database source: String, to name: String) async throws {
        let strategy = version >= 15 ? "STRATEGY file_copy" : ""
        try await administrate("CREATE DATABASE \(name) TEMPLATE \(source) \(strategy)")
    }

    /// Drops a database once the server has ended the streams of its changes, which it does a moment after their clients have gone.
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

    /// The name of the template's database, made by the first who asks.
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
