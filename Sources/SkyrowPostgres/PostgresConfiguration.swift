/// How a ``PostgresClient`` connects, and the limits it keeps.
///
/// ```swift
/// let url = "postgresql://app@db1,db2/app?target_session_attrs=read-write"
/// var configuration = PostgresConfiguration(connection: url)
/// configuration.searchPath = ["app"]
/// ```
package struct PostgresConfiguration: Sendable {
    /// A connection URI or `keyword=value` string as libpq understands it: several hosts, `target_session_attrs`,
    /// `sslmode` and every other option of libpq pass through.
    package var connection: String

    /// Where to listen for notifications, if elsewhere: behind a pooler that hands each transaction another session,
    /// PostgreSQL itself.
    package var listenConnection: String?

    /// Where to stream changes from, if elsewhere: PostgreSQL itself, or with a role that may replicate.
    package var replicationConnection: String?

    /// The name the sessions carry in `pg_stat_activity`.
    package var applicationName: String? = "skyrow"

    /// The schemas in which unqualified names are looked up; nil leaves the server's setting.
    package var searchPath: [SQLIdentifier]?

    /// Further settings of each session, such as `["jit": "off"]`.
    package var sessionSettings: [String: String] = [:]

    /// The connections that turn waiting reads into pipelines.
    package var readConnections = 2

    /// As many read connections may be opened while those above are held up by slow reads.
    package var maximumReadConnections = 6

    /// The most reads of one pipeline.
    package var maximumReadBatch = 32

    /// The connections for writes with a commit of their own, each of which has one at a time; they are opened when
    /// needed.
    package var maximumWriteConnections = 16

    /// The most independent writes of one group commit.
    package var maximumGroupCommit = 64

    /// How long a write of a group commit waits for a row lock before it is tried on its own.
    package var groupCommitLockTimeout: Duration = .milliseconds(100)

    /// How long a group of writes that share a commit may run, and each statement of it. The statement that runs then
    /// is tried on its own, the others are grouped again.
    package var groupCommitTimeout: Duration = .milliseconds(250)

    /// The connections lent to transactions and COPY; they are opened when needed.
    package var maximumTransactionConnections = 8

    /// The part of a queue's connections that statements of one table may hold while they wait or run long; those of
    /// one row may hold this part of that part. The others stay for other tables and rows. Statements beyond it wait in
    /// the queue, where later ones overtake them, and fail with ``PostgresError/Code/acquireTimeout``.
    package var contendedShare = 0.5

    /// How long a connection beyond those that are there from the beginning stays open without work.
    package var idleConnectionTimeout: Duration = .seconds(60)

    /// The most statements that wait in one queue; the next is refused with ``PostgresError/Code/overloaded``.
    package var maximumQueueLength = 4096

    /// How long a statement or a transaction waits for a connection.
    package var acquireTimeout: Duration = .seconds(10)

    /// How long one statement may run; nil sets no limit.
    package var statementTimeout: Duration? = .seconds(30)

    /// How long one read may run, if that is less.
    package var readTimeout: Duration? = .seconds(10)

    /// How long after its time a statement may still run, or after its cancellation a read, until its connection is
    /// given up: PostgreSQL looks for a cancellation between rows and the like, and not inside of one long call.
    package var cancellationTimeout: Duration = .seconds(5)

    /// While this many server processes of abandoned connections still run, no further connection is opened in
    /// the place of one that is lost.
    package var maximumAbandonedBackends = 6

    /// How long a transaction may stay open without a statement.
    package var idleTransactionTimeout: Duration = .seconds(60)

    /// How long one attempt to connect may take for each host, unless the connection string says otherwise.
    package var connectTimeout: Duration = .seconds(5)

    /// How long shutting down waits for statements and transactions that were already accepted.
    package var drainTimeout: Duration = .seconds(20)

    /// Whether statements are prepared once per connection and then run by name.
    ///
    /// A connection finds out by itself whether a pooler is in between. Behind one settings are made for each transaction, since those
    /// of a session would leak to other clients, and statements are sent whole unless the pooler prepares them wherever they are run.
    package var preparedStatements = PreparedStatements.whereKept

    /// How often the client finds out whether notifications arrive, and how long one may take.
    package var notificationProbeInterval: Duration = .seconds(30)
    package var notificationProbeTimeout: Duration = .seconds(5)

    /// The most prepared statements of one connection; the least recently used goes first.
    package var maximumPreparedStatements = 256

    /// What of a transaction a stream of changes keeps.
    package var changeLimits = ChangeTransactionLimits()

    /// The most bytes of changes that wait for the reader of a stream, beside the transaction that is being received.
    package var maximumChangeBytes = 16 << 20

    /// How long a stream is held up by a reader that is behind, until it is given up: PostgreSQL keeps its log meanwhile.
    package var changeReaderTimeout: Duration = .seconds(30)

    /// Receives a report of every statement that ended; nil for no reports.
    package var reporting: StatementReporting?

    package init(connection: String) {
        self.connection = connection
    }
}

/// Where statements are prepared and then run by name.
package enum PreparedStatements: Sendable {
    /// In sessions of PostgreSQL, and behind poolers that prepare them wherever they are run, as PgBouncer does from 1.21 on.
    case whereKept
    /// Everywhere, as in a session of PostgreSQL: for a pooler that hands none to another client, which cannot be found out.
    case always
    /// Nowhere; settings are made for each transaction.
    case never
}
