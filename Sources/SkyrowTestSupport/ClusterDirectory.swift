import Foundation

/// The parent directory of temporary clusters' data directories.
///
/// It is in memory if there is room: a test copies a database of 300 files and deletes it, which takes ext4 ten times
/// as long as tmpfs. `SKYROW_TEST_DIRECTORY` names another directory.
enum ClusterDirectory {
    /// Bytes of free space required, far more than the clusters of a whole run use at a time.
    private static let roomNeeded: UInt64 = 4 << 30

    /// Makes an empty directory that only this user may access, and returns its path.
    ///
    /// - Throws: ``TemporaryClusterError`` if it cannot be made.
    static func make() throws -> String {
        try TemporaryDirectory.make(named: "pg", in: parent())
    }

    private static func parent() -> String {
        if let named = ProcessInfo.processInfo.environment["SKYROW_TEST_DIRECTORY"], !named.isEmpty { return named }
        let shared = "/dev/shm"
        return isInMemory(shared) && room(in: shared) >= roomNeeded && availableMemory() >= roomNeeded ? shared : "/tmp"
    }

    private static func isInMemory(_ directory: String) -> Bool {
        let mounts = (try? String(contentsOfFile: "/proc/self/mounts", encoding: .utf8)) ?? ""
        // In "tmpfs /dev/shm tmpfs rw,relatime 0 0" the second word is the mount point, the third the file system.
        let isMemory = mounts.split(separator: "\n").contains { line in
            line.split(separator: " ").dropFirst().prefix(2).elementsEqual([directory[...], "tmpfs"])
        }
        return isMemory && access(directory, W_OK) == 0
    }

    private static func room(in directory: String) -> UInt64 {
        var system = statvfs()
        guard statvfs(directory, &system) == 0 else { return 0 }
        return UInt64(system.f_bavail) * UInt64(system.f_frsize)
    }

    /// Returns the available memory, as a tmpfs allows up to half of the memory even if it is not free.
    private static func availableMemory() -> UInt64 {
        let lines = (try? String(contentsOfFile: "/proc/meminfo", encoding: .utf8)) ?? ""
        guard let line = lines.split(separator: "\n").first(where: { $0.hasPrefix("MemAvailable:") }),
            let kilobytes = line.split(separator: " ").dropFirst().first.flatMap({ UInt64($0) })
        else { return 0 }
        return kilobytes << 10
    }
}
