/// How much live queries may take of a process.
package struct SubscriptionLimits: Hashable, Sendable {
    /// Subscriptions of one connection.
    package var perConnection = 100
    /// Subscriptions of one user, or of one address without a user.
    package var perUser = 1_000
    /// Subscriptions of an application.
    package var total = 200_000
    /// Queries of a type and database that every change is judged for.
    package var scans = 1_000
    /// Records of a query whose changes come without the records before.
    package var members = 10_000
    /// Rows of a transaction whose changes are sent one by one.
    package var transactionRows = 10_000
    /// Bytes that wait for one subscription until the records at its beginning are sent.
    package var bufferBytes = 1 << 20
    /// Queries that one connection has asked again and again.
    package var watchesPerConnection = 10
    /// The same of one user, or of one address without a user.
    package var watchesPerUser = 100
    /// The same of an application, where those that are the same for the same callers count once.
    package var watches = 1_000
    /// Bytes of the records that such a query sends at once.
    package var watchBytes = 1 << 20
    /// The least time from one asking to the next.
    package var watchInterval = Duration.milliseconds(250)
    /// Bytes of records that one transaction has written for the subscriptions of one client, eight times as many for those of all
    /// clients.
    package var writtenBytes = 8 << 20
    /// Relations of users that are asked for because of one transaction.
    package var relationPairs = 10_000
    /// Bytes that live queries hold of what clients have sent, of records that match and of events that wait; those that are asked again
    /// and again have as many.
    package var memory = 256 << 20
    /// The part of places and memory that one client may have.
    package var share = ClientShare()
    /// What judging changes in memory may take.
    package var steps = StepAllowances.Limits()
}
