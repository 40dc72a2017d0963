public import SkyrowModel

extension RecordDatabase {
    /// The pages of a query one after another, each of at most its `limit` records.
    ///
    /// ```swift
    /// for try await page in notes.pages(of: RecordQuery("note").sorted(by: "due").limited(to: 100)) {
    ///     show(page.records)
    /// }
    /// ```
    ///
    /// A record that is there all the time and keeps its sort values comes exactly once, however many others come and go. A
    /// query of the last records goes backwards: to the records before them, with each page in the order of the query.
    public func pages(of query: RecordQuery) -> QueryPages {
        QueryPages(database: self, query: query)
    }

    /// All records of a query, read page by page.
    ///
    /// ```swift
    /// for try await note in notes.records(of: RecordQuery("note").sorted(by: "due")) { show(note) }
    /// ```
    ///
    /// - Parameter query: its limit is the number of records of a page. Of a query of the last records, the last comes first.
    public func records(of query: RecordQuery) -> QueryRecords {
        QueryRecords(pages: pages(of: query), isReversed: query.position.isBackwards)
    }
}

/// The pages of a query, each of which is asked for when it is iterated to; errors are `ClientError`.
public struct QueryPages: AsyncSequence, Sendable {
    /// A page.
    public typealias Element = QueryPage
    /// What a call throws.
    public typealias Failure = ClientError

    let database: RecordDatabase
    let query: RecordQuery

    /// Begins with the first page.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(database: database, upcoming: query)
    }

    /// Asks for one page after another.
    public struct AsyncIterator: AsyncIteratorProtocol {
        /// A page.
        public typealias Element = QueryPage
        /// What a call throws.
        public typealias Failure = ClientError

        let database: RecordDatabase
        /// The query of the next page; nil behind the last one.
        var upcoming: RecordQuery?

        /// Asks for the next page; nil behind the last one, and after an error.
        public mutating func next() async throws(ClientError) -> QueryPage? {
            try await next(isolation: nil)
        }

        /// Asks for the next page; nil behind the last one, and after an error.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(ClientError) -> QueryPage? {
            guard let query = upcoming else { return nil }
            upcoming = nil
            let page = try await database.query(query)
            if page.hasMore, let cursor = page.cursor {
                var following = query.position.isBackwards ? query.before(cursor) : query.after(cursor)
                // It was for the first page.
                following.offset = 0
                following.isRequired = false
                following.counting = nil
                upcoming = following
            }
            return page
        }
    }
}

/// The records of a query, which are read page by page; errors are `ClientError`.
public struct QueryRecords: AsyncSequence, Sendable {
    /// A record.
    public typealias Element = Record
    /// What a call throws.
    public typealias Failure = ClientError

    let pages: QueryPages
    let isReversed: Bool

    /// Begins with the first record.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(pages: pages.makeAsyncIterator(), isReversed: isReversed)
    }

    /// Goes through the records of a page, then asks for the next one.
    public struct AsyncIterator: AsyncIteratorProtocol {
        /// A record.
        public typealias Element = Record
        /// What a call throws.
        public typealias Failure = ClientError

        var pages: QueryPages.AsyncIterator
        let isReversed: Bool
        var records: [Record] = []
        var place = 0

        /// The next record; nil behind the last one, and after an error.
        public mutating func next() async throws(ClientError) -> Record? {
            try await next(isolation: nil)
        }

        /// The next record; nil behind the last one, and after an error.
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
