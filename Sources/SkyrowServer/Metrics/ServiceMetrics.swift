import SkyrowActions
import SkyrowHTTP
import SkyrowModel
import SkyrowPostgres
import SkyrowStore

/// All metrics of a service: recorded events, and values read from its parts on request.
struct ServiceMetrics: Sendable {
    let registry: MetricRegistry
    let client: PostgresClient
    let applications: Applications
    let http: HTTPServerCounts
    let log: LogOutput
    /// nil without tracing.
    let traces: TraceFile?
    let process = ProcessReader()
    /// The process's start in seconds since 1970.
    let startTime: Double

    /// Returns the page for Prometheus.
    func text() -> String {
        PrometheusText.text(families, help: MetricCatalog.help)
    }

    private var families: [MetricFamily] {
        registry.families + connections + postgres(client.statistics) + ofApplications + shared + build
            + process.readings.families
    }

    private var connections: [MetricFamily] {
        let statistics = http.statistics
        return [
            .gauge("skyrow_http_connections", statistics.connections),
            .counter("skyrow_http_connections_total", statistics.accepted),
            .counter("skyrow_http_connections_refused_total", statistics.refused),
            .gauge("skyrow_http_body_bytes", statistics.bodyBytes),
        ] + liveConnections(http.live.statistics)
    }

    private func liveConnections(_ statistics: LiveStatistics) -> [MetricFamily] {
        let counts = [
            (LiveConnections.Transport.webSocket.rawValue, MetricValue.integer(Int64(statistics.webSockets))),
            (LiveConnections.Transport.eventStream.rawValue, .integer(Int64(statistics.eventStreams))),
        ]
        return [
            .labelled("skyrow_live_connections", .gauge, by: "transport", counts),
            .gauge("skyrow_live_buffer_bytes", statistics.bufferBytes),
            .counter("skyrow_live_lagging_total", statistics.laggings),
        ]
    }

    private func postgres(_ statistics: PostgresStatistics) -> [MetricFamily] {
        let queues = statistics.queues
        // Transactions have exclusive connections, so they are never pipelined with others.
        let pipelines = queues.filter { $0.queue != "transaction" }
        return [
            .gauge("skyrow_postgres_up", client.isReady ? 1 : 0),
            .queues("skyrow_postgres_queue_length", .gauge, queues) { .integer(Int64($0.queueDepth)) },
            .queues("skyrow_postgres_queue_held_back", .gauge, pipelines) { .integer(Int64($0.heldBack)) },
            .queues("skyrow_postgres_connections", .gauge, queues) { .integer(Int64($0.connections)) },
            .queues("skyrow_postgres_connections_busy", .gauge, queues) { .integer(Int64($0.busyConnections)) },
            .queues("skyrow_postgres_connections_held_up", .gauge, pipelines) { .integer(Int64($0.heldUpConnections)) },
            .queues("skyrow_postgres_connects_total", .counter, pipelines) { .integer(Int64($0.connects)) },
            .queues("skyrow_postgres_batch_statements", .histogram, pipelines) { MetricValue($0.batchSize) },
            .queues("skyrow_postgres_wait_seconds", .histogram, queues) { MetricValue(seconds: $0.wait) },
            .queues("skyrow_postgres_run_seconds", .histogram, queues) { MetricValue(seconds: $0.run) },
            .counter("skyrow_postgres_retried_reads_total", statistics.reads.retried),
            .counter("skyrow_postgres_failed_groups_total", statistics.groupCommits.failedGroups),
            .gauge("skyrow_postgres_slow_shapes", statistics.slowShapes),
            .gauge("skyrow_postgres_abandoned_statements", statistics.abandonedStatements),
            .gauge("skyrow_postgres_notifications_up", client.notificationsArrive ? 1 : 0),
        ]
    }

    /// The metrics of each open application.
    private var ofApplications: [MetricFamily] {
        let open = applications.allOpen.map { (name: $0.name, actions: $0.opened.actions) }
        func family(_ name: String, _ kind: MetricKind, _ value: (ActionService) -> Int) -> MetricFamily {
            let values = open.map { ($0.name.rawValue, MetricValue.integer(Int64(value($0.actions)))) }
            return .labelled(name, kind, by: "application", values)
        }
        func gauges(
            _ name: String,
            label: String?,
            _ values: (ActionService) -> [(String, MetricValue)]
        ) -> MetricFamily {
            let series = open.flatMap { application in
                values(application.actions).map { value, number in
                    let labels = [MetricLabel(name: "application", value: application.name.rawValue)]
                    return MetricSeries(
                        labels: labels + (label.map { [MetricLabel(name: $0, value: value)] } ?? []),
                        value: number
                    )
                }
            }
            return MetricFamily(name, .gauge, series)
        }
        return [
            family("skyrow_schema_types", .gauge) { $0.store.cache.current.tables.count },
            family("skyrow_schema_version", .gauge) { Int(clamping: $0.store.cache.current.version) },
            family("skyrow_schema_reloads_total", .counter) { $0.store.cache.statistics.readings },
            family("skyrow_schema_reload_failures_total", .counter) { $0.store.cache.statistics.failures },
            family("skyrow_session_cache_entries", .gauge) { $0.statistics.rememberedSessions },
            family("skyrow_session_cache_hits_total", .counter) { $0.statistics.sessionHits },
            family("skyrow_sessions_live", .gauge) { $0.statistics.liveSessions },
            gauges("skyrow_rules_age_seconds", label: nil) { actions in
                actions.statistics.rulesAge.map { [("", .number($0 / .seconds(1)))] } ?? []
            },
            gauges("skyrow_jwks_age_seconds", label: "provider") { actions in
                actions.statistics.providerKeyAges.map { ($0.provider, .number($0.age / .seconds(1))) }
            },
            gauges("skyrow_files", label: "state") { actions in
                actions.statistics.files.map { files in
                    [("expected", .integer(Int64(files.expected))), ("stored", .integer(Int64(files.stored)))]
                } ?? []
            },
            gauges("skyrow_file_storage_bytes", label: nil) { actions in
                actions.statistics.files.map { [("", .integer($0.bytes))] } ?? []
            },
            family("skyrow_audit_dropped_total", .counter) { $0.statistics.auditDropped },
            family("skyrow_throttle_rows", .gauge) { $0.statistics.throttleRows },
            family("skyrow_mail_queue_length", .gauge) { $0.statistics.waitingMails },
            family("skyrow_account_deletions_waiting", .gauge) { $0.statistics.waitingDeletions },
        ]
    }

    /// The metrics shared by all applications.
    private var shared: [MetricFamily] {
        guard let statistics = applications.default?.statistics else { return [] }
        return [
            .gauge("skyrow_applications_open", applications.allOpen.count),
            .gauge("skyrow_password_queue_length", statistics.waitingPasswords),
            .queues("skyrow_reads_running", .gauge, statistics.reads) { .integer(Int64($0.running)) },
            .queues("skyrow_reads_waiting", .gauge, statistics.reads) { .integer(Int64($0.waiting)) },
        ]
    }

    private var build: [MetricFamily] {
        let versions = [
            MetricLabel(name: "version", value: SkyrowVersion.text),
            MetricLabel(name: "swift", value: compilerVersion),
        ]
        let spans = traces?.counts ?? (accepted: 0, dropped: 0)
        return [
            MetricFamily("skyrow_build_info", .gauge, [MetricSeries(labels: versions, value: .integer(1))]),
            .counter("skyrow_log_lines_dropped_total", log.droppedLines),
            .counter("skyrow_trace_spans_total", spans.accepted),
            .counter("skyrow_trace_spans_dropped_total", spans.dropped),
            .gauge("process_start_time_seconds", startTime),
        ]
    }
}

/// The compiler's version, as far as it can be determined.
private var compilerVersion: String {
    #if compiler(>=6.4)
        "6.4+"
    #elseif compiler(>=6.3)
        "6.3"
    #else
        "6.2"
    #endif
}

extension PostgresStatistics {
    /// The figures of every queue, including that of transactions.
    fileprivate var queues: [(queue: String, Queue)] {
        var transactions = Queue()
        transactions.queueDepth = transactionsWaiting
        transactions.connections = transactionConnections
        transactions.busyConnections = transactionsInUse
        transactions.wait = transactionWait
        transactions.run = transactionRun
        return [("read", reads), ("write", writes), ("group_commit", groupCommits), ("transaction", transactions)]
    }
}
