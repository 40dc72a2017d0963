/// What a client has done and what it has before it, for metrics.
package struct PostgresStatistics: Hashable, Sendable {
    /// The figures of one queue and its connections; all but the first two only grow.
    package struct Lane: Hashable, Sendable {
        /// The statements that wait now.
        package var queueDepth = 0
        /// The connections that are open now.
        package var connections = 0
        package var connects = 0
        package var statements = 0
        /// The pipelines in which the statements travelled.
        package var batches = 0
        package var largestBatch = 0
        /// The reads that were queued again because a slow one held them up.
        package var rescued = 0
        /// The shared commits that failed, so that their writes were tried one by one.
        package var failedGroups = 0
    }

    package var reads = Lane()
    package var writes = Lane()
    package var sharedWrites = Lane()
    /// The connections lent to transactions now, and those that are open.
    package var transactionsInUse = 0
    package var transactionConnections = 0
    package var transactionsWaiting = 0
}
