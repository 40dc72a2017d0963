import SkyrowPostgres

extension MetricFamily {
    static func counter(_ name: String, _ value: Int) -> MetricFamily {
        MetricFamily(name, .counter, [MetricSeries(value: .integer(Int64(value)))])
    }

    static func counter(_ name: String, _ value: Double) -> MetricFamily {
        MetricFamily(name, .counter, [MetricSeries(value: .number(value))])
    }

    static func gauge(_ name: String, _ value: some BinaryInteger) -> MetricFamily {
        MetricFamily(name, .gauge, [MetricSeries(value: .integer(Int64(clamping: value)))])
    }

    static func gauge(_ name: String, _ value: Double) -> MetricFamily {
        MetricFamily(name, .gauge, [MetricSeries(value: .number(value))])
    }

    /// Makes a family with one series per queue.
    static func queues<Statistics>(
        _ name: String,
        _ kind: MetricKind,
        _ statistics: [(queue: String, Statistics)],
        _ value: (Statistics) -> MetricValue
    ) -> MetricFamily {
        labelled(name, kind, by: "queue", statistics.map { ($0.queue, value($0.1)) })
    }

    /// Makes a family with one series per value of a label.
    static func labelled(_ name: String, _ kind: MetricKind, by label: String, _ values: [(String, MetricValue)])
        -> MetricFamily
    {
        let series = values.map { MetricSeries(labels: [MetricLabel(name: label, value: $0)], value: $1) }
        return MetricFamily(name, kind, series)
    }
}
