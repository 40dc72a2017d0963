import Foundation

/// The programs of this machine's PostgreSQL server.
struct PostgresInstallation: Sendable {
    let programs: String

    /// Finds the server with `pg_config`, or in Debian's directories, newest version first.
    ///
    /// - Throws: ``TemporaryClusterError`` with the command that installs a server, if it is missing.
    static func find() async throws -> PostgresInstallation {
        var candidates: [String] = []
        if let named = try? await Program.run(["/usr/bin/env", "pg_config", "--bindir"]) {
            candidates.append(named.trimmingCharacters(in: .whitespacesAndNewlines))
        }
        let debian = "/usr/lib/postgresql"
        let versions = (try? FileManager.default.contentsOfDirectory(atPath: debian)) ?? []
        candidates += versions.sorted { (Int($0) ?? 0) > (Int($1) ?? 0) }.map { "\(debian)/\($0)/bin" }
        let complete = candidates.first { directory in
            ["initdb", "pg_ctl", "postgres"].allSatisfy {
                FileManager.default.isExecutableFile(atPath: "\(directory)/\($0)")
            }
        }
        guard let complete else {
            throw TemporaryClusterError(
                description: """
                    No PostgreSQL server was found (looked at: \(candidates.joined(separator: ", "))). \
                    The tests need one: apt-get install postgresql
                    """
            )
        }
        return PostgresInstallation(programs: complete)
    }

    func path(of program: String) -> String {
        let path = "\(programs)/\(program)"
        return FileManager.default.isExecutableFile(atPath: path) ? path : "/usr/bin/\(program)"
    }

    /// Runs a program of the server; as the user `postgres` if this process is root, since the server refuses to run as root.
    @discardableResult
    func run(_ program: String, _ arguments: [String], input: String = "") async throws -> String {
        try await Program.run(Self.unprivileged([path(of: program)] + arguments), input: input)
    }

    /// Returns the command that runs a program as the user `postgres` if this process is root.
    static func unprivileged(_ words: [String]) -> [String] {
        guard getuid() == 0 else { return words }
        return ["/usr/bin/setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"] + words
    }

    /// Gives a directory to the user as whom ``unprivileged(_:)`` runs programs.
    static func giveAway(_ directory: String) throws {
        guard getuid() == 0 else { return }
        guard let user = getpwnam("postgres"), chown(directory, user.pointee.pw_uid, user.pointee.pw_gid) == 0 else {
            throw TemporaryClusterError(description: "There is no user postgres to run the server as")
        }
    }
}
