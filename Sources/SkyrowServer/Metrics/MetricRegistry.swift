import CoreMetrics
import Synchronization

/// Stores the values recorded through swift-metrics.
///
/// ```swift
/// let registry = MetricRegistry()
/// let counter = Counter(label: "notes_total", dimensions: [("kind", "short")], factory: registry)
/// counter.increment()
/// PrometheusText.text(registry.families)
/// ```
///
/// Making a handle takes a lock, using it does not. The first use of a name determines its kind. A handle of another
/// kind with the same name counts separately and is not shown.
final class MetricRegistry: MetricsFactory {
    private struct Family: Sendable {
        let kind: MetricKind
        var cells: [[MetricLabel]: any MetricCell] = [:]
    }

    private let cells = Mutex<[String: Family]>([:])

    /// All recorded metrics, sorted by name and labels.
    var families: [MetricFamily] {
        let families = cells.withLock { $0 }
        return families.sorted { $0.key < $1.key }.map { name, family in
            let series = family.cells.map { MetricSeries(labels: $0, value: $1.value) }
            return MetricFamily(name, family.kind, series.sorted { $0.order < $1.order })
        }
    }

    func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        cell(label, dimensions, .counter) { CounterCell() }
    }

    func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        cell(label, dimensions, .gauge) { GaugeCell() }
    }

    func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        guard aggregate else { return cell(label, dimensions, .gauge) { GaugeCell() } }
        return cell(label, dimensions, .histogram) { DistributionCell.values() }
    }

    func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        cell(label, dimensions, .histogram) { DistributionCell.durations() }
    }

    func destroyCounter(_ handler: any CounterHandler) { forget(handler) }
    func destroyMeter(_ handler: any MeterHandler) { forget(handler) }
    func destroyRecorder(_ handler: any RecorderHandler) { forget(handler) }
    func destroyTimer(_ handler: any TimerHandler) { forget(handler) }

    /// Returns the cell of these labels, which all callers share.
    private func cell<Cell: MetricCell>(
        _ name: String,
        _ dimensions: [(String, String)],
        _ kind: MetricKind,
        make: () -> Cell
    ) -> Cell {
        let name = PrometheusText.name(name, allowsColon: true)
        let labels = dimensions.map {
            MetricLabel(name: PrometheusText.name($0.0, allowsColon: false), value: $0.1)
        }
        return cells.withLock { families in
            var family = families[name] ?? Family(kind: kind)
            if let known = family.cells[labels] as? Cell, family.kind == kind { return known }
            let cell = make()
            // Two cells with the same name and labels would be two contradictory lines.
            if family.kind == kind, family.cells[labels] == nil {
                family.cells[labels] = cell
                families[name] = family
            }
            return cell
        }
    }

    private func forget(_ handler: AnyObject) {
        cells.withLock { families in
            families = families.mapValues { family in
                var family = family
                family.cells = family.cells.filter { $0.value !== handler }
                return family
            }
        }
    }
}

extension MetricSeries {
    fileprivate var order: String { labels.map(\.value).joined(separator: "\u{0}") }
}
