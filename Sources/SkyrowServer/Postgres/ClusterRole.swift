import SkyrowStore

/// The roles of the embedded PostgreSQL. The administrator is a superuser, used only to make the cluster and by `skyrow
/// psql --administrator`. The service's role owns the database and everything in it.
///
/// The third role streams changes and has no other privilege: REPLICATION allows copying the whole cluster.
///
/// Statements of clients and of a restored archive run as the service's role, which cannot run commands, read files, or
/// make superusers. Documentation/Decisions/installation.md has the alternatives.
package enum ClusterRole: String, Sendable {
    /// The superuser that initdb makes.
    case administrator = "skyrow"
    case service = "skyrow_service"
    /// The role with REPLICATION.
    case replication = "skyrow_replication"
}

extension ClusterRole {
    /// The file in a cluster that records the version of its roles.
    static let marker = "skyrow-roles"
    /// The version of ``script``. A cluster with an older version is updated before its server starts.
    static let markerText = "4\n"

    /// The statements of ``ClusterScript`` with the names of these roles.
    static let script = ClusterScript.make(
        administrator: administrator.rawValue,
        service: service.rawValue,
        replication: replication.rawValue,
        database: EmbeddedCluster.database
    )
}
