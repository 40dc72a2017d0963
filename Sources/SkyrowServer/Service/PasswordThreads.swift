import Glibc
import NIOCore
import SkyrowActions

/// The default number of threads that hash passwords.
enum PasswordThreads {
    /// Returns one thread per processor, limited so that all hashes together take an eighth of the memory; at least one.
    ///
    /// - Parameters:
    ///   - memory: The process's available memory in bytes; nil if unknown.
    ///   - hash: The memory of one hash in bytes.
    static func fitting(processors: Int, memory: Int?, hash: Int) -> Int {
        let affordable = memory.map { $0 / 8 / max(1, hash) } ?? processors
        return max(1, min(processors, affordable, 64))
    }

    /// Returns the number for this machine, or for the container that runs the process.
    static func ofThisMachine(cost: ScryptCost = .default) -> Int {
        fitting(processors: System.coreCount, memory: memory, hash: cost.memoryBytes)
    }

    private static var memory: Int? { [ClusterSettings.machineMemory, containerMemory].compactMap { $0 }.min() }

    /// The cgroup's memory limit as a container sees it; nil without one.
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
