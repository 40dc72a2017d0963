public import SkyrowModel

/// The records that match a live query, kept current by its events.
///
/// ```swift
/// var tasks = LiveRecords()
/// for try await event in database.live(try RecordQuery("task")) {
///     if tasks.apply(event), tasks.isReady { show(tasks.sorted()) }
/// }
/// ```
///
/// A repeated event changes nothing. ``LiveQuery/records`` does the same with less code.
public struct LiveRecords: Hashable, Sendable {
    /// The records by their ids.
    public private(set) var byID: [RecordID: Record] = [:]
    /// Whether all records that matched at the start have arrived.
    public private(set) var isReady = false

    /// Creates an empty value.
    public init() {}

    /// The number of records.
    public var count: Int { byID.count }
    /// Whether there are no records.
    public var isEmpty: Bool { byID.isEmpty }

    /// The record of an id; nil when it does not match.
    ///
    /// ```swift
    /// tasks[try RecordID("task/1")]?["title"]
    /// ```
    public subscript(id: RecordID) -> Record? { byID[id] }

    /// Returns the records in an order.
    ///
    /// ```swift
    /// tasks.sorted { ($0.revision ?? 0) < ($1.revision ?? 0) }
    /// ```
    public func sorted(by areInIncreasingOrder: (Record, Record) -> Bool) -> [Record] {
        byID.values.sorted(by: areInIncreasingOrder)
    }

    /// Returns the records in the order of their ids.
    ///
    /// ```swift
    /// for task in tasks.sorted() { print(task["title"]?.stringValue ?? "") }
    /// ```
    public func sorted() -> [Record] {
        sorted { $0.id.id.utf8.lexicographicallyPrecedes($1.id.id.utf8) }
    }

    /// Applies an event; returns false when it changed nothing.
    ///
    /// ```swift
    /// if tasks.apply(event) { show(tasks) }
    /// ```
    @discardableResult
    public mutating func apply(_ event: LiveEvent) -> Bool {
        switch event {
        case .initial(let record), .created(let record), .entered(let record, _), .updated(let record, _),
            .changed(let record):
            return byID.updateValue(record, forKey: record.id) != record
        case .left(let record, _):
            return byID.removeValue(forKey: record.id) != nil
        case .deleted(let id), .removed(let id):
            return byID.removeValue(forKey: id) != nil
        case .ready:
            defer { isReady = true }
            return !isReady
        case .reset:
            return false
        }
    }
}

extension LiveQuery {
    /// The matching records, as a new snapshot whenever they change.
    ///
    /// ```swift
    /// for try await tasks in database.live(try RecordQuery("task").filter(Field("done") == false)).records {
    ///     show(tasks.sorted())
    /// }
    /// ```
    ///
    /// The first snapshot comes when all matching records have arrived, then one after each commit that changes them; changes
    /// during the processing of a snapshot are in the next.
    public var records: LiveSnapshots { LiveSnapshots(query: self) }
}

/// The records of a live query, as a new snapshot whenever they change.
///
/// ```swift
/// for try await tasks in database.live(query).records { show(tasks.sorted()) }
/// ```
public struct LiveSnapshots: AsyncSequence, Sendable {
    /// The records at a point in time.
    public typealias Element = LiveRecords
    /// The error that ends the query.
    public typealias Failure = ClientError

    let query: LiveQuery

    /// Starts the query.
    public func makeAsyncIterator() -> AsyncIterator {
        var whole = query
        // Each change counts here, and old values are not needed.
        whole.request.sendsInitial = true
        whole.request.events = Set(LiveEventKind.allCases)
        whole.request.previous = .none
        return AsyncIterator(run: LiveRun(whole))
    }

    /// The records of one run of the query.
    public struct AsyncIterator: AsyncIteratorProtocol {
        /// The records at a point in time.
        public typealias Element = LiveRecords
        /// The error that ends the query.
        public typealias Failure = ClientError

        private let run: LiveRun
        private var records = LiveRecords()

        init(run: LiveRun) {
            self.run = run
        }

        /// Waits for the next change; nil when the task is cancelled, and after an error.
        public mutating func next() async throws(ClientError) -> LiveRecords? {
            try await next(isolation: nil)
        }

        /// Waits for the next change; nil when the task is cancelled, and after an error.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(ClientError) -> LiveRecords? {
            while let events = try await run.next() {
                var hasChanged = false
                for event in events where records.apply(event) { hasChanged = true }
                if hasChanged, records.isReady { return records }
            }
            return nil
        }
    }
}
