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
        let series = statistics.map { queue, statistics in
            MetricSeries(labels: [MetricLabel(name: "queue", value: queue)], value: value(statistics))
        }
        return MetricFamily(name, kind, series)
    }
}
