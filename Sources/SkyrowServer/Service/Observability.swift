import Glibc
import Logging
import SkyrowActions
import SkyrowHTTP
import SkyrowModel
import SkyrowPostgres
import SkyrowSystem

/// A service's observability: metrics, the log of slow statements, and traces.
struct Observability: Sendable {
    let registry = MetricRegistry()
    /// The receiver of statement reports; nil if neither log nor traces need them.
    let reporting: StatementReporting?
    /// Makes the spans of requests; nil without tracing.
    let tracing: RequestTracing?
    private let traces: TraceFile?
    private let access: MetricsAccess
    private let key: Secret?
    private let logger: Logger
    /// Seconds since 1970.
    private let startTime = Double(time(nil))

    /// Throws ``ToolError`` if the trace file cannot be opened, or the metrics key equals the API key.
    init(_ settings: Settings, keys: ServiceKeys, logger: Logger) throws(ToolError) {
        let observability = settings.observability
        guard observability.metricsKey.map({ keys.apiKeys.contains($0) }) != true else {
            throw .configuration(
                "metrics-key and api-key must differ: every copy of an application contains the API key."
            )
        }
        access = observability.metrics
        key = observability.metricsKey.map { Secret($0) }
        self.logger = logger
        let slow = observability.slowStatement == nil ? nil : SlowStatementLog(logger: logger, metrics: registry)
        let threshold = observability.slowStatement ?? .zero
        guard let path = observability.traceFile else {
            traces = nil
            tracing = nil
            reporting = StatementObservability.reporting(slow: slow, threshold: threshold, tracer: nil)
            return
        }
        let traces = try TraceFile(
            path: path,
            limit: observability.traceFileSize,
            version: SkyrowVersion.text,
            logger: logger
        )
        let tracer = SpanTracer(ratio: observability.traceRatio) { traces.append($0) }
        self.traces = traces
        tracing = RequestTracing(tracer)
        reporting = StatementObservability.reporting(slow: slow, threshold: threshold, tracer: tracer)
    }

    /// Writes all pending spans.
    func flush() {
        traces?.flush()
    }

    /// Returns the metrics page; nil if metrics are off.
    func page(
        client: PostgresClient,
        applications: Applications,
        http: HTTPServerCounts,
        log: LogOutput
    ) -> MetricsPage? {
        guard access != .nobody else { return nil }
        let metrics = ServiceMetrics(
            registry: registry,
            client: client,
            applications: applications,
            http: http,
            log: log,
            traces: traces,
            startTime: startTime
        )
        return MetricsPage(access: access.needsKey(hasOne: key != nil) ? .keyHolders(key) : .everybody) {
            metrics.text()
        }
    }

    /// Returns the server of the metrics address; nil without one.
    ///
    /// - Parameters:
    ///   - socket: The socket bound to the address.
    ///   - clients: The networks from which the master key is accepted.
    func server(
        page: MetricsPage?,
        socket: BoundSocket?,
        applications: Applications,
        clients: ClientIdentification
    ) -> MetricsServer? {
        guard case .address(let host, let port) = access, let page, let socket else { return nil }
        let responder = MetricsResponder(page: page, applications: applications, clients: clients)
        return MetricsServer(host: host, port: port, socket: socket, responder: responder, logger: logger)
    }

    /// Whether the service's own port serves `/metrics`.
    var isOnServicePort: Bool {
        switch access {
        case .keyHolders, .everybody: true
        case .nobody, .address: false
        }
    }
}
