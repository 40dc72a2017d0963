/// How a ``PostgresClient`` connects, and its limits.
///
/// ```swift
/// let url = "postgresql://app@db1,db2/app?target_session_attrs=read-write"
/// var configuration = PostgresConfiguration(connection: url)
/// configuration.searchPath = ["app"]
/// ```
package struct PostgresConfiguration: Sendable {
    /// A connection URI or `keyword=value` string in libpq's format. Several hosts, `target_session_attrs`, `sslmode` and every
    /// other libpq option are passed through.
    package var connection: String

    /// Where to listen for notifications, if not at `connection`: PostgreSQL itself, when `connection` leads to a pooler that
    /// assigns a session per transaction.
    package var listenConnection: String?

    /// Where to stream changes from, if not at `connection`: PostgreSQL itself, or a role that may replicate.
    package var replicationConnection: String?

    /// The name of the sessions in `pg_stat_activity`.
    package var applicationName: String? = "skyrow"

    /// The schemas in which unqualified names are looked up; nil leaves the server's setting.
    package var searchPath: [SQLIdentifier]?

    /// Further settings of each session, such as `["jit": "off"]`.
    package var sessionSettings: [String: String] = [:]

    /// The number of connections that run waiting reads as pipelines.
    package var readConnections = 2

    /// Upper bound on read connections, including those that are opened while the others are held up by slow reads.
    package var maximumReadConnections = 6

    /// Upper bound on the reads of one pipeline.
    package var maximumReadBatch = 32

    /// How long a statement may run before its connection counts as held up: reads behind it are then retried elsewhere.
    package var heldUpTimeout: Duration = .milliseconds(100)

    /// Upper bound on the connections for writes that are committed alone. Each runs
    /// one write at a time; they are opened on demand.
    package var maximumWriteConnections = 16

    /// Upper bound on the independent writes of one group commit.
    package var maximumGroupCommit = 64

    /// How long a write of a group commit waits for a row lock before it is retried alone.
    package var groupCommitLockTimeout: Duration = .milliseconds(100)

    /// How long a group commit may run, and each statement of it. The statement that is running at that time is retried alone;
    /// the others are grouped again.
    package var groupCommitTimeout: Duration = .milliseconds(250)

    /// How long a transaction waits for the locks of a change of the schema, and others behind it, before it is retried.
    package var tableLockTimeout: Duration = .milliseconds(40)

    /// Upper bound on the connections lent to transactions and COPY; they are opened on demand.
    package var maximumTransactionConnections = 8

    /// The share of a queue's connections that statements of one table may hold while they wait or run long; statements of one
    /// row may hold this share of that share. The other connections are left for other tables and rows. Statements above the
    /// share wait in the queue, where later ones overtake them, and fail with ``PostgresError/Code/acquireTimeout``.
    package var contendedShare = 0.5

    /// How long an idle connection above the minimum stays open.
    package var idleConnectionTimeout: Duration = .seconds(60)

    /// Upper bound on the statements waiting in one queue; a further one is refused with ``PostgresError/Code/overloaded``.
    package var maximumQueueLength = 4096

    /// How long a statement or a transaction waits for a connection.
    package var acquireTimeout: Duration = .seconds(10)

    /// How long one statement may run; nil sets no limit.
    package var statementTimeout: Duration? = .seconds(30)

    /// How long one read may run; the shorter of this and `statementTimeout` applies.
    package var readTimeout: Duration? = .seconds(10)

    /// How long a statement may run on after its time limit, or a read after its cancellation, before its connection is
    /// abandoned. PostgreSQL checks for a cancellation between rows and at similar points, but not inside one long call.
    package var cancellationTimeout: Duration = .seconds(5)

    /// While this many server processes of abandoned connections still run, lost connections are not replaced.
    package var maximumAbandonedBackends = 6

    /// How long a transaction may stay open without a statement.
    package var idleTransactionTimeout: Duration = .seconds(60)

    /// How long one attempt to connect may take per host, unless the connection string says otherwise.
    package var connectTimeout: Duration = .seconds(5)

    /// How long a shutdown waits for accepted statements and transactions.
    package var drainTimeout: Duration = .seconds(20)

    /// Whether statements are prepared once per connection and then run by name.
    ///
    /// A connection detects whether a pooler is in between. Behind a pooler, settings are applied
    /// per transaction, since session settings would leak to other clients, and statements are sent
    /// as text unless the pooler prepares them on every server connection.
    package var preparedStatements = PreparedStatements.whereKept

    /// How often the client probes whether notifications arrive, and how long one may take.
    package var notificationProbeInterval: Duration = .seconds(30)
    package var notificationProbeTimeout: Duration = .seconds(5)

    /// Upper bound on the prepared statements of one connection; the least recently used is dropped first.
    package var maximumPreparedStatements = 256

    /// Limits on what a change stream keeps of one transaction.
    package var changeLimits = ChangeTransactionLimits()

    /// Upper bound on the bytes of changes that wait for the reader of a stream, in addition to the transaction being received.
    package var maximumChangeBytes = 16 << 20

    /// How long a stream waits for a slow reader before it is closed; PostgreSQL retains its WAL meanwhile.
    package var changeReaderTimeout: Duration = .seconds(30)

    /// Receives a report of every completed statement; nil disables reports.
    package var reporting: StatementReporting?

    package init(connection: String) {
        self.connection = connection
    }
}

/// Where statements are prepared once and then run by name.
package enum PreparedStatements: Sendable {
    /// In sessions of PostgreSQL, and behind poolers that prepare statements on every
    /// server connection, as PgBouncer does from 1.21 on.
    case whereKept
    /// Everywhere, as in a session of PostgreSQL: for a pooler that never hands a
    /// session to another client, which cannot be detected.
    case always
    /// Nowhere; settings are applied per transaction.
    case never
}
