import Glibc
import Logging
import SkyrowActions
import SkyrowHTTP
import SkyrowModel
import SkyrowPostgres
import SkyrowSystem

/// The observability of a service: metrics, the log of slow statements, traces.
struct Observability: Sendable {
    let registry = MetricRegistry()
    /// Where PostgreSQL's client reports statements; nil when neither log nor traces need them.
    let reporting: StatementReporting?
    /// Makes the spans of requests; nil when nothing is traced.
    let tracing: RequestTracing?
    private let traces: TraceFile?
    private let access: MetricsAccess
    private let key: Secret?
    private let logger: Logger
    /// In seconds since 1970.
    private let startTime = Double(time(nil))

    /// Throws ``ToolError`` when the file for spans cannot be opened, or the metrics key opens more than metrics.
    init(_ settings: Settings, keys: ServiceKeys, logger: Logger) throws(ToolError) {
        let observability = settings.observability
        guard observability.metricsKey.map({ keys.apiKeys.contains($0) }) != true else {
            throw .configuration("metrics-key and api-key must differ: every copy of an application has the latter.")
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

    /// Writes what still waits to be written.
    func flush() {
        traces?.flush()
    }

    /// The metrics of a service, for those who may have them.
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

    /// The server on the address that metrics have to themselves; nil when they have none.
    ///
    /// - Parameters:
    ///   - socket: that of the address.
    ///   - clients: from where the master key opens them.
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

    /// Whether `/metrics` is on the service's own port.
    var isOnServicePort: Bool {
        switch access {
        case .keyHolders, .everybody: true
        case .nobody, .address: false
        }
    }
}
