import Foundation

/// A PgBouncer in front of a cluster that assigns a session per transaction (`pool_mode = transaction`), with its own socket.
package struct TemporaryPooler: Sendable {
    private let directory: String
    private let process: pid_t

    /// Returns a libpq connection URI with superuser rights.
    package func url(database: String) -> String {
        "postgresql:///\(database)?host=\(directory)&user=postgres"
    }

    fileprivate init(of cluster: TemporaryCluster) async throws {
        directory = try TemporaryDirectory.make(named: "pgb")
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
        // PgBouncer refuses to run as root, as the server does.
        try PostgresInstallation.giveAway(directory)
        process = try Program.start(
            PostgresInstallation.unprivileged(["/usr/sbin/pgbouncer", "-q", "\(directory)/ini"])
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
        Program.end(process)
        try? FileManager.default.removeItem(atPath: directory)
    }
}

/// A pooler in front of a cluster that renames prepared statements, as PgBouncer 1.21 and later do with
/// `max_prepared_statements`. Each client has its own session, but the pooler hides that.
package final class RenamingPooler: Sendable {
    private let directory: String
    private let cluster: String
    private let listener: Int32

    package func url(database: String) -> String {
        "postgresql:///\(database)?host=\(directory)&user=postgres"
    }

    fileprivate init(of cluster: TemporaryCluster) throws {
        directory = try TemporaryDirectory.make(named: "pgb")
        self.cluster = cluster.directory
        listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        let isBound = Self.withAddress(of: directory) { bind(listener, $0, $1) }
        guard isBound == 0, listen(listener, 64) == 0 else {
            throw TemporaryClusterError(description: "No socket can be made in \(directory)")
        }
        Thread.detachNewThread { [self] in
            while true {
                let client = accept(listener, nil, nil)
                guard client >= 0 else { return }
                let server = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
                guard Self.withAddress(of: self.cluster, { connect(server, $0, $1) }) == 0 else {
                    close(client)
                    close(server)
                    continue
                }
                Thread.detachNewThread { Self.pass(from: client, to: server, startsBare: true, Self.renaming) }
                Thread.detachNewThread { Self.pass(from: server, to: client, startsBare: false, Self.hidingProcess) }
            }
        }
    }

    fileprivate func stop() {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
        try? FileManager.default.removeItem(atPath: directory)
    }

    private static func withAddress(of directory: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32)
        -> Int32
    {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: "\(directory)/.s.PGSQL.5432".utf8) }
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }

    /// Forwards messages until either side ends.
    private static func pass(
        from source: Int32,
        to target: Int32,
        startsBare: Bool,
        _ change: (UInt8, [UInt8]) -> [UInt8]
    ) {
        defer {
            shutdown(source, Int32(SHUT_RDWR))
            shutdown(target, Int32(SHUT_RDWR))
        }
        // A client's first message has no type.
        var isBare = startsBare
        while let type = isBare ? 0 : read(1, from: source)?[0] {
            guard let length = read(4, from: source) else { return }
            let count = length.reduce(0) { $0 << 8 | Int($1) }
            guard let content = read(count - 4, from: source) else { return }
            let changed = isBare ? content : change(type, content)
            let size = changed.count + 4
            let head = (isBare ? [] : [type]) + (0..<4).reversed().map { UInt8(size >> (8 * $0) & 255) }
            isBare = false
            guard write(head + changed, to: target) else { return }
        }
    }

    private static func read(_ count: Int, from source: Int32) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        var filled = 0
        while filled < count {
            let got = bytes.withUnsafeMutableBytes { recv(source, $0.baseAddress! + filled, count - filled, 0) }
            guard got > 0 else { return nil }
            filled += got
        }
        return bytes
    }

    private static func write(_ bytes: [UInt8], to target: Int32) -> Bool {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes {
                send(target, $0.baseAddress! + sent, bytes.count - sent, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            sent += count
        }
        return true
    }

    /// Renames the statement in Parse, Bind, and Describe and Close of a statement.
    private static func renaming(_ type: UInt8, _ content: [UInt8]) -> [UInt8] {
        let start: Int
        switch type {
        case UInt8(ascii: "P"): start = 0
        case UInt8(ascii: "B"): start = (content.firstIndex(of: 0) ?? 0) + 1
        case UInt8(ascii: "D"), UInt8(ascii: "C"):
            guard content.first == UInt8(ascii: "S") else { return content }
            start = 1
        default: return content
        }
        guard start < content.count, content[start] != 0 else { return content }
        return content[..<start] + Array("POOLED_".utf8) + content[start...]
    }

    /// Changes the process id of the cancellation key.
    private static func hidingProcess(_ type: UInt8, _ content: [UInt8]) -> [UInt8] {
        guard type == UInt8(ascii: "K") else { return content }
        return [255] + content.dropFirst()
    }
}

/// Runs `body` with a pooler in front of a cluster that renames prepared statements.
package func withRenamingPooler<Success>(
    of cluster: TemporaryCluster,
    _ body: (RenamingPooler) async throws -> Success
) async throws -> Success {
    let pooler = try RenamingPooler(of: cluster)
    defer { pooler.stop() }
    return try await body(pooler)
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
