package import Metrics
package import SkyrowModel

/// Counters of one name by action or similar label and outcome, without a lock or building label texts.
///
/// The labels are a bounded set: the given values, and for the outcome `OK`, the registered errors and `Other`.
package final class OutcomeCounters: Sendable {
    /// By index and outcome: most actions of an application are never called, and most others have few outcomes.
    private let counters: LazyTable<LazyTable<Counter>>

    /// - Parameters:
    ///   - labels: further labels, the same for all counters.
    ///   - label: the name of the label that the indexes stand for.
    ///   - values: its values, by index; a nil one is omitted.
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

    /// - Parameter code: the error code; nil for success.
    package func increment(_ place: Int, _ code: ErrorCode?) {
        let outcome = code.map { $0.ordinal.map { $0 + 1 } ?? OutcomeCounters.outcomes.count - 1 } ?? 0
        counters[place][outcome].increment()
    }

    private static let outcomes = ["OK"] + ErrorCode.registered.map(\.name) + ["Other"]
}
