import Glibc
import SkyrowSystem
import Synchronization

/// The system's figures about this process.
struct ProcessReadings: Hashable, Sendable {
    var cpuSeconds: Double
    var residentBytes: Int64
    var virtualBytes: Int64
    var threads: Int64
    var openDescriptors: Int64
    var maximumDescriptors: Int64

    /// Reads the current figures; unavailable ones are zero.
    static func now() -> ProcessReadings {
        var usage = rusage()
        getrusage(RUSAGE_SELF.rawValue, &usage)
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        let status = ProcessStatus(contentsOfFile("/proc/self/status") ?? "")
        return ProcessReadings(
            cpuSeconds: seconds(usage.ru_utime) + seconds(usage.ru_stime),
            residentBytes: status.residentBytes,
            virtualBytes: status.virtualBytes,
            threads: status.threads,
            // Listing the directory takes a descriptor itself.
            openDescriptors: Int64(max(0, (contentsOfDirectory("/proc/self/fd") ?? []).count - 1)),
            maximumDescriptors: Int64(clamping: limit.rlim_cur)
        )
    }

    /// The resident memory only, which takes reading one small file.
    static var residentBytes: Int64 { ProcessStatus(contentsOfFile("/proc/self/status") ?? "").residentBytes }

    private static func seconds(_ time: timeval) -> Double {
        Double(time.tv_sec) + Double(time.tv_usec) / 1e6
    }

    var families: [MetricFamily] {
        [
            .counter("process_cpu_seconds_total", cpuSeconds),
            .gauge("process_resident_memory_bytes", residentBytes),
            .gauge("process_virtual_memory_bytes", virtualBytes),
            .gauge("process_open_fds", openDescriptors),
            .gauge("process_max_fds", maximumDescriptors),
            .gauge("process_threads", threads),
        ]
    }
}

/// Reads the process's figures at most once a second. Listing ten thousand descriptors takes a while, and a public page
/// may be requested at any rate.
final class ProcessReader: Sendable {
    private let last = Mutex<(readings: ProcessReadings, time: ContinuousClock.Instant)?>(nil)

    var readings: ProcessReadings {
        last.withLock { last in
            if let last, last.time.duration(to: .now) < .seconds(1) { return last.readings }
            let readings = ProcessReadings.now()
            last = (readings, .now)
            return readings
        }
    }
}

/// The relevant part of `/proc/self/status` (proc(5)).
struct ProcessStatus: Hashable, Sendable {
    var residentBytes: Int64 = 0
    var virtualBytes: Int64 = 0
    var threads: Int64 = 0

    init(_ text: String) {
        for line in text.split(separator: "\n") {
            let parts = line.split(whereSeparator: { $0 == " " || $0 == "\t" })
            guard parts.count > 1, let number = Int64(parts[1]), (0...(1 << 50)).contains(number) else { continue }
            switch parts[0] {
            case "VmRSS:": residentBytes = number * 1024
            case "VmSize:": virtualBytes = number * 1024
            case "Threads:": threads = number
            default: continue
            }
        }
    }
}
