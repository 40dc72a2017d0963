/// What every timer of the service sleeps by.
package enum ServiceTimer {
    /// Returns when a time is over, not before; throws `CancellationError` as soon as the task is cancelled.
    package static func sleep(for duration: Duration) async throws {
        #if DEBUG
            try await Task.sleep(for: duration + Lateness.drawn())
        #else
            try await Task.sleep(for: duration)
        #endif
    }

    /// Returns at an instant, not before; throws `CancellationError` as soon as the task is cancelled.
    package static func sleep(until instant: ContinuousClock.Instant) async throws {
        try await sleep(for: max(.zero, instant - .now))
    }
}
