import Metrics
import NIOCore
import SkyrowActions
import SkyrowModel
import Synchronization

/// Counts requests by application, subject and outcome, and records their durations.
final class RequestMetrics: Sendable {
    private let factory: any MetricsFactory
    private let standard: ApplicationRequestMetrics
    private let others = Mutex<[ApplicationName: ApplicationRequestMetrics]>([:])

    init(factory: any MetricsFactory) {
        self.factory = factory
        standard = ApplicationRequestMetrics(of: .default, factory: factory)
    }

    /// - Parameters:
    ///   - application: An existing application, which bounds the values of the label.
    ///   - time: From the request's last byte to its response; nil for an incomplete request.
    func record(_ outcome: RequestOutcome, of application: ApplicationName, time: TimeAmount?) {
        metrics(of: application).record(outcome, time: time)
    }

    private func metrics(of application: ApplicationName) -> ApplicationRequestMetrics {
        if application == .default { return standard }
        return others.withLock { others in
            if let known = others[application] { return known }
            let made = ApplicationRequestMetrics(of: application, factory: factory)
            others[application] = made
            return made
        }
    }
}

/// The metrics of one application.
private final class ApplicationRequestMetrics: Sendable {
    private let requests: OutcomeCounters
    private let times: LazyTable<Metrics.Timer>

    init(of application: ApplicationName, factory: any MetricsFactory) {
        let names = RequestSubject.all.map(\.name)
        let label = [("application", application.rawValue)]
        requests = OutcomeCounters("skyrow_requests_total", of: label, values: names, factory: factory)
        times = LazyTable(count: names.count) { place in
            Timer(
                label: "skyrow_request_duration_seconds",
                dimensions: label + [("action", names[place])],
                factory: factory
            )
        }
    }

    func record(_ outcome: RequestOutcome, time: TimeAmount?) {
        let subject = outcome.subject.ordinal
        requests.increment(subject, outcome.error)
        if let time { times[subject].recordNanoseconds(time.nanoseconds) }
    }
}
