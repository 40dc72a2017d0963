internal import Glibc

/// A point in time of the monotonic clock that threads and conditions use.
struct MonotonicTime: Comparable, Hashable, Sendable {
    var nanoseconds: Int64

    static var now: MonotonicTime {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return MonotonicTime(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    static let distantFuture = MonotonicTime(nanoseconds: .max)

    static func < (left: MonotonicTime, right: MonotonicTime) -> Bool {
        left.nanoseconds < right.nanoseconds
    }

    static func + (time: MonotonicTime, duration: Duration) -> MonotonicTime {
        let (sum, overflow) = time.nanoseconds.addingReportingOverflow(duration.nanoseconds)
        return overflow ? .distantFuture : MonotonicTime(nanoseconds: sum)
    }
}

extension Duration {
    /// The duration in whole nanoseconds, clamped to 64 bits (292 years).
    var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        return overflow ? .max : product + attoseconds / 1_000_000_000
    }

    /// The duration in whole milliseconds for PostgreSQL's timeouts; at least one unless it is zero.
    var settingMilliseconds: Int64 { nanoseconds == 0 ? 0 : max(1, nanoseconds / 1_000_000) }
}
