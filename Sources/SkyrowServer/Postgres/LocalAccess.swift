import Glibc
import SkyrowSystem

/// The socket access rules of the embedded PostgreSQL in `pg_hba.conf` and `pg_ident.conf`. The system users of the
/// service and its server may use the service's roles, and other roles need a password.
struct LocalAccess: Hashable, Sendable {
    private static let map = "skyrow"

    /// The names of the system users.
    let users: [String]

    init(users: [String]) {
        self.users = users
    }

    /// nil for a user without a name, which PostgreSQL rejects.
    init?(account: ServerAccount) {
        // Root is included, as it can become any of them.
        let names = Set([0, geteuid(), account.userID]).map { getpwuid($0).map { String(cString: $0.pointee.pw_name) } }
        guard !names.contains(nil) else { return nil }
        self.init(users: names.compactMap(\.self).sorted())
    }

    /// Returns `pg_hba.conf` with these rules in place of initdb's rules for a cluster without a password. Other rules stay.
    func rules(inPlaceOf text: String) -> String {
        let roles = [ClusterRole.administrator, .service, .replication].map(\.rawValue).joined(separator: ",")
        var rules: [String]? = [
            "local all \(roles) peer map=\(Self.map)",
            "local all all scram-sha-256",
            "local replication \(roles) peer map=\(Self.map)",
        ]
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).flatMap { line -> [String] in
            let words = line.split { $0 == " " || $0 == "\t" }
            guard words.last == "trust", words.count >= 4, ["all", "replication"].contains(words[1]), words[2] == "all"
            else { return [String(line)] }
            let isInitial = words[0] == "local" || ["127.0.0.1/32", "::1/128"].contains(words[3])
            guard isInitial else { return [String(line)] }
            defer { rules = nil }
            return rules ?? []
        }
        return lines.joined(separator: "\n")
    }

    /// Returns `pg_ident.conf` with the map of these users.
    func mapping(inPlaceOf text: String) -> String {
        let others = text.split(separator: "\n").filter { !$0.hasPrefix("\(Self.map) ") }
        let own = users.flatMap { user in
            [ClusterRole.administrator, .service, .replication].map { role in
                "\(Self.map) \"\(user.replacing("\"", with: "\"\""))\" \(role.rawValue)"
            }
        }
        return (others.map(String.init) + own).joined(separator: "\n") + "\n"
    }
}

extension EmbeddedCluster {
    /// Restricts access to a cluster without a running server. Older clusters admitted all users with access to the socket.
    func limitLocalAccess() throws(ToolError) {
        guard let access = LocalAccess(account: account) else { return }
        try rewrite("pg_ident.conf", access.mapping)
        try rewrite("pg_hba.conf", access.rules)
    }

    private func rewrite(_ name: String, _ change: (String) -> String) throws(ToolError) {
        let path = "\(directory.cluster)/\(name)"
        guard let text = contentsOfFile(path) else { return }
        let changed = change(text)
        guard changed != text else { return }
        let file = try FileDescriptor(opening: path, O_WRONLY | O_TRUNC | O_NOFOLLOW)
        try file.write(changed.utf8)
        guard fsync(file.number) == 0 else { throw .system("Cannot write \(path)") }
    }
}
