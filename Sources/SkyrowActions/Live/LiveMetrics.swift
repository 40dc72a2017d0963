import Metrics
import SkyrowModel
import SkyrowProtocol
import Synchronization

/// The metrics of live queries.
final class LiveMetrics: Sendable {
    private let label: [(String, String)]
    private let factory: any MetricsFactory
    private let sources: [LiveSourceName: Gauge]
    private let transactions: Counter
    private let rows: Counter
    private let events: [LiveEventKind: Counter]
    private let candidates: Recorder
    private let delivery: Metrics.Timer
    private let subscriptions: Gauge
    private let groups: [Bool: Gauge]
    private let lagBytes: Gauge
    private let lagSeconds: Gauge
    private let resets: [String: Counter]
    private let feedRows: Recorder
    private let feedResets: [LiveReset: Counter]
    private let gaps: Mutex<[String: Counter]>

    /// Upper bound on the distinct reasons; further ones count as `other`.
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
        func gauge(_ name: String, _ labels: [(String, String)] = []) -> Gauge {
            Gauge(label: name, dimensions: label + labels, factory: factory)
        }
        delivery = Metrics.Timer(label: "skyrow_live_delivery_seconds", dimensions: label, factory: factory)
        subscriptions = gauge("skyrow_live_subscriptions")
        groups = Dictionary(
            uniqueKeysWithValues: [true, false].map { ($0, gauge("skyrow_live_groups", [("keyed", "\($0)")])) }
        )
        lagBytes = gauge("skyrow_changes_lag_bytes")
        lagSeconds = gauge("skyrow_changes_lag_seconds")
        resets = Dictionary(
            uniqueKeysWithValues: LiveReset.all.map {
                ($0.rawValue, counter("skyrow_live_resets_total", [("reason", $0.rawValue)]))
            }
        )
        feedRows = Recorder(label: "skyrow_feed_fetch_rows", dimensions: label, aggregate: true, factory: factory)
        feedResets = Dictionary(
            uniqueKeysWithValues: LiveReset.ofTokens.map {
                ($0, counter("skyrow_feed_resets_total", [("reason", $0.rawValue)]))
            }
        )
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
                ?? Counter(label: "skyrow_changes_gaps_total", dimensions: label + [("reason", word)], factory: factory)
            gaps[word] = counter
            counter.increment()
        }
    }

    func dispatched(rows count: Int, _ kinds: [LiveEventKind: Int], _ groups: [Int], _ age: Duration?) {
        transactions.increment()
        rows.increment(by: count)
        for (kind, number) in kinds { events[kind]?.increment(by: number) }
        for number in groups { candidates.record(number) }
        if let age, !kinds.isEmpty { delivery.record(duration: age) }
    }

    func counted(_ count: LiveCount) {
        subscriptions.record(count.subscriptions)
        groups[true]?.record(count.keyedGroups)
        groups[false]?.record(count.unkeyedGroups)
        lagBytes.record(count.lagBytes)
        let (seconds, attoseconds) = count.lag.components
        lagSeconds.record(Double(seconds) + Double(attoseconds) / 1e18)
    }

    func reset(_ reason: String) { resets[reason]?.increment() }

    func fetched(_ count: Int) { feedRows.record(count) }

    func feedReset(_ reason: LiveReset) { feedResets[reason]?.increment() }
}
