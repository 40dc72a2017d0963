import Glibc
import SkyrowJSON
package import SkyrowSystem

/// The embedded PostgreSQL's address for tools (setting `embedded-port`).
package enum ToolAddress {
    /// Returns `postgresql://skyrow_service:…@127.0.0.1:5433/skyrow`.
    ///
    /// Throws ``ToolError`` if no server runs, or it has no port.
    package static func url(of settings: Settings) throws(ToolError) -> String {
        if let url = settings.database.url { return url }
        let directory = try DataDirectory(existing: settings.database.dataDirectory)
        guard directory.serverIsReady(), let port = directory.serverPort else {
            throw .failure("No service is running on \(directory.path): start it with --embedded-port 5433.")
        }
        guard port.isForTools, let password = contentsOfFile(directory.toolPassword) else {
            throw .failure(
                "The PostgreSQL of \(directory.path) has no port: start the service with --embedded-port 5433."
            )
        }
        let role = ClusterRole.service.rawValue
        return "postgresql://\(role):\(password)@127.0.0.1:\(port.number)/\(EmbeddedCluster.database)"
    }

    /// Returns the password stored in the data directory, readable by its owner only, and makes it if necessary.
    static func password(in directory: DataDirectory) throws(ToolError) -> String {
        if let kept = contentsOfFile(directory.toolPassword), !kept.isEmpty { return kept }
        var generator = SystemRandomNumberGenerator()
        let password = Hexadecimal.text(of: (0..<4).map { _ in generator.next() })
        let draft = "\(directory.toolPassword).\(getpid())"
        let file = try FileDescriptor(opening: draft, O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
        try file.write(password.utf8)
        guard fsync(file.number) == 0, rename(draft, directory.toolPassword) == 0 else {
            throw .system("Cannot write \(directory.toolPassword)")
        }
        return password
    }
}
