/// The limits of a ``ConnectionQueue``.
struct QueueLimits: Sendable {
    /// The number of workers that are kept while idle.
    var minimumWorkers = 0
    var maximumWorkers = 1
    /// How many statements one batch may have.
    var maximumBatch = 1
    var maximumLength = Int.max
    /// Whether every statement is bounded, and not only those that ran long.
    var boundsEveryStatement = false
    /// Upper bound on the workers that run bounded statements.
    var boundedWorkers = 1
    /// Upper bounds on the workers that run bounded statements of one table, and of one row.
    var tableWorkers = 1
    var rowWorkers = 1
    /// How long a surplus worker stays idle before it closes its connection.
    var idleTimeout: Duration = .seconds(60)
    /// How long a statement may run before its worker counts as held up.
    var heldUpTimeout: Duration = .milliseconds(100)
    /// The time limit of a group commit; nil for queues without groups.
    var groupTimeout: Duration?
    /// Whether a statement that delays others may be run a second time.
    var mayRetry = false

    /// The number of workers that are kept free of bounded statements, as far as enough workers exist.
    var reservedWorkers: Int { max(0, maximumWorkers - boundedWorkers) }

    init() {}

    init(role: ConnectionRole, configuration: PostgresConfiguration) {
        maximumLength = configuration.maximumQueueLength
        idleTimeout = configuration.idleConnectionTimeout
        heldUpTimeout = configuration.heldUpTimeout
        switch role {
        case .read:
            minimumWorkers = max(1, configuration.readConnections)
            maximumWorkers = max(minimumWorkers, configuration.maximumReadConnections)
            maximumBatch = max(1, configuration.maximumReadBatch)
            boundedWorkers = max(1, maximumWorkers - minimumWorkers)
            mayRetry = true
        case .write, .transaction, .listen:
            maximumWorkers = max(1, configuration.maximumWriteConnections)
            boundedWorkers = maximumWorkers
            boundsEveryStatement = true
        case .groupCommit:
            maximumBatch = max(1, configuration.maximumGroupCommit)
            groupTimeout = configuration.groupCommitTimeout
        }
        tableWorkers = Self.part(configuration.contendedShare, of: boundedWorkers)
        rowWorkers = Self.part(configuration.contendedShare, of: tableWorkers)
    }

    private static func part(_ share: Double, of workers: Int) -> Int {
        min(workers, max(1, Int((Double(workers) * share).rounded(.down))))
    }
}
