import Glibc
import SkyrowSystem

/// The embedded PostgreSQL's cluster: its creation, and the programs that work on it.
struct EmbeddedCluster: Sendable {
    static let database = "skyrow"

    let directory: DataDirectory
    let account: ServerAccount
    let installations: [PostgresInstallation]
    /// The port on 127.0.0.1 for tools with a password; nil for none.
    let toolPort: Int?

    init(directory: DataDirectory, toolPort: Int? = nil) throws(ToolError) {
        self.directory = directory
        self.toolPort = toolPort
        account = try .current()
        installations = PostgresInstallation.installed()
    }

    /// Returns the next step towards starting a server; see ``ClusterStep``.
    func nextStep() throws(ToolError) -> ClusterStep {
        let observation = directory.observeCluster(account: account, installations: installations)
        return try .next(after: observation, at: directory.cluster)
    }

    /// Makes the cluster under a temporary name and renames it, so an interrupted start never leaves an incomplete cluster.
    ///
    /// It is UTF-8 with data checksums, in the locale C.UTF-8, whose order does not change with the system's libraries.
    func initialize(majorVersion: Int) async throws(ToolError) {
        let unfinished = directory.unfinishedCluster
        try removeTree(unfinished)
        try account.makePrivateDirectory(unfinished)
        try await run(
            majorVersion,
            "initdb",
            in: unfinished,
            [
                "--username=\(ClusterRole.administrator.rawValue)", "--encoding=UTF8", "--locale=C.UTF-8",
                "--data-checksums", "--auth=trust",
                "--no-instructions",
            ]
        )
        let configuration = try FileDescriptor(opening: "\(unfinished)/postgresql.conf", O_WRONLY | O_APPEND)
        try configuration.write(ClusterSettings.ofThisMachine.text.utf8)
        guard fsync(configuration.number) == 0 else { throw .system("Cannot write postgresql.conf") }
        try await run(
            majorVersion,
            "postgres",
            in: unfinished,
            ["postgres"],
            statements: "CREATE DATABASE \(Self.database);\n"
        )
        try await separateRoles(majorVersion: majorVersion, in: unfinished)

        guard rename(unfinished, directory.cluster) == 0 else { throw .system("Cannot rename \(unfinished)") }
        let parent = try FileDescriptor(opening: directory.path, O_RDONLY | O_DIRECTORY)
        guard fsync(parent.number) == 0 else { throw .system("Cannot write \(directory.path)") }
    }

    /// Makes the service's role in a cluster without a running server. After an interruption it starts over.
    func separateRoles(majorVersion: Int, in path: String? = nil) async throws(ToolError) {
        let path = path ?? directory.cluster
        try await run(
            majorVersion,
            "postgres",
            in: path,
            ["-j", "-c", "exit_on_error=on", Self.database],
            statements: ClusterRole.script
        )
        let marker = try FileDescriptor(
            opening: "\(path)/\(ClusterRole.marker)",
            O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW,
            mode: 0o644
        )
        try marker.write(ClusterRole.markerText.utf8)
        guard fsync(marker.number) == 0 else { throw .system("Cannot write \(path)") }
    }

    /// Starts the server, and returns before it accepts connections.
    func startServer(majorVersion: Int) async throws(ToolError) -> ChildProcess {
        try limitLocalAccess()
        var listening = ["-c", "listen_addresses=", "-c", "port=\(DatabaseAddress.defaultPort)"]
        if let toolPort {
            try writeHostRules()
            listening = [
                "-c", "listen_addresses=127.0.0.1", "-c", "port=\(toolPort)",
                // The server's working directory is the cluster.
                "-c", "hba_file=/proc/self/cwd/\(HostRules.file)",
            ]
        }
        return try await launch(
            majorVersion,
            "postgres",
            in: directory.cluster,
            listening + [
                "-c", "unix_socket_directories=.",
                "-c", "unix_socket_permissions=0700", "-c", "logging_collector=off", "-c", "log_destination=stderr",
                // Set here instead of in postgresql.conf, to cover clusters of older versions.
                "-c", "wal_level=logical", "-c", "max_replication_slots=20", "-c", "max_wal_senders=20",
            ]
        )
    }

    private func writeHostRules() throws(ToolError) {
        let path = "\(directory.cluster)/\(HostRules.file)"
        guard let own = contentsOfFile("\(directory.cluster)/pg_hba.conf") else {
            throw .system("Cannot read pg_hba.conf")
        }
        let file = try FileDescriptor(opening: path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, mode: 0o644)
        try file.write(HostRules.text(localRulesOf: own).utf8)
    }

    private func run(
        _ majorVersion: Int,
        _ program: String,
        in path: String,
        _ arguments: [String],
        statements: String? = nil
    ) async throws(ToolError) {
        let logLength = Self.length(of: directory.log)
        // The free space before the run: a failed program frees its files, and its log may have had no space.
        let room = availableBytes(at: directory.path)
        let status = try await launch(majorVersion, program, in: path, arguments, statements: statements).exit
        guard status == .exited(0) else {
            let advice = Self.advice(room: room, log: logText(from: logLength), at: directory.path)
            throw .failure("\(program) failed with \(status). \(advice)\(logExcerpt(from: logLength))")
        }
    }

    private func availableBytes(at path: String) -> Int? {
        var status = statvfs()
        return statvfs(path, &status) == 0 ? Int(clamping: UInt64(status.f_bavail) * UInt64(status.f_frsize)) : nil
    }

    /// The minimum size of a new cluster.
    private static let clusterBytes = 64 << 20

    /// Returns a message about a full disk; empty if it is not full.
    static func advice(room: Int?, log: String, at path: String) -> String {
        let isNamed = log.contains(String(cString: strerror(ENOSPC))) || log.contains(String(cString: strerror(EDQUOT)))
        guard isNamed || room.map({ $0 < clusterBytes }) == true else { return "" }
        let room = room.map { " (\($0 >> 20) MB were free)" } ?? ""
        return """
            The disk of \(path) is full\(room), and a new cluster needs \(clusterBytes >> 20) MB: free space, or set another \
            --data-directory. \

            """
    }

    /// Runs a program on a cluster. For the account `postgres`, the directory is named by the inherited descriptor 3,
    /// so the account needs no access to the parent directories, such as root's home.
    ///
    /// - Parameter statements: the input of `postgres`, which executes it without a server.
    private func launch(
        _ majorVersion: Int,
        _ program: String,
        in path: String,
        _ arguments: [String],
        statements: String? = nil
    ) async throws(ToolError) -> ChildProcess {
        guard let binaries = installations.first(where: { $0.majorVersion == majorVersion })?.binaries else {
            throw .failure("PostgreSQL \(majorVersion) is not installed.")
        }
        let log = try FileDescriptor(opening: directory.log, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW)
        let folder = try FileDescriptor(opening: path, O_RDONLY | O_DIRECTORY)
        let place = account == .oneself ? path : "/proc/self/fd/3"
        // `postgres` requires --single as its first argument.
        let mode = statements == nil ? [] : ["--single"]
        let words = account.commandPrefix + ["\(binaries)/\(program)"] + mode + ["-D", place]
        var command = Command(
            words + arguments,
            environment: ["PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8", "TZ": "UTC"],
            descriptors: [try Self.input(statements), log, log, folder]
        )
        command.leavesProcessGroup = true
        return try await ChildProcess.launch(command)
    }

    private static func input(_ text: String?) throws(ToolError) -> FileDescriptor {
        guard let text else { return try FileDescriptor(opening: "/dev/null", O_RDONLY) }
        let (reading, writing) = try FileDescriptor.pipe()
        try writing.write(text.utf8)
        return reading
    }

    // MARK: - The log

    /// Starts a new log file if the current one exceeds 16 MB, and keeps one old file.
    func rotateLog() {
        if Self.length(of: directory.log) > 16 << 20 { _ = rename(directory.log, "\(directory.log).1") }
    }

    /// Returns a message with the last lines logged after the given file length.
    func logExcerpt(from offset: Int) -> String {
        let lines = logText(from: offset).split(separator: "\n").suffix(3)
        return lines.isEmpty ? "See \(directory.log)." : "\(directory.log) ends with:\n\(lines.joined(separator: "\n"))"
    }

    private func logText(from offset: Int) -> String {
        contentsOfFile(directory.log).map { String(decoding: $0.utf8.dropFirst(offset), as: UTF8.self) } ?? ""
    }

    var logLength: Int { Self.length(of: directory.log) }

    private static func length(of path: String) -> Int {
        var status = stat()
        return stat(path, &status) == 0 ? Int(status.st_size) : 0
    }
}

/// The host-based authentication rules of an embedded PostgreSQL with a port.
enum HostRules {
    /// A file beside `pg_hba.conf`, whose TCP rules would admit every user of the machine.
    static let file = "skyrow_hba.conf"

    /// Returns the socket rules of a `pg_hba.conf`, followed by rules for the port: roles with a password may use the database.
    static func text(localRulesOf rules: String) -> String {
        let local = rules.split(separator: "\n").filter { $0.drop { $0 == " " || $0 == "\t" }.hasPrefix("local") }
        return """
            # Written by skyrow at each start with --embedded-port; the local rules are those of pg_hba.conf.
            \(local.joined(separator: "\n"))
            host all \(ClusterRole.administrator.rawValue),\(ClusterRole.replication.rawValue) 127.0.0.1/32 reject
            host \(EmbeddedCluster.database) all 127.0.0.1/32 scram-sha-256

            """
    }
}

/// The address of the embedded PostgreSQL.
struct DatabaseAddress: Hashable, Sendable {
    /// The port that names the socket without TCP.
    static let defaultPort = 5432

    var socketDirectory: String
    var port: Int

    /// Makes the address of a cluster. If its path is too long for a socket address of 107 bytes (unix(7)), the address
    /// uses `folder`, an open descriptor of the directory.
    init(cluster: String, folder: Int32, port: Int = DatabaseAddress.defaultPort) {
        self.port = port
        let isShort = "\(cluster)/.s.PGSQL.\(port)".utf8.count <= 107
        socketDirectory = isShort ? cluster : "/proc/self/fd/\(folder)"
    }

    /// Returns a libpq connection string, with values quoted by libpq's rules (its manual, 34.1.1.1).
    func connection(as role: ClusterRole = .service) -> String {
        let host = socketDirectory.map { $0 == "'" || $0 == "\\" ? "\\\($0)" : "\($0)" }.joined()
        return "host='\(host)' port=\(port) user=\(role.rawValue) dbname=\(EmbeddedCluster.database)"
    }
}
