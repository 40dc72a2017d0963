/// The sleep of all timers of the service.
package enum ServiceTimer {
    /// Returns after a duration, never earlier; throws `CancellationError` as soon as the task is cancelled.
    package static func sleep(for duration: Duration) async throws {
        #if DEBUG
            try await Task.sleep(for: duration + Lateness.drawn())
        #else
            try await Task.sleep(for: duration)
        #endif
    }

    /// Returns at an instant, never earlier; throws `CancellationError` as soon as the task is cancelled.
    package static func sleep(until instant: ContinuousClock.Instant) async throws {
        try await sleep(for: max(.zero, instant - .now))
    }
}
