/// The limits of live queries in a process.
package struct SubscriptionLimits: Hashable, Sendable {
    /// Subscriptions of one connection.
    package var perConnection = 100
    /// Subscriptions of one user, or of one address without a user.
    package var perUser = 1_000
    /// Subscriptions of an application.
    package var total = 200_000
    /// Queries of a type and database that every change is judged for.
    package var scans = 1_000
    /// Matching records of a query whose changes lack the record before.
    package var members = 10_000
    /// Rows of a transaction whose changes are sent individually.
    package var transactionRows = 10_000
    /// Bytes buffered for one subscription until its records are loaded.
    package var bufferBytes = 1 << 20
    /// Queries kept current by running them again, of one connection.
    package var watchesPerConnection = 10
    /// The same of one user, or of one address without a user.
    package var watchesPerUser = 100
    /// The same of an application; equal queries with equal access count once.
    package var watches = 1_000
    /// Bytes of the result of such a query.
    package var watchBytes = 1 << 20
    /// The minimum interval between two runs of such a query.
    package var watchInterval = Duration.milliseconds(250)
    /// Bytes of records that one transaction may encode for the subscriptions of one client; eight times as many for all clients
    /// together.
    package var writtenBytes = 8 << 20
    /// Relations of users that are queried for one transaction.
    package var relationPairs = 10_000
    /// Bytes that live queries hold: of what clients sent, of matching records and of buffered events. Queries that are run again
    /// have a separate limit of the same size.
    package var memory = 256 << 20
    /// The share of slots and memory that one client may have.
    package var share = ClientShare()
    /// The limits on judging changes in memory.
    package var steps = StepAllowances.Limits()
}
