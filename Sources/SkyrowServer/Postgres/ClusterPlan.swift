import SkyrowSystem

/// What was found where the embedded PostgreSQL keeps its files.
struct ClusterObservation: Hashable, Sendable {
    enum Contents: Hashable, Sendable {
        /// There is no such directory, or it is empty.
        case nothing
        /// A cluster that this major version made.
        case cluster(majorVersion: Int)
        /// Something else.
        case foreign
    }

    var contents: Contents
    /// Whether the service has a role of its own there, and the database is that role's.
    var hasServiceRole: Bool
    /// Whether the account that PostgreSQL is to run as owns it.
    var isOwn: Bool
    /// The process named in `postmaster.pid`, which a killed server leaves behind.
    var recordedServer: Int32?
    /// The processes that have the directory as their working directory: a server and its children.
    var occupants: Set<Int32>
    /// The major versions of PostgreSQL on this machine.
    var installedVersions: [Int]
}

/// The next thing to do so that a server may start on the directory.
enum ClusterStep: Hashable, Sendable {
    /// Make a cluster with this major version.
    case initialize(majorVersion: Int)
    /// A server of an earlier service still runs, or is just ending because its service is gone: end it.
    case stopServer(Int32)
    /// The server is gone, but children of it still hold its shared memory: see to it that they end.
    case awaitProcesses(Set<Int32>)
    /// No process is left of the server that wrote `postmaster.pid`. PostgreSQL itself would refuse to start when the
    /// process id has meanwhile gone to another process.
    case removeServerRecord
    /// Give the service a role that is no superuser, in a cluster that an earlier version made.
    case separateRoles(majorVersion: Int)
    /// Start the server of this major version.
    case start(majorVersion: Int)

    /// Decides; throws ``ToolError`` with what the operator is to do when nothing can be done.
    ///
    /// The caller holds the directory's lock, so that no other service acts on it.
    static func next(after observation: ClusterObservation, at path: String) throws(ToolError) -> ClusterStep {
        guard let newest = observation.installedVersions.max() else {
            throw .failure(
                """
                The PostgreSQL server is not installed: run scripts/setup, or 'apt-get install postgresql', or give \
                --database-url.
                """
            )
        }
        switch observation.contents {
        case .foreign:
            throw .failure("\(path) holds something else than a PostgreSQL cluster: move it away.")
        case .nothing:
            return .initialize(majorVersion: newest)
        case .cluster(let version):
            guard observation.isOwn else {
                throw .failure("\(path) belongs to another user: run skyrow as the user that it was made by.")
            }
            guard observation.installedVersions.contains(version) else {
                throw .failure(
                    """
                    The data in \(path) belongs to PostgreSQL \(version), which is not installed: run \
                    'apt-get install postgresql-\(version)', or bring the data to PostgreSQL \(newest) with pg_upgrade.
                    """
                )
            }
            if let server = observation.recordedServer, observation.occupants.contains(server) {
                return .stopServer(server)
            }
            if !observation.occupants.isEmpty { return .awaitProcesses(observation.occupants) }
            if observation.recordedServer != nil { return .removeServerRecord }
            return observation.hasServiceRole ? .start(majorVersion: version) : .separateRoles(majorVersion: version)
        }
    }
}
