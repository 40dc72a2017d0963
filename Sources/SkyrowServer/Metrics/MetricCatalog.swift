/// The descriptions of all metrics of the service.
///
/// Tests compare the manual's table and the dashboard with it, and it with a running service's metrics.
enum MetricCatalog {
    /// A row of the table.
    struct Entry: Hashable, Sendable {
        var name: String
        var kind: MetricKind
        var labels: [String]
        var help: String

        init(_ name: String, _ kind: MetricKind, _ labels: [String], _ help: String) {
            self.name = name
            self.kind = kind
            self.labels = labels
            self.help = help
        }

        init(_ name: String, _ kind: MetricKind, _ help: String) {
            self.init(name, kind, [], help)
        }
    }

    static let help = Dictionary(uniqueKeysWithValues: entries.map { ($0.name, $0.help) })

    /// The metrics in the order of the manual.
    static let entries: [Entry] =
        requests + connections + files + functions + live + postgres + schema + accounts + observability + process

    private static let requests: [Entry] = [
        Entry(
            "skyrow_requests_total",
            .counter,
            ["application", "action", "outcome"],
            "Requests served, by action and by the name of the error, or OK."
        ),
        Entry(
            "skyrow_request_duration_seconds",
            .histogram,
            ["application", "action"],
            "Time from the last byte of a request to its response."
        ),
        Entry(
            "skyrow_actions_total",
            .counter,
            ["application", "action", "outcome"],
            "Actions that ran; each call of a batch counts."
        ),
        Entry(
            "skyrow_refusals_total",
            .counter,
            ["application", "outcome"],
            "Calls that were refused because of their credentials."
        ),
        Entry(
            "skyrow_access_denied_total",
            .counter,
            ["application", "layer"],
            "Refusals because of `credentials`, a key's `scope`, a `permission` or a `field`; each record of a batch counts."
        ),
    ]

    private static let connections: [Entry] = [
        Entry("skyrow_http_connections", .gauge, "Open connections of clients."),
        Entry("skyrow_http_connections_total", .counter, "Accepted connections of clients."),
        Entry(
            "skyrow_http_connections_refused_total",
            .counter,
            "Connections of clients that were refused because of the limit."
        ),
        Entry("skyrow_http_body_bytes", .gauge, "Bytes of requests in memory that wait for their responses."),
    ]

    private static let files: [Entry] = [
        Entry(
            "skyrow_file_requests_total",
            .counter,
            ["application", "way", "outcome"],
            "Uploads that ended and downloads that began, by the name of the error, or OK."
        ),
        Entry(
            "skyrow_file_bytes_total",
            .counter,
            ["application", "way"],
            "Bytes of files that were uploaded and downloaded."
        ),
        Entry(
            "skyrow_file_collected_total",
            .counter,
            ["application"],
            "Files that were deleted because nothing referred to them."
        ),
        Entry(
            "skyrow_hook_failures_total",
            .counter,
            ["application"],
            "Hooks after saves, deletes, logins and logouts that failed."
        ),
        Entry(
            "skyrow_hooks_skipped_total",
            .counter,
            ["application"],
            "Records and accounts for which a hook did not run, since its server was away or too many hooks ran."
        ),
        Entry(
            "skyrow_files",
            .gauge,
            ["application", "state"],
            "Files that are `stored`, or `expected` until they are uploaded, as of the last hour."
        ),
        Entry(
            "skyrow_file_storage_bytes",
            .gauge,
            ["application"],
            "Bytes of the stored files, as of the last hour."
        ),
        Entry(
            "skyrow_thumbnail_seconds",
            .histogram,
            ["application", "outcome"],
            "Time in which a thumbnail was `made`, `failed` because of its image, or was `cancelled`."
        ),
        Entry(
            "skyrow_s3_requests_total",
            .counter,
            ["application", "operation", "outcome"],
            "Requests to the bucket of files, each attempt: `ok`, `missing`, `full`, `refused`, `unavailable` or `cancelled`."
        ),
    ]

    private static let functions: [Entry] = [
        Entry(
            "skyrow_function_calls_total",
            .counter,
            ["function", "kind", "outcome"],
            "Calls of function servers, by the name of the error, or OK; beyond 200 names, `function` is `other`."
        ),
        Entry(
            "skyrow_function_seconds",
            .histogram,
            ["kind"],
            "Time from a call of a function server to its answer, with the wait for a slot."
        ),
        Entry(
            "skyrow_function_server_up",
            .gauge,
            ["server"],
            "Whether a function server is ready: 1 or 0."
        ),
        Entry(
            "skyrow_function_server_restarts_total",
            .counter,
            ["server"],
            "Times that a function server ended and was started again."
        ),
        Entry(
            "skyrow_function_slots_used",
            .gauge,
            ["server"],
            "Concurrent calls of a function server."
        ),
    ]

    private static let live: [Entry] = [
        Entry("skyrow_live_connections", .gauge, ["transport"], "Open WebSockets and event streams."),
        Entry("skyrow_live_buffer_bytes", .gauge, "Bytes of live messages that wait for their clients."),
        Entry(
            "skyrow_live_lagging_total",
            .counter,
            "Times that a client read live messages too slowly and lost some."
        ),
        Entry(
            "skyrow_changes_source",
            .gauge,
            ["application", "source"],
            "The source of changes: 1 for the source in use."
        ),
        Entry(
            "skyrow_changes_transactions_total",
            .counter,
            ["application"],
            "Transactions that were compared with live queries."
        ),
        Entry("skyrow_changes_rows_total", .counter, ["application"], "Changed records in these transactions."),
        Entry(
            "skyrow_changes_gaps_total",
            .counter,
            ["application", "reason"],
            "Interruptions of the source of changes."
        ),
        Entry(
            "skyrow_live_events_total",
            .counter,
            ["application", "event"],
            "Events of live queries that were sent."
        ),
        Entry(
            "skyrow_live_candidates",
            .histogram,
            ["application"],
            "Groups of live queries with which a change was compared."
        ),
        Entry(
            "skyrow_live_resets_total",
            .counter,
            ["application", "reason"],
            "Live queries that the service ended."
        ),
        Entry(
            "skyrow_live_subscriptions",
            .gauge,
            ["application"],
            "Open live queries, including those of `live:watch`."
        ),
        Entry(
            "skyrow_live_groups",
            .gauge,
            ["application", "keyed"],
            "Distinct live queries, which are found by a value or compared with every change of their type."
        ),
        Entry(
            "skyrow_live_delivery_seconds",
            .histogram,
            ["application"],
            "Time from a commit until its events are handed to the connections."
        ),
        Entry(
            "skyrow_changes_lag_seconds",
            .gauge,
            ["application"],
            "Age of the oldest change in PostgreSQL's log that may not have reached the live queries yet."
        ),
        Entry(
            "skyrow_changes_lag_bytes",
            .gauge,
            ["application"],
            "Bytes of PostgreSQL's log that have not reached the live queries yet."
        ),
        Entry(
            "skyrow_feed_fetch_rows",
            .histogram,
            ["application"],
            "Records and ids in one page of the change feed."
        ),
        Entry(
            "skyrow_feed_resets_total",
            .counter,
            ["application", "reason"],
            "Change tokens from which a client could not continue."
        ),
    ]

    private static let postgres: [Entry] = [
        Entry("skyrow_postgres_up", .gauge, "Whether PostgreSQL can be reached: 1 or 0."),
        Entry(
            "skyrow_postgres_queue_length",
            .gauge,
            ["queue"],
            "Statements or transactions that wait for a connection."
        ),
        Entry(
            "skyrow_postgres_queue_held_back",
            .gauge,
            ["queue"],
            "Waiting statements that leave free connections to other tables, rows or quick statements."
        ),
        Entry("skyrow_postgres_connections", .gauge, ["queue"], "Open connections to PostgreSQL."),
        Entry("skyrow_postgres_connections_busy", .gauge, ["queue"], "Busy connections to PostgreSQL."),
        Entry(
            "skyrow_postgres_connections_held_up",
            .gauge,
            ["queue"],
            "Busy connections whose statements have run or waited for a lock for 0.1 s or more."
        ),
        Entry("skyrow_postgres_connects_total", .counter, ["queue"], "Connections to PostgreSQL that were opened."),
        Entry("skyrow_postgres_batch_statements", .histogram, ["queue"], "Statements that were sent in one pipeline."),
        Entry(
            "skyrow_postgres_wait_seconds",
            .histogram,
            ["queue"],
            "Time that statements or transactions waited for a connection."
        ),
        Entry(
            "skyrow_postgres_run_seconds",
            .histogram,
            ["queue"],
            "Time from the end of the wait to the result of a statement; for writes, to the end of the commit."
        ),
        Entry(
            "skyrow_postgres_slow_statements_total",
            .counter,
            "Statements that ran longer than the log's threshold."
        ),
        Entry(
            "skyrow_postgres_retried_reads_total",
            .counter,
            "Reads that another connection took over because a slow one held them up."
        ),
        Entry(
            "skyrow_postgres_failed_groups_total",
            .counter,
            "Group commits that failed and whose writes were tried again."
        ),
        Entry(
            "skyrow_postgres_slow_shapes",
            .gauge,
            "Texts of statements that ran long recently and are therefore sent separately."
        ),
        Entry(
            "skyrow_postgres_abandoned_statements",
            .gauge,
            "Statements that PostgreSQL has not ended in time and still executes without a connection."
        ),
        Entry("skyrow_postgres_notifications_up", .gauge, "Whether notifications of PostgreSQL arrive: 1 or 0."),
    ]

    private static let schema: [Entry] = [
        Entry("skyrow_applications_open", .gauge, "Applications that are ready for requests."),
        Entry("skyrow_schema_types", .gauge, ["application"], "Record types."),
        Entry(
            "skyrow_schema_version",
            .gauge,
            ["application"],
            "The number of versions of the schema that this process has seen."
        ),
        Entry(
            "skyrow_schema_reloads_total",
            .counter,
            ["application"],
            "Times that the schema, or a part of it, was read from the database."
        ),
        Entry(
            "skyrow_schema_reload_failures_total",
            .counter,
            ["application"],
            "Times that the schema could not be read."
        ),
    ]

    private static let accounts: [Entry] = [
        Entry(
            "skyrow_logins_total",
            .counter,
            ["application", "method", "outcome"],
            "Logins by `password`, `factor`, `link`, `provider`, `custom_token` or `oauth`, and by the name of the error, or OK."
        ),
        Entry(
            "skyrow_codes_total",
            .counter,
            ["application", "kind", "outcome"],
            "One-time codes that were `requested`, `accepted` or `refused`, by their purpose."
        ),
        Entry(
            "skyrow_sessions_live",
            .gauge,
            ["application"],
            "Valid sessions, as of the last minute; from 100,000 on, an estimate."
        ),
        Entry(
            "skyrow_audience_roles",
            .histogram,
            ["application"],
            "Roles of a user whose session was read, including the roles that contain them."
        ),
        Entry(
            "skyrow_rules_age_seconds",
            .gauge,
            ["application"],
            "Time since the access rules in memory were last found to match the database."
        ),
        Entry("skyrow_session_cache_entries", .gauge, ["application"], "Sessions in the cache."),
        Entry(
            "skyrow_session_cache_hits_total",
            .counter,
            ["application"],
            "Access tokens whose session was in the cache."
        ),
        Entry(
            "skyrow_session_cache_misses_total",
            .counter,
            ["application"],
            "Access tokens that were looked up in the database."
        ),
        Entry(
            "skyrow_session_token_reuses_total",
            .counter,
            ["application"],
            "Sessions that were ended because a token was used after its replacement."
        ),
        Entry(
            "skyrow_session_revocations_total",
            .counter,
            ["application"],
            "Times that sessions left the cache because they ended."
        ),
        Entry(
            "skyrow_audit_dropped_total",
            .counter,
            ["application"],
            "Refusals that are missing in the audit log because too many waited or the database refused them."
        ),
        Entry(
            "skyrow_throttle_rows",
            .gauge,
            ["application"],
            "Rows that count guesses of passwords, as of the last minute."
        ),
        Entry(
            "skyrow_mail_queue_length",
            .gauge,
            ["application"],
            "Mails that wait to be sent, as of the last minute."
        ),
        Entry(
            "skyrow_account_deletions_waiting",
            .gauge,
            ["application"],
            "Unfinished deletions of accounts, as of the last minute."
        ),
        Entry(
            "skyrow_account_deletions_total",
            .counter,
            ["application", "outcome"],
            "Deletions of accounts that were `finished`, and attempts to continue one that `failed`."
        ),
        Entry(
            "skyrow_guesses_refused_total",
            .counter,
            ["application"],
            "Passwords that were not checked because too many had been tried before."
        ),
        Entry("skyrow_password_queue_length", .gauge, "Passwords that are being hashed or wait to be hashed."),
        Entry(
            "skyrow_password_hash_seconds",
            .histogram,
            "Time that it took to hash or compare a password, without the wait before."
        ),
        Entry("skyrow_password_hashes_total", .counter, "Passwords that were hashed."),
        Entry(
            "skyrow_password_queue_full_total",
            .counter,
            "Logins and sign-ups that were refused because too many passwords waited."
        ),
        Entry(
            "skyrow_reads_running",
            .gauge,
            ["queue"],
            "Reads that are running, by class: `indexed`, `join`, `scan`."
        ),
        Entry("skyrow_reads_waiting", .gauge, ["queue"], "Reads that wait for their client's turn, by class."),
        Entry(
            "skyrow_mail_total",
            .counter,
            ["application", "outcome"],
            "Mails, by outcome: `sent`, `dropped` (no account has the address), `retried`, `dead`."
        ),
        Entry(
            "skyrow_provider_keys_total",
            .counter,
            ["application", "outcome"],
            "Times that the keys of a provider were `fetched`, or that fetching them `failed`."
        ),
        Entry(
            "skyrow_jwks_age_seconds",
            .gauge,
            ["application", "provider"],
            "Time since the keys of a provider were last fetched, for providers whose keys were."
        ),
        Entry("skyrow_purged_sessions_total", .counter, ["application"], "Expired sessions that were removed."),
        Entry(
            "skyrow_purged_idempotency_keys_total",
            .counter,
            ["application"],
            "Expired idempotency keys that were removed."
        ),
    ]

    private static let observability: [Entry] = [
        Entry("skyrow_log_lines_dropped_total", .counter, "Log lines dropped because they were not read."),
        Entry("skyrow_trace_spans_total", .counter, "Spans that were recorded."),
        Entry(
            "skyrow_trace_spans_dropped_total",
            .counter,
            "Spans dropped because they came faster than they could be written."
        ),
        Entry("skyrow_build_info", .gauge, ["version", "swift"], "1, with the versions of the service as labels."),
    ]

    private static let process: [Entry] = [
        Entry("process_cpu_seconds_total", .counter, "Processor time of the process, user and system."),
        Entry("process_resident_memory_bytes", .gauge, "Resident memory of the process."),
        Entry("process_virtual_memory_bytes", .gauge, "Address space of the process."),
        Entry("process_open_fds", .gauge, "Open file descriptors of the process."),
        Entry("process_max_fds", .gauge, "The maximum number of open file descriptors."),
        Entry("process_threads", .gauge, "Threads of the process."),
        Entry("process_start_time_seconds", .gauge, "When the process started, in seconds since 1970."),
    ]
}
