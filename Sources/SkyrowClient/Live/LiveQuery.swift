import SkyrowJSON
public import SkyrowModel
import SkyrowProtocol

extension RecordDatabase {
    /// The records that match a query, followed by their changes as events.
    ///
    /// ```swift
    /// let open = try RecordQuery("task").filter(Field("done") == false)
    /// for try await event in database.live(open) {
    ///     if case .created(let task) = event { print(task["title"]?.stringValue ?? "") }
    /// }
    /// ```
    ///
    /// - Parameter query: its type, predicate and selected fields count; a live query has no sort, limit or inclusions.
    public func live(_ query: RecordQuery) -> LiveQuery {
        LiveQuery(database: self, query: query)
    }
}

/// A query that stays open, with its events as they happen.
///
/// ```swift
/// for try await event in database.live(try RecordQuery("task")).withPrevious(["status"]) {
///     if case .updated(let task, let previous) = event, previous["status"] != nil { announce(task) }
/// }
/// ```
///
/// A live query waits for an unavailable service without a limit, reconnects after a lost connection, and continues where it
/// was, so an event may arrive twice. It ends with its task, or when its iterator is dropped, and throws `ClientError` when the
/// service refuses it. All live queries of a client share one connection. Each iteration is a separate run of the query.
public struct LiveQuery: AsyncSequence, Sendable {
    /// An event of the query.
    public typealias Element = LiveEvent
    /// The error that ends the query.
    public typealias Failure = ClientError

    let database: RecordDatabase
    let query: RecordQuery
    var request: LiveSubscribeRequest
    var byteLimit = 4 << 20

    init(database: RecordDatabase, query: RecordQuery) {
        self.database = database
        self.query = query
        request = LiveSubscribeRequest(
            name: "",
            database: database.name,
            type: query.type,
            predicate: query.predicate,
            desiredFields: query.desiredFields,
            sendsInitial: true
        )
    }

    /// Leaves out the records that match when the query starts.
    ///
    /// ```swift
    /// for try await event in database.live(try RecordQuery("order")).withoutInitial() { ring(event) }
    /// ```
    ///
    /// Without the initial records, an interruption that cannot be bridged is reported by ``LiveEvent/reset(_:)``.
    public func withoutInitial() -> LiveQuery {
        var query = self
        query.request.sendsInitial = false
        return query
    }

    /// Reports these events only, besides those of the start and of an interruption.
    ///
    /// ```swift
    /// database.live(try RecordQuery("order")).withoutInitial().only([.created, .entered])
    /// ```
    public func only(_ events: Set<LiveEventKind>) -> LiveQuery {
        var query = self
        query.request.events = events
        return query
    }

    /// Reports an update only when one of these fields changes.
    ///
    /// ```swift
    /// database.live(try RecordQuery("task")).watching(["status"])
    /// ```
    public func watching(_ fields: [String]) -> LiveQuery {
        var query = self
        query.request.watched = fields
        return query
    }

    /// Reports the old values of the fields that change.
    ///
    /// ```swift
    /// database.live(try RecordQuery("task")).withPrevious(["status"])
    /// ```
    ///
    /// - Parameter fields: the fields whose old values are reported; nil for all.
    public func withPrevious(_ fields: [String]? = nil) -> LiveQuery {
        var query = self
        query.request.previous = fields.map { .fields($0) } ?? .all
        return query
    }

    /// Sets the limit of the events that wait to be read. When they exceed it, they are dropped, and the query continues from
    /// what was read.
    ///
    /// ```swift
    /// database.live(try RecordQuery("task")).buffering(bytes: 64 * 1024)
    /// ```
    ///
    /// - Parameter bytes: the length of their JSON, 4 MB by default; a single commit always fits.
    public func buffering(bytes: Int) -> LiveQuery {
        var query = self
        query.byteLimit = bytes
        return query
    }

    /// Starts the query.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(run: LiveRun(self))
    }

    /// The events of one run of the query.
    public struct AsyncIterator: AsyncIteratorProtocol {
        /// An event of the query.
        public typealias Element = LiveEvent
        /// The error that ends the query.
        public typealias Failure = ClientError

        private let run: LiveRun
        private var events: [LiveEvent] = []
        private var place = 0

        init(run: LiveRun) {
            self.run = run
        }

        /// Waits for the next event; nil when the task is cancelled, and after an error.
        public mutating func next() async throws(ClientError) -> LiveEvent? {
            try await next(isolation: nil)
        }

        /// Waits for the next event; nil when the task is cancelled, and after an error.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(ClientError) -> LiveEvent? {
            while place == events.count {
                guard let batch = try await run.next() else { return nil }
                events = batch
                place = 0
            }
            defer { place += 1 }
            return events[place]
        }
    }
}

extension LiveQuery {
    /// The first part of the query that a live query does not support; nil when it supports all.
    var foreignPart: String? {
        if !query.sort.isEmpty { return "sort" }
        if !query.include.isEmpty { return "include" }
        if !query.omittedFields.isEmpty { return "omit" }
        if query.limit != RecordQuery.defaultLimit || query.offset != 0 { return "limit" }
        if query.position != .first { return "cursor" }
        if query.isRequired { return "required" }
        if query.counting != nil { return "count" }
        return nil
    }
}
