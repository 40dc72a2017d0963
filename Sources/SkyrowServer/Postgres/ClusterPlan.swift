import SkyrowSystem

/// The observed state of the embedded PostgreSQL's directory.
struct ClusterObservation: Hashable, Sendable {
    enum Contents: Hashable, Sendable {
        /// The directory is missing or empty.
        case nothing
        case cluster(majorVersion: Int)
        /// Other contents.
        case foreign
    }

    var contents: Contents
    /// Whether the cluster has the service's role, and the role owns the database.
    var hasServiceRole: Bool
    /// Whether the account that will run PostgreSQL owns the directory.
    var isOwn: Bool
    /// The process in `postmaster.pid`, which a killed server leaves behind.
    var recordedServer: Int32?
    /// The processes with the directory as their working directory: a server and its children.
    var occupants: Set<Int32>
    /// The installed major versions of PostgreSQL.
    var installedVersions: [Int]
}

/// The next step towards starting a server on the directory.
enum ClusterStep: Hashable, Sendable {
    /// Make a cluster with this major version.
    case initialize(majorVersion: Int)
    /// Stop the server of an earlier service, which still runs or is shutting down.
    case stopServer(Int32)
    /// Wait for the children of a dead server to end, as they still hold its shared memory.
    case awaitProcesses(Set<Int32>)
    /// Remove `postmaster.pid`, as all processes of the server that wrote it are gone. PostgreSQL itself refuses to
    /// start if the process id has been reused.
    case removeServerRecord
    /// Give the service a role without superuser rights, in a cluster that an earlier version made.
    case separateRoles(majorVersion: Int)
    /// Start the server of this major version.
    case start(majorVersion: Int)

    /// Returns the next step. Throws ``ToolError`` with the operator's remedy if there is no possible step.
    ///
    /// The caller holds the directory's lock, so no other service changes it.
    static func next(after observation: ClusterObservation, at path: String) throws(ToolError) -> ClusterStep {
        guard let newest = observation.installedVersions.max() else {
            throw .failure(
                """
                The PostgreSQL server is not installed: run scripts/setup or 'apt-get install postgresql', or set \
                --database-url.
                """
            )
        }
        switch observation.contents {
        case .foreign:
            throw .failure("\(path) is not a PostgreSQL cluster: move it away.")
        case .nothing:
            return .initialize(majorVersion: newest)
        case .cluster(let version):
            guard observation.isOwn else {
                throw .failure("\(path) belongs to another user: run skyrow as the user that created it.")
            }
            guard observation.installedVersions.contains(version) else {
                throw .failure(
                    """
                    The data in \(path) belongs to PostgreSQL \(version), which is not installed: run \
                    'apt-get install postgresql-\(version)', or upgrade the data to PostgreSQL \(newest) with pg_upgrade.
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
