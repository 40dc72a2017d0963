import Metrics
import SkyrowModel
import Synchronization

/// What is counted of live queries.
final class LiveMetrics: Sendable {
    private let label: [(String, String)]
    private let factory: any MetricsFactory
    private let sources: [LiveSourceName: Gauge]
    private let transactions: Counter
    private let rows: Counter
    private let events: [LiveEventKind: Counter]
    private let candidates: Recorder
    private let resets: Counter
    private let gaps: Mutex<[String: Counter]>

    /// Further reasons count as another.
    private static let maximumReasons = 20

    init(of label: [(String, String)], factory: any MetricsFactory) {
        self.label = label
        self.factory = factory
        func counter(_ name: String, _ labels: [(String, String)] = []) -> Counter {
            Counter(label: name, dimensions: label + labels, factory: factory)
        }
        sources = Dictionary(
            uniqueKeysWithValues: LiveSourceName.allCases.map { name in
                let labels = label + [("source", name.rawValue)]
                return (name, Gauge(label: "skyrow_changes_source", dimensions: labels, factory: factory))
            }
        )
        transactions = counter("skyrow_changes_transactions_total")
        rows = counter("skyrow_changes_rows_total")
        events = Dictionary(
            uniqueKeysWithValues: LiveEventKind.allCases.map {
                ($0, counter("skyrow_live_events_total", [("event", $0.rawValue)]))
            }
        )
        candidates = Recorder(label: "skyrow_live_candidates", dimensions: label, aggregate: true, factory: factory)
        resets = counter("skyrow_live_resets_total")
        gaps = Mutex(["other": counter("skyrow_changes_gaps_total", [("reason", "other")])])
    }

    func followed(_ source: LiveSourceName) {
        for (name, gauge) in sources { gauge.record(name == source ? 1 : 0) }
    }

    func interrupted(_ reason: String) {
        gaps.withLock { gaps in
            let word = gaps[reason] != nil || gaps.count < Self.maximumReasons ? reason : "other"
            let counter =
                gaps[word]
                ?? Counter(
                    label: "skyrow_changes_gaps_total",
                    dimensions: label + [("reason", word)],
                    factory: factory
                )
            gaps[word] = counter
            counter.increment()
        }
    }

    func dispatched(rows count: Int, _ kinds: [LiveEventKind: Int], _ groups: [Int], resets ended: Int) {
        transactions.increment()
        rows.increment(by: count)
        for (kind, number) in kinds { events[kind]?.increment(by: number) }
        for number in groups { candidates.record(number) }
        if ended > 0 { resets.increment(by: ended) }
    }
}
