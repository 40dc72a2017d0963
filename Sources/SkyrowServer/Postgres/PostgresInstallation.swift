import Glibc
import SkyrowSystem

/// An installed major version of the PostgreSQL server.
struct PostgresInstallation: Hashable, Sendable {
    var majorVersion: Int
    /// The directory of `initdb` and `postgres`.
    var binaries: String

    /// Returns the installations of Debian's packages, newest first.
    static func installed(under root: String = "/usr/lib/postgresql") -> [PostgresInstallation] {
        (contentsOfDirectory(root) ?? [])
            .compactMap { name in
                Int(name).map { PostgresInstallation(majorVersion: $0, binaries: "\(root)/\(name)/bin") }
            }
            .filter { access("\($0.binaries)/initdb", X_OK) == 0 && access("\($0.binaries)/postgres", X_OK) == 0 }
            .sorted { $0.majorVersion > $1.majorVersion }
    }
}
