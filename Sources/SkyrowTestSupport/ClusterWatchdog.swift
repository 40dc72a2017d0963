import Foundation

/// A small process that outlives this one by a moment: when this one has ended it kills the server and removes its
/// files.
///
/// It waits for the end of a pipe that only this process holds open, so it notices a `kill -9` as well as an exit.
final class ClusterWatchdog: Sendable {
    private static let script = """
        read -r line
        if [ -f "$0/data/postmaster.pid" ]; then
            parent=$(head -n 1 "$0/data/postmaster.pid")
            children=$(cat "/proc/$parent/task/$parent/children" 2>/dev/null)
            if [ "$(readlink "/proc/$parent/cwd")" = "$0/data" ]; then kill -KILL $parent $children; fi
        fi
        rm -rf "$0"
        sleep 1
        rm -rf "$0"
        """

    private let pipe: Int32

    init(directory: String) throws {
        var ends: [Int32] = [0, 0]
        guard Foundation.pipe(&ends) == 0, fcntl(ends[1], F_SETFD, FD_CLOEXEC) == 0 else {
            throw TemporaryClusterError(description: "No pipe can be made: \(String(cString: strerror(errno)))")
        }
        defer { close(ends[0]) }
        pipe = ends[1]
        let nowhere = open("/dev/null", O_RDWR | O_CLOEXEC)
        defer { close(nowhere) }
        _ = try ChildProcess.spawn(
            "/bin/sh",
            ["-c", Self.script, directory],
            descriptors: [ends[0], nowhere, nowhere]
        )
    }

    deinit {
        close(pipe)
    }
}
