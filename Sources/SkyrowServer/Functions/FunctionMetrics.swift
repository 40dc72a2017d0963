import CoreMetrics
import SkyrowActions
import SkyrowModel
import SkyrowProtocol
import Synchronization

/// Counts the calls of function servers.
final class FunctionMetrics: Sendable {
    /// The functions, hooks and so on that have series of their names; others are `other`.
    static let maximumNames = 200

    private struct Series: Hashable {
        var name: String
        var kind: String
        var outcome: String
    }

    private struct State {
        var names: Set<String> = []
        var counters: [Series: Counter] = [:]
        var timers: [String: Timer] = [:]
    }

    private let factory: any MetricsFactory
    private let state = Mutex(State())

    init(_ factory: any MetricsFactory) {
        self.factory = factory
    }

    /// Counts a call.
    ///
    /// - Parameters:
    ///   - error: The error that it failed with; nil for a success.
    func count(_ call: FunctionCall, _ error: ErrorCode?, _ time: Duration) {
        let kind = call.content.kind
        let (counter, timer) = state.withLock { state in
            var name = call.content.name
            if !state.names.contains(name) {
                if state.names.count < Self.maximumNames { state.names.insert(name) } else { name = "other" }
            }
            // Applications have thousands of codes.
            let outcome = error.map { $0.ordinal == nil ? "ErrorCode" : $0.name } ?? "OK"
            let series = Series(name: name, kind: kind, outcome: outcome)
            let counter = state.counters[series] ?? makeCounter(series)
            state.counters[series] = counter
            let timer = state.timers[kind] ?? makeTimer(kind)
            state.timers[kind] = timer
            return (counter, timer)
        }
        counter.increment()
        let (seconds, attoseconds) = time.components
        timer.recordNanoseconds(seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }

    private func makeCounter(_ series: Series) -> Counter {
        let labels = [("function", series.name), ("kind", series.kind), ("outcome", series.outcome)]
        return Counter(label: "skyrow_function_calls_total", dimensions: labels, factory: factory)
    }

    private func makeTimer(_ kind: String) -> Timer {
        Timer(label: "skyrow_function_seconds", dimensions: [("kind", kind)], factory: factory)
    }

    /// The figures of a server, which change with its state.
    func ofServer(_ name: String) -> ServerMetrics {
        let labels = [("server", name)]
        return ServerMetrics(
            up: Gauge(label: "skyrow_function_server_up", dimensions: labels, factory: factory),
            restarts: Counter(label: "skyrow_function_server_restarts_total", dimensions: labels, factory: factory),
            slots: Gauge(label: "skyrow_function_slots_used", dimensions: labels, factory: factory)
        )
    }

    struct ServerMetrics: Sendable {
        /// Whether it is ready: 1 or 0.
        let up: Gauge
        /// Times that it was started after it had ended.
        let restarts: Counter
        let slots: Gauge
    }
}

extension FunctionCall.Content {
    /// The kind of the envelope.
    var kind: String {
        switch self {
        case .function: "op"
        case .hook: "hook"
        case .event: "event"
        case .handler: "handler"
        case .provider: "provider"
        }
    }

    var name: String {
        switch self {
        case .function(let name, arguments: _): name.rawValue
        case .hook(let description, _): description.name
        case .event(let name, _): name
        case .handler(let request): request.name
        case .provider(let name, authData: _): name
        }
    }
}
