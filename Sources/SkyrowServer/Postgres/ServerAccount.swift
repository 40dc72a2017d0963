import Glibc
import SkyrowSystem

/// The system account of the embedded PostgreSQL, which refuses to run as root.
enum ServerAccount: Hashable, Sendable {
    /// The user of the service.
    case oneself
    /// `postgres`, if root runs the service.
    case postgres(uid: uid_t, gid: gid_t)

    /// Throws ``ToolError`` if root runs the service and the user `postgres` is missing.
    static func current() throws(ToolError) -> ServerAccount {
        guard geteuid() == 0 else { return .oneself }
        guard let entry = getpwnam("postgres") else {
            throw .failure(
                """
                PostgreSQL does not run as root, and the user 'postgres' does not exist: run 'apt-get install postgresql', \
                or run skyrow as another user.
                """
            )
        }
        return .postgres(uid: entry.pointee.pw_uid, gid: entry.pointee.pw_gid)
    }

    /// The command prefix that runs a program as this account, and ends it with the thread that started it.
    var commandPrefix: [String] {
        // The working directory must be accessible to the account. SIGINT is PostgreSQL's fast shutdown.
        let words = ["env", "--chdir=/", "setpriv", "--pdeathsig", "INT"]
        return switch self {
        case .oneself: words
        case .postgres: words + ["--reuid=postgres", "--regid=postgres", "--init-groups"]
        }
    }

    /// The account's user id.
    var userID: uid_t {
        switch self {
        case .oneself: geteuid()
        case .postgres(let uid, _): uid
        }
    }

    /// Makes an empty directory that only this account may access.
    func makePrivateDirectory(_ path: String) throws(ToolError) {
        guard mkdir(path, 0o700) == 0 else { throw .system("Cannot create the directory \(path)") }
        switch self {
        case .oneself: break
        case .postgres(let uid, let gid):
            guard chown(path, uid, gid) == 0 else { throw .system("Cannot change the owner of \(path) to postgres") }
        }
    }
}
