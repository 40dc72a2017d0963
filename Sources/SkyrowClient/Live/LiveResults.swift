public import SkyrowModel
import SkyrowProtocol

extension RecordDatabase {
    /// The result of a query, again whenever it changes.
    ///
    /// ```swift
    /// let newest = try RecordQuery("note").sorted(by: "_created_at", .descending).limited(to: 10).counted()
    /// for try await page in database.watch(newest) { show(page.records, of: page.count) }
    /// ```
    ///
    /// It supports what ``live(_:)`` does not: an order and a limit, key paths through references, subqueries in the predicate,
    /// included records and counts. The service runs the query again when a record that it depends on has changed.
    ///
    /// - Parameter query: any query without a cursor and without `includingEachOnce()`.
    public func watch(_ query: RecordQuery) -> LiveResults<LivePage> {
        LiveResults(database: self, subject: .records(query)) { result in
            LivePage(records: result.records, count: result.count, countKind: result.countKind)
        }
    }

    /// The groups of an aggregate query, again whenever they change.
    ///
    /// ```swift
    /// let votes = try AggregateQuery("vote").grouped(by: "choice").computing("n", .count)
    /// for try await choices in database.watch(votes) { draw(choices.groups) }
    /// ```
    ///
    /// - Parameter query: the groups, and the aggregates of each.
    public func watch(_ query: AggregateQuery) -> LiveResults<AggregateGroups> {
        LiveResults(database: self, subject: .groups(query)) { $0.groups }
    }
}

/// The records of a watched query.
public struct LivePage: Hashable, Sendable {
    /// The records in the order of the query, each with its included records.
    public var records: [Record]
    /// The number of matching records, regardless of limit and offset; nil unless the query counts them.
    public var count: Int?
    /// The kind of the count, when the query asked for an estimate.
    public var countKind: CountKind?
}

/// A result that is kept current: the present one, then each one that replaces it.
///
/// ```swift
/// for try await page in database.watch(newest) { show(page.records) }
/// ```
///
/// It waits for an unavailable service without a limit, and reconnects after a lost connection, with the result as it is then.
/// It ends with its task, or when its iterator is dropped, and throws `ClientError` when the service refuses the query. It
/// counts as a live query in the client's event stream; the service keeps at most 10 results current per connection.
public struct LiveResults<Result: Sendable>: AsyncSequence, Sendable {
    /// The result at a point in time.
    public typealias Element = Result
    /// The error that ends the query.
    public typealias Failure = ClientError

    let database: RecordDatabase
    let subject: LiveWatchRequest.Subject
    let read: @Sendable (WatchedResult) -> Result

    /// Starts to keep the result current.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(run: WatchRun(database, subject), read: read)
    }

    /// The results of one run.
    public struct AsyncIterator: AsyncIteratorProtocol {
        /// The result at a point in time.
        public typealias Element = Result
        /// The error that ends the query.
        public typealias Failure = ClientError

        let run: WatchRun
        let read: @Sendable (WatchedResult) -> Result

        /// Waits for the next result; nil when the task is cancelled, and after an error.
        public mutating func next() async throws(ClientError) -> Result? {
            try await next(isolation: nil)
        }

        /// Waits for the next result; nil when the task is cancelled, and after an error.
        ///
        /// - Parameter actor: the actor that the caller runs on.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(ClientError) -> Result? {
            try await run.next().map(read)
        }
    }
}
