import Foundation

/// A PgBouncer in front of a cluster that hands each transaction another session (`pool_mode = transaction`), reached
/// through a socket of its own.
package struct TemporaryPooler: Sendable {
    private let directory: String
    private let process: pid_t

    /// A connection URI for libpq, with all rights.
    package func url(database: String) -> String {
        "postgresql:///\(database)?host=\(directory)&user=postgres"
    }

    fileprivate init(of cluster: TemporaryCluster) async throws {
        var template = Array("/tmp/skyrow-pgb-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            throw TemporaryClusterError(description: "No directory can be made in /tmp")
        }
        directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let configuration = """
            [databases]
            * = host=\(cluster.directory) port=5432 user=postgres
            [pgbouncer]
            listen_addr =
            unix_socket_dir = \(directory)
            listen_port = 5432
            auth_type = any
            pool_mode = transaction
            default_pool_size = 8
            logfile = \(directory)/log
            """
        try configuration.write(toFile: "\(directory)/ini", atomically: false, encoding: .utf8)
        var command = ["/usr/sbin/pgbouncer", "-q", "\(directory)/ini"]
        if getuid() == 0 {
            // It refuses to be root, as the server does.
            guard let user = getpwnam("postgres"), chown(directory, user.pointee.pw_uid, user.pointee.pw_gid) == 0
            else {
                throw TemporaryClusterError(description: "There is no user postgres to run PgBouncer as")
            }
            command = ["/usr/bin/setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"] + command
        }
        let nowhere = open("/dev/null", O_RDWR | O_CLOEXEC)
        defer { close(nowhere) }
        process = try ChildProcess.spawn(
            command[0],
            Array(command.dropFirst()),
            descriptors: [nowhere, nowhere, nowhere]
        )
        do {
            let socket = "\(directory)/.s.PGSQL.5432"
            try await waiting(until: "PgBouncer listens") { FileManager.default.fileExists(atPath: socket) }
        } catch {
            stop()
            throw error
        }
    }

    fileprivate func stop() {
        kill(process, SIGKILL)
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0 && errno == EINTR {}
        try? FileManager.default.removeItem(atPath: directory)
    }
}

/// Runs `body` with a PgBouncer in front of a cluster.
///
/// ```swift
/// try await withTemporaryPooler(of: database.cluster) { pooler in
///     try await withPostgresClient(pooler.url(database: database.name)) { client in … }
/// }
/// ```
package func withTemporaryPooler<Success>(
    of cluster: TemporaryCluster,
    _ body: (TemporaryPooler) async throws -> Success
) async throws -> Success {
    let pooler = try await TemporaryPooler(of: cluster)
    defer { pooler.stop() }
    return try await body(pooler)
}
