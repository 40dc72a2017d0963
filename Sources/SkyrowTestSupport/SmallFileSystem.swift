import Foundation
import SkyrowSystem

/// A separate file system of a test, in memory, which is soon full.
package struct SmallFileSystem: ~Copyable {
    package let path: String

    /// Mounting takes root, or sudo, which installs the packages that tests need too.
    private static let asRoot = geteuid() == 0 ? [] : ["sudo", "-n"]

    /// - Throws: ``TemporaryClusterError`` if it cannot be mounted.
    package init(megabytes: Int) async throws {
        path = NSTemporaryDirectory() + "skyrow-small-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        let options = "size=\(megabytes)m,mode=755,uid=\(geteuid()),gid=\(getegid())"
        do {
            try await Program.run(Self.asRoot + ["mount", "-t", "tmpfs", "-o", options, "skyrow-test", path])
        } catch {
            throw TemporaryClusterError(description: "A small file system needs root or sudo: \(error)")
        }
    }

    package func remove() async throws {
        _ = try? await Program.run(Self.asRoot + ["umount", "--lazy", path])
        try FileManager.default.removeItem(atPath: path)
    }

    /// Leaves no free byte.
    package func fill() throws {
        let file = try FileDescriptor(opening: path + "/filler", O_WRONLY | O_CREAT | O_APPEND, mode: 0o600)
        for size in [1 << 20, 4096] {
            let block = [UInt8](repeating: 1, count: size)
            while write(file.number, block, size) > 0 {}
        }
    }

    package func freeSpace() throws {
        try FileManager.default.removeItem(atPath: path + "/filler")
    }
}
