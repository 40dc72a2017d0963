package import SkyrowModel
import SkyrowSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The service's clock, passed in so that tests can control it.
package struct ServiceClock: Sendable {
    /// The time of day, for stored times: when a token expires, when a suspension ends.
    package var now: @Sendable () -> Timestamp
    /// A monotonic time, for the age of cached values.
    package var instant: @Sendable () -> ContinuousClock.Instant
    /// Waits between two rounds of periodic work; throws when the task is cancelled.
    package var sleep: @Sendable (Duration) async throws -> Void

    /// The system's clocks.
    package static let system = ServiceClock(
        now: {
            var time = timespec()
            clock_gettime(CLOCK_REALTIME, &time)
            return Timestamp(
                microseconds: Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000 - Timestamp.unixEpochOffset
            )
        },
        instant: { ContinuousClock.now },
        sleep: { try await ServiceTimer.sleep(for: $0) }
    )
}

extension Timestamp {
    /// This instant plus a duration. An overflow is infinite, as in PostgreSQL, and an infinite instant stays infinite.
    package func adding(_ duration: Duration) -> Timestamp {
        guard self != .infinity, self != .negativeInfinity else { return self }
        let (seconds, attoseconds) = duration.components
        let (sum, isBeyond) = microseconds.addingReportingOverflow(
            seconds * 1_000_000 + attoseconds / 1_000_000_000_000
        )
        guard isBeyond else { return Timestamp(microseconds: sum) }
        return duration < .zero ? .negativeInfinity : .infinity
    }
}
