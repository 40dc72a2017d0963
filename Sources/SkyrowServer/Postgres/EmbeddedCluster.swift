import Glibc
import SkyrowSystem

/// The cluster of the embedded PostgreSQL: its making, and the commands that work on it.
struct EmbeddedCluster: Sendable {
    static let database = "skyrow"

    let directory: DataDirectory
    let account: ServerAccount
    let installations: [PostgresInstallation]
    /// The port of 127.0.0.1 for tools that know a password; nil for none.
    let toolPort: Int?

    init(directory: DataDirectory, toolPort: Int? = nil) throws(ToolError) {
        self.directory = directory
        self.toolPort = toolPort
        account = try .current()
        installations = PostgresInstallation.installed()
    }

    /// What to do next so that a server may start; see ``ClusterStep``.
    func nextStep() throws(ToolError) -> ClusterStep {
        let observation = directory.observeCluster(account: account, installations: installations)
        return try .next(after: observation, at: directory.cluster)
    }

    /// Makes the cluster under another name first and renames it, so that an interrupted start leaves nothing half made.
    ///
    /// It is UTF-8 in the locale C.UTF-8, whose order no update of the system's libraries changes, with data checksums.
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
            mode: "--single",
            in: unfinished,
            ["postgres"],
            input: "CREATE DATABASE \(Self.database);\n"
        )
        try await separateRoles(majorVersion: majorVersion, in: unfinished)

        guard rename(unfinished, directory.cluster) == 0 else { throw .system("Cannot rename \(unfinished)") }
        let parent = try FileDescriptor(opening: directory.path, O_RDONLY | O_DIRECTORY)
        guard fsync(parent.number) == 0 else { throw .system("Cannot write \(directory.path)") }
    }

    /// Gives the service its role in a cluster that no server runs on; what was done before an interruption is done again.
    func separateRoles(majorVersion: Int, in path: String? = nil) async throws(ToolError) {
        let path = path ?? directory.cluster
        try await run(
            majorVersion,
            "postgres",
            mode: "--single",
            in: path,
            ["-j", "-c", "exit_on_error=on", Self.database],
            input: ClusterRole.script
        )
        let marker = try FileDescriptor(
            opening: "\(path)/\(ClusterRole.marker)",
            O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW,
            mode: 0o644
        )
        try marker.write(ClusterRole.markerText.utf8)
        guard fsync(marker.number) == 0 else { throw .system("Cannot write \(path)") }
    }

    /// Starts the server; it accepts connections a moment later.
    func startServer(majorVersion: Int) async throws(ToolError) -> ChildProcess {
        try limitLocalAccess()
        var listening = ["-c", "listen_addresses=", "-c", "port=\(DatabaseAddress.defaultPort)"]
        if let toolPort {
            try writeHostRules()
            listening = [
                "-c", "listen_addresses=127.0.0.1", "-c", "port=\(toolPort)",
                // The server works in its directory.
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
                // Here and not in postgresql.conf, so that clusters of older versions have it too.
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
        mode: String? = nil,
        in path: String,
        _ arguments: [String],
        input: String? = nil
    ) async throws(ToolError) {
        let logLength = Self.length(of: directory.log)
        // The room that there was: what fails gives back what it took, and its log may have had none.
        let room = availableBytes(at: directory.path)
        let status = try await launch(majorVersion, program, mode: mode, in: path, arguments, input: input).exit
        guard status == .exited(0) else {
            let advice = Self.advice(room: room, log: logText(from: logLength), at: directory.path)
            throw .failure("\(program) failed with \(status). \(advice)\(logExcerpt(from: logLength))")
        }
    }

    private func availableBytes(at path: String) -> Int? {
        var status = statvfs()
        return statvfs(path, &status) == 0 ? Int(clamping: UInt64(status.f_bavail) * UInt64(status.f_frsize)) : nil
    }

    /// What a new cluster takes at least.
    private static let clusterBytes = 64 << 20

    /// Says where a disk is full; empty where it is not.
    static func advice(room: Int?, log: String, at path: String) -> String {
        let isNamed = log.contains(String(cString: strerror(ENOSPC))) || log.contains(String(cString: strerror(EDQUOT)))
        guard isNamed || room.map({ $0 < clusterBytes }) == true else { return "" }
        let room = room.map { " (\($0 >> 20) MB were free)" } ?? ""
        return """
            The disk of \(path) is full\(room), and a new cluster takes \(clusterBytes >> 20) MB: make room, or give another \
            --data-directory. \

            """
    }

    /// As the account `postgres` the command names the cluster's directory by descriptor 3, which it inherits: it need not
    /// be able to enter the directories above, such as root's home.
    private func launch(
        _ majorVersion: Int,
        _ program: String,
        mode: String? = nil,
        in path: String,
        _ arguments: [String],
        input: String? = nil
    ) async throws(ToolError) -> ChildProcess {
        guard let binaries = installations.first(where: { $0.majorVersion == majorVersion })?.binaries else {
            throw .failure("PostgreSQL \(majorVersion) is not installed.")
        }
        let log = try FileDescriptor(opening: directory.log, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW)
        let folder = try FileDescriptor(opening: path, O_RDONLY | O_DIRECTORY)
        let place = account == .oneself ? path : "/proc/self/fd/3"
        // `postgres` takes --single before everything else.
        let words = account.commandPrefix + ["\(binaries)/\(program)"] + (mode.map { [$0] } ?? []) + ["-D", place]
        var command = Command(
            words + arguments,
            environment: ["PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8", "TZ": "UTC"],
            descriptors: [try Self.input(input), log, log, folder]
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

    /// Begins a new log, keeping one old one, when it has grown beyond 16 MB.
    func rotateLog() {
        if Self.length(of: directory.log) > 16 << 20 { _ = rename(directory.log, "\(directory.log).1") }
    }

    /// What was logged since it had this length, for a sentence: its last lines.
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

/// Who may connect to the embedded PostgreSQL where it has a port.
enum HostRules {
    /// Beside `pg_hba.conf`, whose rules for TCP would let in every user of the machine.
    static let file = "skyrow_hba.conf"

    /// The rules for sockets of a `pg_hba.conf`, and those for the port: the tables, for roles with a password.
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

/// How to reach the embedded PostgreSQL.
struct DatabaseAddress: Hashable, Sendable {
    /// What the socket is called after, where no port is served.
    static let defaultPort = 5432

    /// The directory of the socket.
    var socketDirectory: String
    var port: Int

    /// The address of a cluster; `folder` is an open descriptor of its directory, which a path too long for a socket is
    /// named by. A socket's address holds 107 bytes (unix(7)).
    init(cluster: String, folder: Int32, port: Int = DatabaseAddress.defaultPort) {
        self.port = port
        let isShort = "\(cluster)/.s.PGSQL.\(port)".utf8.count <= 107
        socketDirectory = isShort ? cluster : "/proc/self/fd/\(folder)"
    }

    /// A libpq connection string; values are quoted as libpq's manual says (34.1.1.1).
    func connection(as role: ClusterRole = .service) -> String {
        let host = socketDirectory.map { $0 == "'" || $0 == "\\" ? "\\\($0)" : "\($0)" }.joined()
        return "host='\(host)' port=\(port) user=\(role.rawValue) dbname=\(EmbeddedCluster.database)"
    }
}
