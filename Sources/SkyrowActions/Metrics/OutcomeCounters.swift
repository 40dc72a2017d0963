package import Metrics
package import SkyrowModel

/// Counters of one name by who or what was asked and how it ended, without a lock or a label text to be made in between.
///
/// The labels are of a bounded set: the names given, and for the outcome `OK`, the registered errors and `Other`.
package final class OutcomeCounters: Sendable {
    /// By place and outcome: most places of an application are never asked for, and most of the rest end in few ways.
    private let counters: LazyTable<LazyTable<Counter>>

    /// - Parameters:
    ///   - labels: further labels, the same for all.
    ///   - label: the name of the label that the places have.
    ///   - values: its values, by place; one that is nil is left out.
    package init(
        _ name: String,
        of labels: [(String, String)] = [],
        label: String = "action",
        values: [String?],
        factory: any MetricsFactory
    ) {
        counters = LazyTable(count: values.count) { place in
            let named = labels + (values[place].map { [(label, $0)] } ?? [])
            return LazyTable(count: OutcomeCounters.outcomes.count) { outcome in
                let dimensions = named + [("outcome", OutcomeCounters.outcomes[outcome])]
                return Counter(label: name, dimensions: dimensions, factory: factory)
            }
        }
    }

    /// - Parameter code: how it ended; nil is well.
    package func increment(_ place: Int, _ code: ErrorCode?) {
        let outcome = code.map { $0.ordinal.map { $0 + 1 } ?? OutcomeCounters.outcomes.count - 1 } ?? 0
        counters[place][outcome].increment()
    }

    private static let outcomes = ["OK"] + ErrorCode.registered.map(\.name) + ["Other"]
}
