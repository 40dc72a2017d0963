public import SkyrowModel

extension RecordDatabase {
    /// The result of a query, again whenever it changes.
    ///
    /// ```swift
    /// let newest = try RecordQuery("note").sorted(by: "_created_at", .descending).limited(to: 10).counted()
    /// for try await page in database.watch(newest) { show(page.records, of: page.count) }
    /// ```
    ///
    /// It is for what ``live(_:)`` has no meaning for: an order and a limit, key paths through references, queries inside of the
    /// predicate, included records and counts. The service asks the query again when a record that it leads to has changed.
    ///
    /// - Parameter query: any but one with a cursor, or with included records apart from the others.
    public func watch(_ query: RecordQuery) -> LiveResults<LivePage> {
        LiveResults(database: self, subject: .records(query)) { result in
            LivePage(records: result.records, count: result.count, countKind: result.countKind)
        }
    }

    /// What the records of a type have in groups, again whenever it changes.
    ///
    /// ```swift
    /// let votes = try AggregateQuery("vote").grouped(by: "choice").computing("n", .count)
    /// for try await choices in database.watch(votes) { draw(choices.groups) }
    /// ```
    ///
    /// - Parameter query: the groups, and what is computed of each.
    public func watch(_ query: AggregateQuery) -> LiveResults<AggregateGroups> {
        LiveResults(database: self, subject: .groups(query)) { $0.groups }
    }
}

/// The records of a query that is kept current.
public struct LivePage: Hashable, Sendable {
    /// The records in the order of the query, each with those that it includes.
    public var records: [Record]
    /// How many records match before limit and offset; nil unless the query asked.
    public var count: Int?
    /// What the count is, when the query asked for an estimate.
    public var countKind: CountKind?
}

/// A result that is kept current: the present one, and each that takes its place.
///
/// ```swift
/// for try await page in database.watch(newest) { show(page.records) }
/// ```
///
/// It waits for the service as long as it takes, and comes back when the connection breaks, with the result as it is then. It ends
/// with its task, or when its iterator is dropped, and throws `ClientError` when the service refuses the query. It takes a place in
/// the event stream of the client's live queries; the service keeps at most 10 results current for a connection.
public struct LiveResults<Result: Sendable>: AsyncSequence, Sendable {
    /// The result at a moment.
    public typealias Element = Result
    /// Why it ends.
    public typealias Failure = ClientError

    let database: RecordDatabase
    let subject: LiveWatchRequest.Subject
    let read: @Sendable (WatchedResult) -> Result

    /// Begins to keep the result current.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(run: WatchRun(database, subject), read: read)
    }

    /// The results of one run.
    public struct AsyncIterator: AsyncIteratorProtocol {
        /// The result at a moment.
        public typealias Element = Result
        /// Why it ends.
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
