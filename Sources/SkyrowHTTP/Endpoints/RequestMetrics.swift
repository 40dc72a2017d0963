import Metrics
import NIOCore
import SkyrowActions
import SkyrowModel

/// Counts requests by what they asked for and how they ended, and keeps their times.
final class RequestMetrics: Sendable {
    private let requests: OutcomeCounters
    private let times: LazyTable<Metrics.Timer>

    init(factory: any MetricsFactory) {
        let names = RequestSubject.all.map(\.name)
        requests = OutcomeCounters("skyrow_requests_total", values: names, factory: factory)
        times = LazyTable(count: names.count) { place in
            Timer(
                label: "skyrow_request_duration_seconds",
                dimensions: [("action", names[place])],
                factory: factory
            )
        }
    }

    /// - Parameter time: from the request's last byte to its response; nil for one that never came whole.
    func record(_ outcome: RequestOutcome, time: TimeAmount?) {
        requests.increment(outcome.subject.ordinal, outcome.error)
        if let time { times[outcome.subject.ordinal].recordNanoseconds(time.nanoseconds) }
    }
}
