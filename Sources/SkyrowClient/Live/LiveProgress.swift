import SkyrowModel
import SkyrowProtocol

/// An item that an event stream delivers to one live query.
enum LiveItem: Hashable, Sendable {
    /// The events of one commit.
    case changes([LiveEvent])
    /// The changes of a watched result, or the whole result.
    case result([WatchedChange], isWhole: Bool)
    case checkpoint(token: String, isReady: Bool)
    case reset(LiveReset, token: String?, pause: Duration?)
    /// The subscription was started again without a token: the following items do not continue the earlier ones.
    case restarted
    /// More data arrived than the query buffers, and was dropped.
    case dropped
    case refused(ClientErrorValue)
}

/// A refusal of the service, or an invalid response.
enum ClientErrorValue: Hashable, Sendable {
    case refused(SkyrowError)
    case invalid(String)

    var error: ClientError {
        switch self {
        case .refused(let error): .refused(error)
        case .invalid(let message): ClientError(.invalidResponse, message)
        }
    }
}

/// The position from which a subscription starts.
enum LiveStart: Hashable, Sendable {
    case anew
    case since(String)
}

/// The progress of a live query and its next step: a value without a connection.
///
/// ```swift
/// var progress = LiveProgress(type: task, loadsRecords: true)
/// progress.step                                             // .attach(.anew)
/// progress.attached()
/// progress.take(.checkpoint(token: "a", isReady: true))     // [.ready]
/// progress.take(.reset(.gap, token: nil, pause: nil))       // [], and the step is .attach(.since("a"))
/// ```
struct LiveProgress {
    enum Step: Hashable {
        /// Subscribe, after a delay.
        case attach(LiveStart, after: Duration?)
        /// Wait for the next item of the stream.
        case listen
        /// Read ids and revisions, and compare them with the held ones.
        case compare(cursor: String?, after: Duration?)
        /// Fetch these records, which differ.
        case fetch([String])
        /// Read the records page by page.
        case load(cursor: String?)
    }

    private let type: RecordTypeName
    /// Whether the query holds the matching records, because they are sent at the start.
    let loadsRecords: Bool
    private(set) var step = Step.attach(.anew, after: nil)
    /// Whether the query has been ready.
    private(set) var isEstablished = false
    /// The token of the last checkpoint; nil before the first one, and while the held records are in doubt.
    private(set) var token: String?
    /// The revisions of the matching records, by id without the type.
    private(set) var held: [TextKey: Int64] = [:]
    /// The ids that have arrived since the query started over; nil while it continues.
    private var fresh: Set<TextKey>?
    /// The ids that a comparison has listed.
    private var listed: Set<TextKey> = []
    /// The ids that a comparison has found to differ.
    private var differing: [String] = []

    /// Upper bound on the records of one fetch.
    static let fetchLimit = 100

    init(type: RecordTypeName, loadsRecords: Bool) {
        self.type = type
        self.loadsRecords = loadsRecords
    }

    mutating func attached() {
        step = .listen
    }

    /// Schedules another subscription after a delay.
    mutating func attachAgain(after pause: Duration) {
        step = .attach(token.map { .since($0) } ?? .anew, after: pause)
    }

    /// Applies an item of the stream; returns the events to report.
    mutating func take(_ item: LiveItem) -> [LiveEvent] {
        switch item {
        case .changes(let events):
            return events.filter { note($0) }
        case .checkpoint(let token, let isReady):
            self.token = token
            guard isReady else { return [] }
            isEstablished = true
            return settle() + [.ready]
        case .reset(let reason, let token, let pause):
            return reset(reason, token, pause)
        case .restarted:
            return beginAnew(.gap, says: !loadsRecords)
        case .dropped:
            if let token {
                step = .attach(.since(token), after: nil)
                return []
            }
            step = loadsRecords ? .load(cursor: nil) : .attach(.anew, after: nil)
            return beginAnew(.gap, says: !loadsRecords)
        case .result, .refused:
            return []
        }
    }

    private mutating func reset(_ reason: LiveReset, _ given: String?, _ pause: Duration?) -> [LiveEvent] {
        switch reason {
        case .gap, .bulk:
            if let token = given ?? token {
                self.token = token
                step = .attach(.since(token), after: pause)
                return []
            }
        case .access, .branch, .expired:
            if loadsRecords, fresh == nil, isEstablished {
                token = nil
                listed = []
                differing = []
                step = .compare(cursor: nil, after: pause)
                return [.reset(reason)]
            }
        default: break
        }
        step = .attach(.anew, after: pause)
        return beginAnew(reason, says: true)
    }

    private mutating func beginAnew(_ reason: LiveReset, says: Bool) -> [LiveEvent] {
        token = nil
        fresh = loadsRecords ? [] : nil
        return says ? [.reset(reason)] : []
    }

    /// Updates the held revisions; returns false for an event that need not be reported.
    private mutating func note(_ event: LiveEvent) -> Bool {
        guard loadsRecords else { return true }
        switch event {
        case .initial(let record), .created(let record), .entered(let record, _), .updated(let record, _),
            .changed(let record):
            let key = TextKey(record.id.id)
            held[key] = record.revision ?? 0
            fresh?.insert(key)
        case .left(let record, _):
            drop(record.id)
        case .deleted(let id):
            drop(id)
        case .removed(let id):
            return drop(id)
        case .ready, .reset: break
        }
        return true
    }

    @discardableResult
    private mutating func drop(_ id: RecordID) -> Bool {
        fresh?.remove(TextKey(id.id))
        return held.removeValue(forKey: TextKey(id.id)) != nil
    }

    /// Removes the records that were held before the query started over and did not arrive again.
    private mutating func settle() -> [LiveEvent] {
        guard let fresh else { return [] }
        self.fresh = nil
        return removeAll { !fresh.contains($0) }
    }

    private mutating func removeAll(where isGone: (TextKey) -> Bool) -> [LiveEvent] {
        let gone = held.keys.filter(isGone)
        for key in gone { held[key] = nil }
        return gone.compactMap { try? RecordID(type: type, id: $0.text) }.map { .removed($0) }
    }
}

// MARK: Catching up by calls

extension LiveProgress {
    /// Applies a page of `changes:compare`.
    mutating func compared(_ page: ComparedRecords) -> [LiveEvent] {
        if let reason = page.reset {
            guard reason.allowsComparison else {
                step = .attach(.anew, after: nil)
                return beginAnew(reason, says: true)
            }
            // The comparison became invalid, so it starts again.
            listed = []
            differing = []
            step = .compare(cursor: nil, after: .seconds(1))
            return []
        }
        for pair in page.pairs {
            let key = TextKey(pair.id)
            listed.insert(key)
            if held[key] != pair.revision { differing.append(pair.id) }
        }
        guard let token = page.token else {
            step = .compare(cursor: page.cursor, after: nil)
            return []
        }
        self.token = token
        let listed = listed
        self.listed = []
        let events = removeAll { !listed.contains($0) }
        fetchNext()
        return events
    }

    /// Applies records that differed; nil for a record that is gone meanwhile.
    mutating func fetched(_ records: [(id: String, record: Record?)]) -> [LiveEvent] {
        var events: [LiveEvent] = []
        for (id, record) in records {
            if let record {
                held[TextKey(id)] = record.revision ?? 0
                events.append(.changed(record))
            } else if held.removeValue(forKey: TextKey(id)) != nil, let id = try? RecordID(type: type, id: id) {
                events.append(.removed(id))
            }
        }
        fetchNext()
        return events
    }

    private mutating func fetchNext() {
        if differing.isEmpty {
            step = .attach(token.map { .since($0) } ?? .anew, after: nil)
        } else {
            step = .fetch(Array(differing.prefix(Self.fetchLimit)))
            differing.removeFirst(min(Self.fetchLimit, differing.count))
        }
    }

    /// Applies a page of `changes:fetch` from the beginning.
    mutating func loaded(_ page: ChangesResult) -> [LiveEvent] {
        if page.reset != nil {
            fresh = []
            step = .load(cursor: nil)
            return []
        }
        let events = page.records.map { LiveEvent.initial($0) }
        for event in events { _ = note(event) }
        guard let token = page.token else {
            step = .load(cursor: page.cursor)
            return events
        }
        self.token = token
        step = .attach(.since(token), after: nil)
        return events + settle()
    }
}
