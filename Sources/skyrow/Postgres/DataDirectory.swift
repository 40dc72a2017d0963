import Glibc

/// Where a service keeps what is its own: keys, the lock, and the embedded PostgreSQL's cluster and log.
struct DataDirectory: Hashable, Sendable {
    /// Absolute, without links.
    let path: String

    var keys: String { "\(path)/keys" }
    var lock: String { "\(path)/lock" }
    var cluster: String { "\(path)/postgres" }
    /// Where a cluster is made before it gets its name, so that one under that name is always complete.
    var unfinishedCluster: String { "\(path)/postgres.unfinished" }
    var log: String { "\(path)/postgres.log" }

    /// Makes the directory, with its parents, unless it exists.
    init(creating path: String) throws(ToolError) {
        var made = path.hasPrefix("/") ? "" : "."
        for component in path.split(separator: "/") {
            made += "/\(component)"
            guard mkdir(made, 0o755) == 0 || errno == EEXIST else { throw .system("Cannot make the directory \(path)") }
        }
        try self.init(existing: path)
    }

    /// Throws ``ToolError`` when there is no such directory.
    init(existing path: String) throws(ToolError) {
        guard let resolved = resolvedPath(path) else { throw .system("Cannot open the data directory \(path)") }
        self.path = resolved
    }

    /// Looks at the cluster and at the processes that live in it.
    func observeCluster(account: ServerAccount, installations: [PostgresInstallation]) -> ClusterObservation {
        var status = stat()
        return ClusterObservation(
            contents: clusterContents,
            isOwn: stat(cluster, &status) == 0 && status.st_uid == account.userID,
            recordedServer: serverRecord.flatMap { $0.first }.flatMap { Int32($0) },
            occupants: Set(
                (contentsOfDirectory("/proc") ?? []).compactMap { Int32($0) }
                    .filter { targetOfLink("/proc/\($0)/cwd") == cluster }
            ),
            installedVersions: installations.map(\.majorVersion)
        )
    }

    private var clusterContents: ClusterObservation.Contents {
        let names = contentsOfDirectory(cluster)
        guard access(cluster, F_OK) == 0, names?.isEmpty != true else { return .nothing }
        let version = contentsOfFile("\(cluster)/PG_VERSION")?.split(separator: "\n").first.flatMap { Int($0) }
        return version.map { .cluster(majorVersion: $0) } ?? .foreign
    }

    /// The lines of `postmaster.pid` (PostgreSQL's `miscadmin.h`): the first is the process id, the eighth the state.
    private var serverRecord: [Substring]? {
        contentsOfFile("\(cluster)/postmaster.pid")?.split(separator: "\n", omittingEmptySubsequences: false)
    }

    /// Whether the server with this process id, or any when it is nil, accepts connections.
    func serverIsReady(_ processID: Int32? = nil) -> Bool {
        guard let record = serverRecord, record.count >= 8 else { return false }
        guard processID == nil || Int32(record[0]) == processID else { return false }
        return record[7].hasPrefix("ready")
    }
}

/// The right to run a service on a data directory, held until the process ends or this value is gone.
///
/// The kernel gives it up with the process (flock(2)), so that nothing is left behind by `kill -9`.
final class DataDirectoryLock: Sendable {
    private let file: FileDescriptor

    private init(file: FileDescriptor) {
        self.file = file
    }

    /// What became of an attempt to take the lock.
    enum Attempt: Sendable {
        case taken(DataDirectoryLock)
        /// Another process holds it; its id where it could be read.
        case held(by: Int32?)
    }

    /// Throws ``ToolError`` when the lock file cannot be written.
    static func take(in directory: DataDirectory) throws(ToolError) -> Attempt {
        let file = try FileDescriptor(opening: directory.lock, O_RDWR | O_CREAT, mode: 0o644)
        guard flock(file.number, LOCK_EX | LOCK_NB) == 0 else {
            guard errno == EWOULDBLOCK else { throw .system("Cannot lock \(directory.lock)") }
            return .held(by: contentsOfFile(directory.lock)?.split(separator: "\n").first.flatMap { Int32($0) })
        }
        ftruncate(file.number, 0)
        try file.write("\(getpid())\n".utf8)
        return .taken(DataDirectoryLock(file: file))
    }
}
