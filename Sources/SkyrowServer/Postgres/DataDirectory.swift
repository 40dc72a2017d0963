import Glibc
package import SkyrowSystem

/// The private directory of a service: keys, the lock, and the embedded PostgreSQL's cluster and log.
package struct DataDirectory: Hashable, Sendable {
    /// The absolute path without symbolic links.
    package let path: String

    package var keys: String { "\(path)/keys" }
    package var lock: String { "\(path)/lock" }
    package var cluster: String { "\(path)/postgres" }
    /// The temporary path of a cluster that is being made. A cluster at the final path is always complete.
    var unfinishedCluster: String { "\(path)/postgres.unfinished" }
    package var log: String { "\(path)/postgres.log" }

    /// Makes the directory and its parents, unless it exists.
    package init(creating path: String) throws(ToolError) {
        try makeDirectory(path)
        try self.init(existing: path)
        try makePrivate()
    }

    /// Denies access to other users, who could read keys and data, or take the lock. This includes directories made by
    /// hand or by earlier versions.
    private func makePrivate() throws(ToolError) {
        let folder = try FileDescriptor(opening: path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
        var status = stat()
        guard fstat(folder.number, &status) == 0 else { throw .system("Cannot inspect the data directory \(path)") }
        guard status.st_mode & 0o077 != 0 else { return }
        // Directories with other uses, such as /tmp or a home, are left alone.
        let isOwn = contents.isEmpty || !contents.isDisjoint(with: DataDirectory.names)
        guard isOwn, status.st_mode & S_ISVTX == 0 else {
            throw .failure(
                "The data directory \(path) contains other files and is accessible to other users: use a separate directory."
            )
        }
        guard fchmod(folder.number, 0o700) != 0 else { return }
        // The directory may be a volume of another user, shared with this user's group. The administrator decides about that.
        guard status.st_mode & 0o007 == 0 else {
            throw .failure(
                "The data directory \(path) belongs to another user and is accessible to all users: run 'chmod 700' on it."
            )
        }
    }

    private static let names: Set = ["keys", "keys.new", "lock", "postgres"]

    private var contents: Set<String> { Set(contentsOfDirectory(path) ?? []) }

    /// Throws ``ToolError`` if the directory does not exist.
    package init(existing path: String) throws(ToolError) {
        guard let resolved = resolvedPath(path) else { throw .system("Cannot open the data directory \(path)") }
        self.path = resolved
    }

    /// Observes the cluster and its processes.
    func observeCluster(account: ServerAccount, installations: [PostgresInstallation]) -> ClusterObservation {
        var status = stat()
        return ClusterObservation(
            contents: clusterContents,
            hasServiceRole: contentsOfFile("\(cluster)/\(ClusterRole.marker)") == ClusterRole.markerText,
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

    /// The running server's port, which names its socket, and whether it listens there for tools.
    var serverPort: (number: Int, isForTools: Bool)? {
        guard let record = serverRecord, record.count >= 6, let number = Int(record[3]) else { return nil }
        return (number, !record[5].isEmpty)
    }

    /// The file with the password for the tools' port.
    var toolPassword: String { "\(path)/postgres-password" }

    /// Returns whether the server with this process id, or any server for nil, accepts connections.
    func serverIsReady(_ processID: Int32? = nil) -> Bool {
        guard let record = serverRecord, record.count >= 8 else { return false }
        guard processID == nil || Int32(record[0]) == processID else { return false }
        return record[7].hasPrefix("ready")
    }
}

/// The lock that allows one service per data directory, held until the process ends or this value is released.
///
/// The kernel releases it with the process (flock(2)), even after `kill -9`.
final class DataDirectoryLock: Sendable {
    private let file: FileDescriptor

    private init(file: FileDescriptor) {
        self.file = file
    }

    /// The result of an attempt to take the lock.
    enum Attempt: Sendable {
        case taken(DataDirectoryLock)
        /// Another process holds it; its id, if readable.
        case held(by: Int32?)
    }

    /// Throws ``ToolError`` if the lock file cannot be written.
    static func take(in directory: DataDirectory) throws(ToolError) -> Attempt {
        let file = try FileDescriptor(opening: directory.lock, O_RDWR | O_CREAT | O_NOFOLLOW, mode: 0o600)
        // A readable file can be locked, and earlier versions made it readable. This fails only for another user's file.
        _ = fchmod(file.number, 0o600)
        guard flock(file.number, LOCK_EX | LOCK_NB) == 0 else {
            guard errno == EWOULDBLOCK else { throw .system("Cannot lock \(directory.lock)") }
            return .held(by: contentsOfFile(directory.lock)?.split(separator: "\n").first.flatMap { Int32($0) })
        }
        ftruncate(file.number, 0)
        try file.write("\(getpid())\n".utf8)
        return .taken(DataDirectoryLock(file: file))
    }
}
