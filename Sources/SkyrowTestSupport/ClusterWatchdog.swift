import Foundation
import SkyrowSystem

/// A small process that kills the server and removes its files when this process has ended.
///
/// It waits for the end of a pipe that only this process holds open, which covers `kill -9` as well as an exit.
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

    private let pipe: FileDescriptor

    init(directory: String) throws {
        let (reading, writing) = try FileDescriptor.pipe()
        pipe = writing
        let nowhere = try FileDescriptor(opening: "/dev/null", O_RDWR)
        _ = try Program.start(["/bin/sh", "-c", Self.script, directory], [reading, nowhere, nowhere])
    }
}
