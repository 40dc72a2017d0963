/// What a client has done and what it has before it, for metrics.
package struct PostgresStatistics: Hashable, Sendable {
    /// The figures of one queue and its connections; all but the first five only grow.
    package struct Queue: Hashable, Sendable {
        /// The statements that wait now.
        package var queueDepth = 0
        /// Those of them that wait until others of their table or row, or others that ran long, have ended.
        package var heldBack = 0
        /// The connections that are open now, those of them that run statements, and those of these that have been at it
        /// for long.
        package var connections = 0
        package var busyConnections = 0
        package var heldUpConnections = 0
        package var connects = 0
        package var statements = 0
        /// The pipelines in which the statements travelled.
        package var batches = 0
        package var largestBatch = 0
        /// How many statements each pipeline carried.
        package var batchSize = Histogram.batchSizes
        /// How long statements waited until a connection took them, and how long they took from there, in nanoseconds.
        package var wait = Histogram.durations
        package var run = Histogram.durations
        /// The reads that were queued again because a slow one held them up.
        package var retried = 0
        /// The group commits that failed, so that their writes were tried again.
        package var failedGroups = 0

        package init() {}
    }

    package var reads = Queue()
    package var writes = Queue()
    package var groupCommits = Queue()
    /// The shapes of statements that ran long lately and therefore go by themselves.
    package var slowShapes = 0
    /// The connections lent to transactions now, and those that are open.
    package var transactionsInUse = 0
    package var transactionConnections = 0
    package var transactionsWaiting = 0
    /// The statements that did not end in time, whose connections were given up, and which have not been seen to end.
    package var abandonedStatements = 0
    /// How long transactions waited for a connection, and how long their statements took, in nanoseconds.
    package var transactionWait = Histogram.durations
    package var transactionRun = Histogram.durations
}
