import Glibc
package import Logging
import ServiceLifecycle
package import SkyrowSystem

/// How a command uses the embedded PostgreSQL.
package enum DatabaseUse: Hashable, Sendable {
    /// With or without a running service.
    case shared
    /// Without a running service, making a new cluster if necessary.
    case alone
}

/// The database of a maintenance command: one given by its address, that of a running service, or the embedded one,
/// started for the duration of the command.
package struct DatabaseAccess: Sendable {
    /// A libpq connection string.
    package let connection: String
    private let embedded: EmbeddedPostgres?
    /// The embedded cluster and an open descriptor of its directory, which the connection string may refer to.
    private let cluster: (path: String, folder: FileDescriptor)?
    /// The port that names the socket.
    private let port: Int

    /// Throws ``ToolError`` if no database is available.
    package init(_ settings: Settings, use: DatabaseUse = .shared, logger: Logger) async throws(ToolError) {
        if let url = settings.database.url {
            connection = url
            embedded = nil
            cluster = nil
            port = DatabaseAddress.defaultPort
            return
        }
        let path = settings.database.dataDirectory
        guard use == .alone || access(path, F_OK) == 0 else {
            throw .failure(
                "The data directory \(path) does not exist: start the service first, or set --data-directory."
            )
        }
        let directory = try use == .alone ? DataDirectory(creating: path) : DataDirectory(existing: path)
        switch try DataDirectoryLock.take(in: directory) {
        case .taken(let lock):
            let embedded = try await EmbeddedPostgres(in: directory, lock: lock, logger: logger)
            self.embedded = embedded
        case .held(let process) where use == .alone:
            let holder = process.map { " (process \($0))" } ?? ""
            throw .failure("A skyrow\(holder) is running on \(directory.path): stop it first.")
        case .held:
            // A service that has just started may still be making its cluster.
            let deadline = ContinuousClock.now + .seconds(30)
            while !directory.serverIsReady() {
                guard ContinuousClock.now < deadline, !Task.isCancelled else {
                    throw .failure(
                        "The PostgreSQL of the service on \(directory.path) is not running; its log is \(directory.log)."
                    )
                }
                try? await ServiceTimer.sleep(for: .milliseconds(20))
            }
            embedded = nil
        }
        let folder = try FileDescriptor(opening: directory.cluster, O_RDONLY | O_DIRECTORY)
        port = directory.serverPort?.number ?? DatabaseAddress.defaultPort
        connection = DatabaseAddress(cluster: directory.cluster, folder: folder.number, port: port).connection()
        cluster = (directory.cluster, folder)
    }

    /// Returns the connection string for a child that inherits `descriptors` followed by this value's own.
    package func connection(
        forChildWith descriptors: [FileDescriptor],
        as role: ClusterRole = .service
    ) -> (String, [FileDescriptor]) {
        let (connection, own) = connection(forChildWithOwn: descriptors.count, as: role)
        return (connection, descriptors + own)
    }

    /// Returns the connection string for a child, and the descriptors to pass from number `first` on.
    package func connection(forChildWithOwn first: Int, as role: ClusterRole = .service) -> (String, [FileDescriptor]) {
        guard let cluster else { return (connection, []) }
        let address = DatabaseAddress(cluster: cluster.path, folder: Int32(first), port: port)
        return (address.connection(as: role), [cluster.folder])
    }

    /// Stops a server that was started for the command.
    package func close() async {
        await embedded?.stop()
    }
}
