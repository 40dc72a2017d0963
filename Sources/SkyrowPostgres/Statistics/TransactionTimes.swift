internal import Synchronization

/// How long transactions waited for a connection, and how long their statements took.
final class TransactionTimes: Sendable {
    private let state = Mutex((wait: Histogram.durations, run: Histogram.durations))

    var histograms: (wait: Histogram, run: Histogram) { state.withLock { $0 } }

    func waited(_ nanoseconds: Int64) {
        state.withLock { $0.wait.record(nanoseconds) }
    }

    func ran(_ nanoseconds: Int64) {
        state.withLock { $0.run.record(nanoseconds) }
    }
}
