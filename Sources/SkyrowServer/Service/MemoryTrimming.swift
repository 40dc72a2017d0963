import CMalloc
import ServiceLifecycle
import SkyrowSystem

/// Returns memory to the system that large requests have left behind in the allocator.
///
/// glibc keeps what was freed for the next request. After a burst of large requests that is a hundred megabytes or more,
/// in as many arenas as there are threads, and nothing returns it while the process is idle.
struct MemoryTrimming: Service {
    private static let interval: Duration = .seconds(5)

    /// Has blocks from 256 KB on mapped one by one, so that they return as soon as they are freed.
    ///
    /// glibc raises that size by itself, up to 32 MB, whenever such a block is freed (mallopt(3)); long bodies and results
    /// then lie between short-lived objects on heaps that never shrink.
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

/// The memory of the process, in bytes.
struct MemoryReading: Hashable, Sendable {
    let resident: Int64
    /// What the allocator keeps for the next request, returned or not.
    let free: Int64

    static var now: MemoryReading {
        MemoryReading(resident: ProcessReadings.residentBytes, free: Int64(mallinfo2().fordblks))
    }
}

/// When freed memory is worth returning.
struct TrimDecision: Hashable, Sendable {
    /// A service under ordinary load stays below this, and never pauses to trim.
    static let floor: Int64 = 64 << 20
    /// The growth since the last time that makes another attempt worthwhile: what is in use cannot be returned.
    static let growth: Int64 = 8 << 20
    /// The same of what was in use then and is free now, as when 1,000 clients of live queries have left.
    static let release: Int64 = 16 << 20

    private var rest = MemoryReading(resident: 0, free: 0)

    /// Whether to trim now.
    mutating func trims(at reading: MemoryReading) -> Bool {
        // Memory that was in use at the last attempt may have been freed since, and then used elsewhere.
        rest = MemoryReading(resident: min(rest.resident, reading.resident), free: min(rest.free, reading.free))
        return reading.resident > Self.floor
            && (reading.resident > rest.resident + Self.growth || reading.free > rest.free + Self.release)
    }

    /// Notes how much stayed.
    mutating func trimmed(to reading: MemoryReading) {
        rest = reading
    }
}
