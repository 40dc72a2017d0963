import Glibc
import SkyrowSystem

/// The system account that the embedded PostgreSQL runs as; the server refuses to run as root.
enum ServerAccount: Hashable, Sendable {
    /// The user that runs the service.
    case oneself
    /// `postgres`, when root runs the service.
    case postgres(uid: uid_t, gid: gid_t)

    /// Throws ``ToolError`` when root runs the service and there is no `postgres`.
    static func current() throws(ToolError) -> ServerAccount {
        guard geteuid() == 0 else { return .oneself }
        guard let entry = getpwnam("postgres") else {
            throw .failure(
                """
                PostgreSQL does not run as root and there is no user 'postgres': run 'apt-get install postgresql', or \
                run skyrow as another user.
                """
            )
        }
        return .postgres(uid: entry.pointee.pw_uid, gid: entry.pointee.pw_gid)
    }

    /// The words before a command that make it run as this account, and end with the thread that started it.
    var commandPrefix: [String] {
        // It begins in a directory that it may enter; SIGINT is PostgreSQL's fast shutdown.
        let words = ["env", "--chdir=/", "setpriv", "--pdeathsig", "INT"]
        return switch self {
        case .oneself: words
        case .postgres: words + ["--reuid=postgres", "--regid=postgres", "--init-groups"]
        }
    }

    /// The id of the account's user.
    var userID: uid_t {
        switch self {
        case .oneself: geteuid()
        case .postgres(let uid, _): uid
        }
    }

    /// Makes an empty directory that only this account may enter.
    func makePrivateDirectory(_ path: String) throws(ToolError) {
        guard mkdir(path, 0o700) == 0 else { throw .system("Cannot make the directory \(path)") }
        switch self {
        case .oneself: break
        case .postgres(let uid, let gid):
            guard chown(path, uid, gid) == 0 else { throw .system("Cannot give \(path) to the user postgres") }
        }
    }
}
