public import SkyrowModel

extension RecordDatabase {
    /// The pages of a query, one after another, each with at most its `limit` records.
    ///
    /// ```swift
    /// for try await page in notes.pages(of: RecordQuery("note").sorted(by: "due").limited(to: 100)) {
    ///     show(page.records)
    /// }
    /// ```
    ///
    /// A record that exists throughout and keeps its sort values appears exactly once, even when others are created or deleted.
    /// A query for the last records continues backwards, to the records before them, with each page in the order of the query.
    public func pages(of query: RecordQuery) -> QueryPages {
        QueryPages(database: self, query: query)
    }

    /// All records of a query, read page by page.
    ///
    /// ```swift
    /// for try await note in notes.records(of: RecordQuery("note").sorted(by: "due")) { show(note) }
    /// ```
    ///
    /// - Parameter query: its limit is the page size. A query for the last records returns the last record first.
    public func records(of query: RecordQuery) -> QueryRecords {
        QueryRecords(pages: pages(of: query), isReversed: query.position.isBackwards)
    }
}

/// The pages of a query, each requested when the iterator reaches it; errors are `ClientError`.
public struct QueryPages: AsyncSequence, Sendable {
    /// A page.
    public typealias Element = QueryPage
    /// The error of a call.
    public typealias Failure = ClientError

    let database: RecordDatabase
    let query: RecordQuery

    /// Starts with the first page.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(database: database, upcoming: query)
    }

    /// Requests one page after another.
    public struct AsyncIterator: AsyncIteratorProtocol {
        /// A page.
        public typealias Element = QueryPage
        /// The error of a call.
        public typealias Failure = ClientError

        let database: RecordDatabase
        /// The query of the next page; nil after the last one.
        var upcoming: RecordQuery?

        /// Requests the next page; nil after the last one, and after an error.
        public mutating func next() async throws(ClientError) -> QueryPage? {
            try await next(isolation: nil)
        }

        /// Requests the next page; nil after the last one, and after an error.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(ClientError) -> QueryPage? {
            guard let query = upcoming else { return nil }
            upcoming = nil
            let page = try await database.query(query)
            if page.hasMore, let cursor = page.cursor {
                var following = query.position.isBackwards ? query.before(cursor) : query.after(cursor)
                // These apply to the first page only.
                following.offset = 0
                following.isRequired = false
                following.counting = nil
                upcoming = following
            }
            return page
        }
    }
}

/// The records of a query, read page by page; errors are `ClientError`.
public struct QueryRecords: AsyncSequence, Sendable {
    /// A record.
    public typealias Element = Record
    /// The error of a call.
    public typealias Failure = ClientError

    let pages: QueryPages
    let isReversed: Bool

    /// Starts with the first record.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(pages: pages.makeAsyncIterator(), isReversed: isReversed)
    }

    /// Returns the records of a page, then requests the next page.
    public struct AsyncIterator: AsyncIteratorProtocol {
        /// A record.
        public typealias Element = Record
        /// The error of a call.
        public typealias Failure = ClientError

        var pages: QueryPages.AsyncIterator
        let isReversed: Bool
        var records: [Record] = []
        var place = 0

        /// Returns the next record; nil after the last one, and after an error.
        public mutating func next() async throws(ClientError) -> Record? {
            try await next(isolation: nil)
        }

        /// Returns the next record; nil after the last one, and after an error.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(ClientError) -> Record? {
            while place == records.count {
                guard let page = try await pages.next(isolation: actor) else { return nil }
                records = isReversed ? page.records.reversed() : page.records
                place = 0
            }
            defer { place += 1 }
            return records[place]
        }
    }
}
