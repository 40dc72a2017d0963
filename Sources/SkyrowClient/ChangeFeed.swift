public import SkyrowModel
import SkyrowProtocol

extension RecordDatabase {
    /// The records of a query, kept current: first all of them, then their changes, for as long as the feed is iterated.
    ///
    /// ```swift
    /// for try await page in notes.changes(of: RecordQuery("note"), from: stored) {
    ///     if page.beginsAnew { held.removeAll() }
    ///     for id in page.removed { held[id] = nil }
    ///     for record in page.changed { held[record.id] = record }
    ///     stored = page.position
    /// }
    /// ```
    ///
    /// Apply each page as a whole and store it with its position, from which a later feed continues. Applying a page twice is
    /// harmless. A position becomes invalid when it is too old, when the caller's rights change, or when the service is
    /// restored; the feed then compares what the client holds with the database and returns the difference. When the form of
    /// the type has changed, or the position is that of another query, the feed starts over.
    ///
    /// - Parameters:
    ///   - query: its type, predicate and selected fields count; the predicate may only depend on the record itself.
    ///   - position: that of the last stored page; nil for a client that holds nothing.
    ///   - waiting: how long a call waits for changes, 0 to 30 seconds, rounded up to a whole one; with nil the feed ends when it
    ///     is up to date.
    ///   - held: returns the ids and revisions that the client holds, for a comparison; without it the feed starts over.
    public func changes(
        of query: RecordQuery,
        from position: ChangeFeed.Position? = nil,
        waiting: Duration? = .seconds(25),
        held: (@Sendable () async -> [RecordID: Int64])? = nil
    ) -> ChangeFeed {
        ChangeFeed(database: self, query: query, position: position, waiting: waiting, held: held)
    }
}

/// A page of a change feed: what a client applies to be up to date.
public struct ChangePage: Hashable, Sendable {
    /// Whether the client first drops all records that it holds.
    public var beginsAnew = false
    /// The records to drop, before `changed` is applied; the client may not hold all of them.
    public var removed: [RecordID] = []
    /// The records to store in place of the client's versions.
    public var changed: [Record] = []
    /// The position from which a feed continues after this page.
    public var position: ChangeFeed.Position
    /// Whether the client is up to date as of the request for this page.
    public var isUpToDate = false
}

/// The pages of a change feed, each requested when the iterator reaches it; errors are `ClientError`.
///
/// A failed call is retried by the client's ``RetryPolicy``. After that it throws, and a new feed can continue from the last
/// position.
public struct ChangeFeed: AsyncSequence, Sendable {
    /// A page.
    public typealias Element = ChangePage
    /// The error of a call.
    public typealias Failure = ClientError

    /// A position in a feed, which can be stored as text.
    public struct Position: Hashable, Sendable, Codable, LosslessStringConvertible {
        enum Kind: String {
            case token = "t"
            case cursor = "c"
        }

        let kind: Kind
        let text: String

        init(_ kind: Kind, _ text: String) {
            self.kind = kind
            self.text = text
        }

        /// Parses a position; nil when the text is not one.
        public init?(_ description: String) {
            guard let kind = description.first.flatMap({ Kind(rawValue: String($0)) }) else { return nil }
            self.init(kind, String(description.dropFirst()))
        }

        public var description: String { kind.rawValue + text }

        public init(from decoder: any Decoder) throws {
            let text = try decoder.singleValueContainer().decode(String.self)
            guard let position = Position(text) else {
                throw DecodingError.dataCorrupted(
                    DecodingError.Context(
                        codingPath: decoder.codingPath,
                        debugDescription: "This is not a position of a change feed."
                    )
                )
            }
            self = position
        }

        /// Writes the position as one string.
        public func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(description)
        }
    }

    let database: RecordDatabase
    let query: RecordQuery
    let position: Position?
    let waiting: Duration?
    let held: (@Sendable () async -> [RecordID: Int64])?

    /// Starts at the feed's position.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(feed: self, position: position)
    }

    /// Requests one page after another.
    public struct AsyncIterator: AsyncIteratorProtocol {
        /// A page.
        public typealias Element = ChangePage
        /// The error of a call.
        public typealias Failure = ClientError

        let feed: ChangeFeed
        var position: Position?
        /// Whether the last page was up to date, so that the next call may wait.
        var isUpToDate = false
        /// Whether the client drops all records before the next page.
        var beginsAnew = false
        var hasEnded = false

        /// Requests the next page; nil at the end of a feed that does not wait, when the task is cancelled, and after an error.
        public mutating func next() async throws(ClientError) -> ChangePage? {
            try await next(isolation: nil)
        }

        /// Requests the next page; nil at the end of a feed that does not wait, when the task is cancelled, and after an error.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(ClientError) -> ChangePage? {
            do throws(ClientError) {
                while !hasEnded, !Task.isCancelled {
                    if let page = try await step() { return page }
                }
                hasEnded = true
                return nil
            } catch {
                hasEnded = true
                if Task.isCancelled { return nil }
                throw error
            }
        }

        /// Requests a page; nil when there is nothing to report.
        private mutating func step() async throws(ClientError) -> ChangePage? {
            if isUpToDate, feed.waiting == nil {
                hasEnded = true
                return nil
            }
            let response: ChangesResult
            do throws(ClientError) {
                response = try await feed.database.changes(
                    feed.query,
                    from: position?.inRequest ?? .start,
                    waiting: isUpToDate ? feed.waiting : nil
                )
            } catch {
                // A position of another query, or of one with other fields, says nothing about what the client holds.
                guard error.serverCode == .invalidToken, position != nil else { throw error }
                startOver()
                return nil
            }
            if let reset = response.reset { return try await page(after: reset) }
            guard let next = Position(after: response) else {
                throw ClientError(.invalidResponse, "The response has neither a token nor a cursor.")
            }
            let wasUpToDate = isUpToDate
            position = next
            isUpToDate = next.kind == .token
            // A page without changes is skipped, unless it is the first one that is up to date.
            if wasUpToDate, response.isEmpty, !beginsAnew { return nil }
            defer { beginsAnew = false }
            return ChangePage(
                beginsAnew: beginsAnew,
                removed: response.removed.compactMap { try? RecordID($0) },
                changed: response.records,
                position: next,
                isUpToDate: isUpToDate
            )
        }

        /// Returns the difference between what the client holds and the database; nil when the feed starts over.
        private mutating func page(after reset: LiveReset) async throws(ClientError) -> ChangePage? {
            var reset = reset
            while reset.allowsComparison, let held = feed.held {
                switch try await feed.compare(with: await held()) {
                case .difference(let page):
                    position = page.position
                    isUpToDate = false
                    beginsAnew = false
                    return page
                case .reset(let reason):
                    reset = reason
                    if reset.allowsComparison { try await feed.waitToCompare() }
                }
            }
            startOver()
            return nil
        }

        private mutating func startOver() {
            position = nil
            isUpToDate = false
            beginsAnew = true
        }
    }

    /// How a comparison ends.
    private enum Comparison {
        case difference(ChangePage)
        /// It became invalid before it was complete.
        case reset(LiveReset)
    }

    /// The number of records in one fetch.
    private static let batch = 100

    /// The delay before a comparison that became invalid starts again.
    private static let pause = Duration.seconds(1)

    private func waitToCompare() async throws(ClientError) {
        do {
            try await database.client.pause(Self.pause)
        } catch {
            throw ClientError(.cancelled, "The change feed was cancelled.", underlying: error)
        }
    }

    /// Compares what the client holds with the database.
    private func compare(with held: [RecordID: Int64]) async throws(ClientError) -> Comparison {
        var there: [RecordID: Int64] = [:]
        var cursor: String?
        var token: String?
        repeat {
            let page = try await database.compare(query, after: cursor)
            if let reset = page.reset { return .reset(reset) }
            for pair in page.pairs {
                guard let id = try? RecordID(type: query.type, id: pair.id) else {
                    throw ClientError(.invalidResponse, "The service sent an invalid record id.")
                }
                there[id] = pair.revision
            }
            cursor = page.cursor
            token = page.token
        } while cursor != nil
        guard let token else { throw ClientError(.invalidResponse, "The comparison has no token.") }
        var page = ChangePage(position: Position(.token, token))
        page.removed = held.keys.filter { there[$0] == nil }
        let differing = there.filter { held[$0.key] != $0.value }.map(\.key)
        for start in stride(from: 0, to: differing.count, by: Self.batch) {
            let ids = Array(differing[start..<Swift.min(start + Self.batch, differing.count)])
            // The next page reports a record that was deleted meanwhile.
            page.changed += try await database.present(ids, of: query).compactMap { $0 }
        }
        return .difference(page)
    }
}

extension ChangeFeed.Position {
    /// nil after a reset that leaves none.
    fileprivate init?(after page: ChangesResult) {
        if let cursor = page.cursor {
            self.init(.cursor, cursor)
        } else if let token = page.token {
            self.init(.token, token)
        } else {
            return nil
        }
    }

    fileprivate var inRequest: ChangesRequest.Position { kind == .token ? .since(text) : .cursor(text) }
}

extension ChangesResult {
    /// The changed records, which a client has whole.
    var records: [Record] { changed.compactMap { $0 as? Record } }
}

extension RecordDatabase {
    /// Returns records of a query as they are now, with its fields; nil for a record that is gone. Throws what else is wrong
    /// with one of them.
    func present(_ ids: [RecordID], of query: RecordQuery) async throws(ClientError) -> [Record?] {
        let fields = query.desiredFields.map { Set($0) }
        var records: [Record?] = []
        for result in try await fetch(ids) {
            switch result {
            case .success(var record):
                if let fields { record.fields = record.fields.filter { fields.contains($0.key.rawValue) } }
                records.append(record)
            case .failure(let error):
                guard error.code == .resourceNotFound else { throw .refused(error) }
                records.append(nil)
            }
        }
        return records
    }

    /// Returns a page of what changed in the records of a query.
    func changes(
        _ query: RecordQuery,
        from position: ChangesRequest.Position,
        waiting: Duration? = nil
    ) async throws(ClientError) -> ChangesResult {
        let request = ChangesRequest(
            database: name,
            query: ChangeQuery(type: query.type, predicate: query.predicate, desiredFields: query.desiredFields),
            position: position,
            limit: min(max(query.limit, 1), ChangesRequest.maximumLimit),
            wait: waiting
        )
        return try await client.call(Actions.changesFetch, request)
    }

    /// Returns a page of the ids and revisions of the records of a query.
    func compare(_ query: RecordQuery, after cursor: String?) async throws(ClientError) -> ComparedRecords {
        let request = ChangesRequest(
            database: name,
            query: ChangeQuery(type: query.type, predicate: query.predicate, desiredFields: query.desiredFields),
            position: cursor.map { .cursor($0) } ?? .start,
            limit: ChangesRequest.maximumPairs
        )
        return try await client.call(Actions.changesCompare, request)
    }
}
