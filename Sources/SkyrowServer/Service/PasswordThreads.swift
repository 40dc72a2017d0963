import Glibc
import NIOCore
import SkyrowActions

/// How many threads hash passwords where the settings do not say.
enum PasswordThreads {
    /// One a processor, as long as all of them together take an eighth of the memory at most; there is always one.
    ///
    /// - Parameters:
    ///   - memory: what the process may use, in bytes; nil when that is unknown.
    ///   - hash: what one hash takes, in bytes.
    static func fitting(processors: Int, memory: Int?, hash: Int) -> Int {
        let affordable = memory.map { $0 / 8 / max(1, hash) } ?? processors
        return max(1, min(processors, affordable, 64))
    }

    /// What fits this machine, or the container that the process runs in.
    static func ofThisMachine(cost: ScryptCost = .default) -> Int {
        fitting(processors: System.coreCount, memory: memory, hash: cost.memoryBytes)
    }

    private static var memory: Int? {
        let pages = sysconf(Int32(_SC_PHYS_PAGES))
        let physical = pages > 0 ? pages * sysconf(Int32(_SC_PAGESIZE)) : nil
        return [physical, containerMemory].compactMap { $0 }.min()
    }

    /// The limit of the control group, as a container sees its own; nil where there is none.
    private static var containerMemory: Int? {
        guard let file = fopen("/sys/fs/cgroup/memory.max", "r") else { return nil }
        defer { fclose(file) }
        var text = [CChar](repeating: 0, count: 32)
        guard fgets(&text, CInt(text.count), file) != nil else { return nil }
        let digits = text.lazy.map { UInt8(bitPattern: $0) }.prefix {
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
        }
        return Int(String(decoding: Array(digits), as: UTF8.self))
    }
}
