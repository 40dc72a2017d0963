import Foundation
import Synchronization

/// A temporary PostgreSQL server with a fresh data directory, reachable only through a socket in it.
///
/// ```swift
/// let cluster = try await TemporaryCluster.shared()                                  // one per test process
/// let own = try await TemporaryCluster.start(settings: ["autovacuum": "off"])       // for faults and settings
/// ```
///
/// A watchdog kills the server and removes the directory when the process ends in any way.
package final class TemporaryCluster: Sendable {
    /// The directory of the data, the socket and the log.
    package let directory: String
    let installation: PostgresInstallation
    private let settings: [String: String]
    private let watchdog: ClusterWatchdog
    let templates = Mutex<[String: Task<String, any Error>]>([:])
    private let idle = IdleSessions()
    private let databaseCount = Atomic<Int>(0)

    private static let sharedCluster = Task { try await start() }

    /// Returns the cluster shared by the tests of this process, started by the first call.
    package static func shared() async throws -> TemporaryCluster {
        try await sharedCluster.value
    }

    private static let streamingCluster = Task { try await start() }

    /// Returns the cluster of tests that stream changes.
    ///
    /// Creating a replication slot waits three times for all transactions that are writing at that time, and other
    /// tests keep such transactions open.
    package static func streaming() async throws -> TemporaryCluster {
        try await streamingCluster.value
    }

    private static let loggingCluster = Task { try await start(settings: ["log_statement": "all"]) }

    /// Returns the cluster whose log has all statements (``TemporaryDatabase/statements(during:)``).
    package static func logging() async throws -> TemporaryCluster {
        try await loggingCluster.value
    }

    private static let prototype = Task {
        let prototype = try await make(settings: [:])
        try await prototype.initialise()
        return prototype
    }

    /// The system identifier by which PostgreSQL distinguishes clusters.
    package enum Identity: Sendable {
        /// The identifier of this process's other clusters, whose data directories are copies of one.
        case common
        /// A unique identifier.
        case own
    }

    /// Starts a cluster for one test. `settings` are added to `postgresql.conf`, such as `["shared_preload_libraries":
    /// "pg_stat_statements"]`.
    package static func start(
        settings: [String: String] = [:],
        identity: Identity = .common
    ) async throws -> TemporaryCluster {
        let cluster = try await make(settings: settings)
        switch identity {
        case .common:
            let prototype = try await Self.prototype.value
            try await Program.run(["/bin/cp", "-a", prototype.dataDirectory, cluster.dataDirectory])
        case .own:
            try await cluster.initialise()
        }
        try cluster.configure()
        try await cluster.launch()
        return cluster
    }

    /// Makes a cluster without data.
    private static func make(settings: [String: String]) async throws -> TemporaryCluster {
        let installation = try await PostgresInstallation.find()
        let directory = try TemporaryDirectory.make(named: "pg")
        try PostgresInstallation.giveAway(directory)
        let watchdog = try ClusterWatchdog(directory: directory)
        return TemporaryCluster(
            directory: directory,
            installation: installation,
            settings: settings,
            watchdog: watchdog
        )
    }

    private init(
        directory: String,
        installation: PostgresInstallation,
        settings: [String: String],
        watchdog: ClusterWatchdog
    ) {
        self.directory = directory
        self.installation = installation
        self.settings = settings
        self.watchdog = watchdog
    }

    private var dataDirectory: String { "\(directory)/data" }

    /// The server's log.
    package var logPath: String { "\(directory)/log" }

    /// Returns a libpq connection URI with superuser rights.
    package func url(database: String = "postgres") -> String {
        "postgresql:///\(database)?host=\(directory)&user=postgres"
    }

    /// Runs a test's statements independently of the code under test. Returns the rows as psql prints them, a line
    /// each, with columns separated by `|`.
    ///
    /// psql itself runs scripts with psql commands.
    @discardableResult
    package func psql(_ script: String, database: String = "postgres") async throws -> String {
        let url = self.url(database: database)
        guard let statements = SQLScript.statements(of: script) else { return try await psql(script, url: url) }
        return try await ScriptSession.run(statements, url: url).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Creates or drops a database.
    func administrate(_ statement: String) async throws {
        _ = try await ScriptSession.run([statement], url: url(), keptIn: idle)
    }

    /// Runs statements with psql on a given address of the server.
    package func psql(_ statements: String, url: String) async throws -> String {
        let arguments = ["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", url, "-f", "-"]
        return try await installation.run("psql", arguments, input: statements)
            .trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Kills every process of the server like a power cut (SIGKILL), and waits until all are gone.
    package func kill() async throws {
        guard let postmaster = postmasterID else { return }
        // The parent is killed first, so it can neither restart its children nor shut them down.
        let processes = [postmaster] + Self.children(of: postmaster)
        for process in processes { _ = Foundation.kill(process, SIGKILL) }
        let dataDirectory = dataDirectory
        try await waiting(until: "the killed server's processes are gone") {
            !processes.contains { Self.isRunning($0, in: dataDirectory) }
        }
        // A dead postmaster may not be reaped (by a container's first process, for instance). The next one would then
        // see its id as alive and respect its lock files.
        for lockFile in ["\(dataDirectory)/postmaster.pid", "\(directory)/.s.PGSQL.5432.lock"] {
            try FileManager.default.removeItem(atPath: lockFile)
        }
    }

    /// Stops the server in an orderly way, or with `immediate` like a crash that the next start recovers from.
    package func stop(mode: String = "fast") async throws {
        try await installation.run("pg_ctl", ["-D", dataDirectory, "-m", mode, "-w", "-t", "600", "stop"])
    }

    /// Starts a killed or stopped server, and returns when it accepts connections.
    package func launch() async throws {
        do {
            try await installation.run(
                "pg_ctl",
                ["-D", dataDirectory, "-l", logPath, "-w", "-t", "600", "-s", "start"]
            )
        } catch {
            let log = (try? String(contentsOfFile: logPath, encoding: .utf8)) ?? ""
            throw TemporaryClusterError(
                description: "The temporary cluster did not start: \(error)\n\(log.suffix(4000))"
            )
        }
    }

    /// Kills the server and restarts it.
    package func restart() async throws {
        try await kill()
        try await launch()
    }

    /// The way the data directory is copied.
    package enum DataCopy: Sendable {
        /// With the server stopped and then restarted.
        case cold
        /// With the server running, like a disk snapshot.
        case running
    }

    /// Copies the data directory for ``putBack()``.
    package func copyData(_ kind: DataCopy) async throws {
        switch kind {
        case .cold:
            try await stop()
            try await Program.run(["/bin/cp", "-a", dataDirectory, copyDirectory])
            try await launch()
        case .running:
            let arguments = ["-D", copyDirectory, "-h", directory, "-U", "postgres", "-c", "fast", "--no-sync"]
            try await installation.run("pg_basebackup", arguments)
        }
    }

    /// Stops the server, replaces the data directory with the copy, and starts the server.
    package func putBack() async throws {
        try await stop()
        try await Program.run(["/bin/rm", "-rf", dataDirectory])
        try await Program.run(["/bin/mv", copyDirectory, dataDirectory])
        try await launch()
    }

    /// Returns the `pg_dump` text of schemas.
    package func dump(schemas: [String], of database: String) async throws -> String {
        try await installation.run("pg_dump", schemas.flatMap { ["-n", $0] } + [url(database: database)])
    }

    private var copyDirectory: String { "\(directory)/copy" }

    /// The server's major version.
    var version: Int {
        let version = try? String(contentsOfFile: "\(dataDirectory)/PG_VERSION", encoding: .utf8)
        return version.flatMap { Int($0.trimmingCharacters(in: .whitespacesAndNewlines)) } ?? 0
    }

    /// Returns a unique database name.
    func freshName(for test: String) -> String {
        let number = databaseCount.add(1, ordering: .relaxed).newValue
        let readable = test.prefix { $0 != "(" }.lowercased().filter { $0.isASCII && ($0.isLetter || $0.isNumber) }
        return "t\(number)_\(readable.prefix(40))"
    }

    private func initialise() async throws {
        try await installation.run(
            "initdb",
            [
                "-D", dataDirectory, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync",
                "--no-instructions",
            ]
        )
    }

    private func configure() throws {
        var configuration = [
            "listen_addresses": "",
            "unix_socket_directories": directory,
            "fsync": "off",
            "full_page_writes": "off",
            "max_connections": "300",
            "shared_buffers": "64MB",
            "max_wal_size": "512MB",
            "timezone": "UTC",
            "log_line_prefix": "%m [%p] %q%d %a ",
            "max_prepared_transactions": "8",
            // The embedded PostgreSQL and the compose files have these settings.
            "wal_level": "logical",
            "max_replication_slots": "20",
            "max_wal_senders": "20",
            // The service disables JIT in its sessions: compiling the catalogue query takes as long as the statement timeout.
            "jit": "off",
        ]
        configuration.merge(settings) { _, own in own }
        let lines = configuration.map { "\($0.key) = '\($0.value.replacingOccurrences(of: "'", with: "''"))'" }
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: "\(dataDirectory)/postgresql.conf"))
        try file.seekToEnd()
        try file.write(contentsOf: Data(("\n" + lines.sorted().joined(separator: "\n") + "\n").utf8))
        try file.close()
    }

    var postmasterID: pid_t? {
        let lines = try? String(contentsOfFile: "\(dataDirectory)/postmaster.pid", encoding: .utf8)
        return lines?.split(separator: "\n").first.flatMap { pid_t($0) }
    }

    static func children(of parent: pid_t) -> [pid_t] {
        let list = try? String(contentsOfFile: "/proc/\(parent)/task/\(parent)/children", encoding: .utf8)
        return list?.split(separator: " ").compactMap { pid_t($0) } ?? []
    }

    /// Returns whether a process with this id still has the data directory as its working directory.
    private static func isRunning(_ process: pid_t, in dataDirectory: String) -> Bool {
        let workingDirectory = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(process)/cwd")
        return workingDirectory == dataDirectory
    }
}
