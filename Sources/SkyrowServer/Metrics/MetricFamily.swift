/// A metric with all its series, as it was at one moment.
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
    /// It only grows, until the process ends.
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

/// How many values fell into each of some ranges.
struct MetricDistribution: Hashable, Sendable {
    /// The ends of the ranges, which belong to them; a last range has none.
    var bounds: [Double]
    /// How many values each range has alone: one more than there are bounds.
    var counts: [Int]
    var sum: Double
}
