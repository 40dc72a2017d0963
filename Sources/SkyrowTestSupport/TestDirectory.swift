import Foundation

/// The parent of the temporary directories of tests.
///
/// It is in memory if there is room: a test copies a database of 300 files and deletes it, which takes ext4 ten times
/// as long as tmpfs. `SKYROW_TEST_DIRECTORY` names another directory.
enum TestDirectory {
    /// Bytes of free space required, far more than the tests of a whole run use at a time.
    private static let roomNeeded: UInt64 = 4 << 30

    /// Determined once, so that files of one run can be renamed from one directory to another.
    static let parent: String = {
        if let named = ProcessInfo.processInfo.environment["SKYROW_TEST_DIRECTORY"], !named.isEmpty { return named }
        let shared = "/dev/shm"
        return isInMemory(shared) && room(in: shared) >= roomNeeded && availableMemory() >= roomNeeded ? shared : "/tmp"
    }()

    /// Whether a directory is in memory, and programs in it can be run.
    private static func isInMemory(_ directory: String) -> Bool {
        let mounts = (try? String(contentsOfFile: "/proc/self/mounts", encoding: .utf8)) ?? ""
        // "tmpfs /dev/shm tmpfs rw,relatime 0 0": device, mount point, file system, options.
        let isMemory = mounts.split(separator: "\n").contains { line in
            let words = line.split(separator: " ")
            return words.count > 3 && words[1] == directory && words[2] == "tmpfs"
                && !words[3].split(separator: ",").contains("noexec")
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
