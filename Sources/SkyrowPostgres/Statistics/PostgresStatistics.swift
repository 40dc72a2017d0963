/// The state and the counters of a client, for metrics.
package struct PostgresStatistics: Hashable, Sendable {
    /// The figures of one queue and its connections; all except the first five are counters.
    package struct Queue: Hashable, Sendable {
        /// The statements that wait now.
        package var queueDepth = 0
        /// Those of them that wait because others of their table or row, or slow ones, must end first.
        package var heldBack = 0
        /// The connections that are open now, those that run statements, and those that have done so for long.
        package var connections = 0
        package var busyConnections = 0
        package var heldUpConnections = 0
        package var connects = 0
        package var statements = 0
        /// The pipelines in which the statements were sent.
        package var batches = 0
        package var largestBatch = 0
        /// The number of statements of each pipeline.
        package var batchSize = Histogram.batchSizes
        /// How long statements waited for a connection, and how long they took from then on, in nanoseconds.
        package var wait = Histogram.durations
        package var run = Histogram.durations
        /// The reads that were queued again because a slow one held them up.
        package var retried = 0
        /// The group commits that failed, so that their writes were retried.
        package var failedGroups = 0

        package init() {}
    }

    package var reads = Queue()
    package var writes = Queue()
    package var groupCommits = Queue()
    /// The shapes of statements that ran long recently and therefore run alone.
    package var slowShapes = 0
    /// The connections that are lent to transactions now, and those that are open.
    package var transactionsInUse = 0
    package var transactionConnections = 0
    package var transactionsWaiting = 0
    /// The statements that exceeded their time limit, whose connections were abandoned and which have not been seen to end.
    package var abandonedStatements = 0
    /// How long transactions waited for a connection, and how long their statements took, in nanoseconds.
    package var transactionWait = Histogram.durations
    package var transactionRun = Histogram.durations
}
