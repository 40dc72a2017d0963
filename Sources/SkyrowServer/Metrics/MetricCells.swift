import CoreMetrics
import SkyrowConcurrency
import SkyrowPostgres
import Synchronization

/// The storage of one series' value, with lock-free access.
protocol MetricCell: AnyObject, Sendable {
    var value: MetricValue { get }
}

/// A monotonic count.
final class CounterCell: MetricCell, CounterHandler {
    private let count = Atomic<Int64>(0)

    var value: MetricValue { .integer(count.load(ordering: .relaxed)) }

    func increment(by amount: Int64) {
        // A decreasing counter looks like a restarted process.
        if amount > 0 { count.wrappingAdd(amount, ordering: .relaxed) }
    }

    func reset() {
        count.store(0, ordering: .relaxed)
    }
}

/// A number that goes up and down.
final class GaugeCell: MetricCell, RecorderHandler, MeterHandler {
    private let bits = Atomic<UInt64>(Double.zero.bitPattern)

    var value: MetricValue { .number(Double(bitPattern: bits.load(ordering: .relaxed))) }

    func set(_ value: Double) {
        bits.store(value.bitPattern, ordering: .relaxed)
    }

    func set(_ value: Int64) {
        set(Double(value))
    }

    func record(_ value: Double) {
        set(value)
    }

    func record(_ value: Int64) {
        set(Double(value))
    }

    func increment(by amount: Double) {
        var known = bits.load(ordering: .relaxed)
        while true {
            let sum = Double(bitPattern: known) + amount
            let (exchanged, found) = bits.weakCompareExchange(
                expected: known,
                desired: sum.bitPattern,
                ordering: .relaxed
            )
            if exchanged { return }
            known = found
        }
    }

    func decrement(by amount: Double) {
        increment(by: -amount)
    }
}

/// The number of values in each of fixed ranges.
final class DistributionCell: MetricCell, TimerHandler, RecorderHandler {
    private let bounds: [Int64]
    /// The divisor of displayed values: a billion turns nanoseconds into seconds.
    private let scale: Double
    private let counts: SharedArray<Atomic<Int>>
    private let sum = Atomic<Int64>(0)

    init(bounds: [Int64], scale: Double) {
        self.bounds = bounds
        self.scale = scale
        counts = SharedArray(count: bounds.count + 1) { _ in Atomic(0) }
    }

    /// Makes a distribution of durations, recorded in nanoseconds and shown in seconds.
    static func durations() -> DistributionCell {
        DistributionCell(bounds: Histogram.durations.bounds, scale: 1e9)
    }

    /// Makes a distribution of arbitrary values.
    static func values() -> DistributionCell {
        DistributionCell(bounds: (0...20).map { 1 << $0 }, scale: 1)
    }

    var value: MetricValue {
        .histogram(
            MetricDistribution(
                bounds: bounds.map { Double($0) / scale },
                counts: (0...bounds.count).map { counts[$0].load(ordering: .relaxed) },
                sum: Double(sum.load(ordering: .relaxed)) / scale
            )
        )
    }

    func recordNanoseconds(_ duration: Int64) {
        record(duration)
    }

    func record(_ value: Int64) {
        counts[Histogram.range(of: value, in: bounds)].wrappingAdd(1, ordering: .relaxed)
        sum.wrappingAdd(value, ordering: .relaxed)
    }

    func record(_ value: Double) {
        guard value.isFinite, value.magnitude < 1e18 else { return }
        record(Int64(value.rounded()))
    }
}

extension MetricValue {
    /// Makes the value of a nanosecond histogram, in seconds.
    package init(seconds histogram: Histogram) {
        self = .histogram(MetricDistribution(histogram, scale: 1e9))
    }

    package init(_ histogram: Histogram) {
        self = .histogram(MetricDistribution(histogram, scale: 1))
    }
}

extension MetricDistribution {
    fileprivate init(_ histogram: Histogram, scale: Double) {
        bounds = histogram.bounds.map { Double($0) / scale }
        counts = histogram.counts
        sum = Double(histogram.sum) / scale
    }
}
