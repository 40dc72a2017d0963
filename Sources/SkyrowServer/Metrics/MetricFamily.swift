/// A metric with all its series, at one point in time.
struct MetricFamily: Hashable, Sendable {
    var name: String
    var kind: MetricKind
    var series: [MetricSeries]

    init(_ name: String, _ kind: MetricKind, _ series: [MetricSeries]) {
        self.name = name
        self.kind = kind
        self.series = series
    }
}

enum MetricKind: String, Hashable, Sendable {
    /// A value that only grows until the process ends.
    case counter
    case gauge
    case histogram
}

/// The value of a metric for one set of labels.
struct MetricSeries: Hashable, Sendable {
    var labels: [MetricLabel] = []
    var value: MetricValue
}

struct MetricLabel: Hashable, Sendable {
    var name: String
    var value: String
}

enum MetricValue: Hashable, Sendable {
    case integer(Int64)
    case number(Double)
    case histogram(MetricDistribution)
}

/// The number of values in each of several ranges.
struct MetricDistribution: Hashable, Sendable {
    /// The inclusive upper bounds of the ranges; the last range is unbounded.
    var bounds: [Double]
    /// The non-cumulative counts of the ranges: one more than there are bounds.
    var counts: [Int]
    var sum: Double
}
