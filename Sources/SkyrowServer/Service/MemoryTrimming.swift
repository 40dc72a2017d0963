import CGlibc
import ServiceLifecycle
import SkyrowSystem

/// Returns memory to the system that the allocator retains after large requests.
///
/// glibc keeps freed memory for later requests. After a burst of large requests that is a hundred megabytes or more, in
/// as many arenas as there are threads, and an idle process never returns it.
struct MemoryTrimming: Service {
    private static let interval: Duration = .seconds(5)

    /// Maps blocks of 256 KB and more individually, so they return to the system when freed.
    ///
    /// By default, glibc raises that threshold, up to 32 MB, whenever such a block is freed (mallopt(3)). Large bodies
    /// and results then lie between short-lived objects on heaps that never shrink.
    static func configure() {
        mallopt(M_MMAP_THRESHOLD, 256 << 10)
        mallopt(M_TRIM_THRESHOLD, 4 << 20)
    }

    func run() async throws {
        await cancelWhenGracefulShutdown {
            var decision = TrimDecision()
            while (try? await ServiceTimer.sleep(for: Self.interval)) != nil {
                guard decision.trims(at: .now) else { continue }
                malloc_trim(0)
                decision.trimmed(to: .now)
            }
        }
    }
}

/// The process's memory, in bytes.
struct MemoryReading: Hashable, Sendable {
    let resident: Int64
    /// The free memory of the allocator, including memory already returned.
    let free: Int64

    static var now: MemoryReading {
        MemoryReading(resident: ProcessReadings.residentBytes, free: Int64(mallinfo2().fordblks))
    }
}

/// Decides when freed memory is worth returning.
struct TrimDecision: Hashable, Sendable {
    /// The resident size below which the service never trims; ordinary load stays below it.
    static let floor: Int64 = 64 << 20
    /// The growth since the last trim that triggers another one. Memory in use cannot be returned.
    static let growth: Int64 = 8 << 20
    /// The growth of free memory that triggers a trim, as when 1,000 clients of live queries disconnect.
    static let release: Int64 = 16 << 20

    private var rest = MemoryReading(resident: 0, free: 0)

    /// Returns whether to trim now.
    mutating func trims(at reading: MemoryReading) -> Bool {
        // Memory in use at the last trim may have been freed and reused since.
        rest = MemoryReading(resident: min(rest.resident, reading.resident), free: min(rest.free, reading.free))
        return reading.resident > Self.floor
            && (reading.resident > rest.resident + Self.growth || reading.free > rest.free + Self.release)
    }

    /// Records the memory that remained.
    mutating func trimmed(to reading: MemoryReading) {
        rest = reading
    }
}
