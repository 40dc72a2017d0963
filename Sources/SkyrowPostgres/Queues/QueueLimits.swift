/// What bounds a ``ConnectionQueue``.
struct QueueLimits: Sendable {
    /// The number of workers that are kept while idle.
    var minimumWorkers = 0
    var maximumWorkers = 1
    /// How many statements travel together.
    var maximumBatch = 1
    var maximumLength = Int.max
    /// Whether every statement is bounded by what it may wait for, and not only one that ran long.
    var boundsEveryStatement = false
    /// As many workers may run bounded statements at a time.
    var boundedWorkers = 1
    /// As many workers may run bounded statements of one table, and of one row.
    var tableWorkers = 1
    var rowWorkers = 1
    /// A surplus worker closes its connection after this time without work.
    var idleTimeout: Duration = .seconds(60)
    /// A group commit is cancelled after this time; nil for queues without groups.
    var groupTimeout: Duration?
    /// Whether a statement that holds up others may be run a second time.
    var mayRetry = false

    /// As many workers stay free of bounded statements, as far as there are others.
    var reservedWorkers: Int { max(0, maximumWorkers - boundedWorkers) }

    init() {}

    init(role: ConnectionRole, configuration: PostgresConfiguration) {
        maximumLength = configuration.maximumQueueLength
        idleTimeout = configuration.idleConnectionTimeout
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
