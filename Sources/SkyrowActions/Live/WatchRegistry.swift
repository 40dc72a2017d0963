import SkyrowModel
import SkyrowProtocol
import SkyrowQuery
import SkyrowStore

/// The queries that are kept current by running them again, their subscriptions, and when each runs next: a value without I/O or
/// waiting.
///
/// ```swift
/// let watcher = try registry.add(request)
/// registry.note(transaction)          // something that they are about has changed
/// let step = registry.next(at: .now)  // .ask(group), or how long to wait
/// ```
struct WatchRegistry {
    typealias Connection = LiveRegistry.Connection
    /// The number of a subscription.
    typealias Watcher = Int
    /// The number of a query with its subscriptions.
    typealias Group = Int

    /// What determines the result of a query.
    struct Key: Hashable, Sendable {
        let database: DatabaseScope
        let subject: LiveWatchRequest.Subject
        let visibility: ResolvedVisibility
        let fields: FieldAccess
    }

    /// The parameters of a new subscription.
    struct Request: Sendable {
        let name: String
        let connection: Connection
        var holder: LiveHolder
        let key: Key
        let databaseName: DatabaseName
        /// The types whose records determine the result, with their current tables.
        let tables: [RecordTypeName: RecordTable]
        /// The databases whose records determine the result.
        let databases: Set<DatabaseScope>
        /// Whether relations of users decide what the caller may read.
        let asksRelations: Bool
    }

    /// A subscription to a result.
    struct Subscription: Sendable {
        let request: Request
        /// The beginning of the text of each of its events.
        let head: [UInt8]
        let group: Group
        /// Whether it has received no result yet, or has lost one.
        var isNew = true
        /// Whether its connection currently accepts nothing.
        var isPaused = false
    }

    /// One query.
    struct Watched {
        let key: Key
        let types: [RecordTypeName]
        let databases: Set<DatabaseScope>
        /// The client among its subscribers whose share it takes; nil for the operator.
        var payer: ClientKey?
        /// Its subscriptions, oldest first; the query runs with the rights of the first one.
        var watchers: [Watcher] = []
        /// The last result, and a hash of the remainder: the count of matching records, or the groups.
        var last = WatchedAnswer.List()
        var lastRest: Int?
        var isAsking = false
        /// The earliest time of the next run.
        var due: ContinuousClock.Instant
        /// The number of the run whose result was accepted last.
        var taken = 0
        /// The number of consecutive failures.
        var failures = 0
    }

    /// The next thing to do.
    enum Step: Equatable {
        case ask(Group)
        case wait(until: ContinuousClock.Instant)
        case nothing
    }

    let limits: SubscriptionLimits
    private(set) var watchers = SlotTable<Subscription>()
    private(set) var groups = SlotTable<Watched>()
    private(set) var book: SubscriptionBook
    private var clientShares: LiveShares
    private var tables = FollowedTables()
    private var numbers: [Key: Group] = [:]
    private var groupsOfTypes: [RecordTypeName: Set<Group>] = [:]
    /// The groups whose results may have changed.
    private var stale: Set<Group> = []
    private var nextAsking = 0

    init(limits: SubscriptionLimits) {
        self.limits = limits
        book = SubscriptionBook(of: .results, limits)
        clientShares = LiveShares(of: .results, limits)
    }

    var isEmpty: Bool { watchers.isEmpty }

    // MARK: Subscriptions

    /// Adds a subscription, whose first run ``begin()`` numbers.
    ///
    /// Throws `135 Overloaded` above a limit.
    mutating func add(_ request: Request) throws(SkyrowError) -> Watcher {
        try book.requireRoom(on: request.connection, for: request.holder)
        let group = try group(of: request)
        for table in request.tables.values { tables.add(table, isOfGroup: false) }
        var request = request
        request.holder = book.known(request.holder, on: request.connection)
        let number = watchers.insert(Subscription(request: request, head: LiveText.head(request.name), group: group))
        groups[group]?.watchers.append(number)
        book.add(number, of: request.holder, asksRelations: request.asksRelations, on: request.connection)
        return number
    }

    private mutating func group(of request: Request) throws(SkyrowError) -> Group {
        if let known = numbers[request.key] { return known }
        try clientShares.enter(request.key.subject.heldBytes, of: request.holder.paying)
        let group = groups.insert(
            Watched(
                key: request.key,
                types: Array(request.tables.keys),
                databases: request.databases,
                payer: request.holder.paying,
                due: .now
            )
        )
        numbers[request.key] = group
        for (type, table) in request.tables {
            groupsOfTypes[type, default: []].insert(group)
            tables.add(table, isOfGroup: true)
        }
        return group
    }

    /// Removes a subscription.
    mutating func remove(_ number: Watcher) {
        guard let watcher = watchers.remove(number) else { return }
        let (request, holder) = (watcher.request, watcher.request.holder)
        book.remove(number, of: holder, asksRelations: request.asksRelations, on: request.connection)
        groups[watcher.group]?.watchers.removeAll { $0 == number }
        guard let group = groups[watcher.group] else { return }
        let bytes = group.key.subject.heldBytes
        if let heir = group.watchers.first.flatMap({ watchers[$0]?.request.holder }) {
            // The removed one may have been the paying one.
            guard group.payer == holder.paying else { return }
            clientShares.passPlace(bytes, from: group.payer, to: heir.paying)
            groups[watcher.group]?.payer = heir.paying
            return
        }
        clientShares.leave(bytes, of: group.payer)
        groups.remove(watcher.group)
        numbers[group.key] = nil
        stale.remove(watcher.group)
        for type in group.types {
            tables.leave(type)
            groupsOfTypes[type]?.remove(watcher.group)
            if groupsOfTypes[type]?.isEmpty == true { groupsOfTypes[type] = nil }
        }
    }

    /// Returns the subscription of a name; nil without one.
    func watcher(_ name: String, of connection: Connection) -> Watcher? {
        book.numbers(of: connection).first { watchers[$0]?.request.name == name }
    }

    /// Returns the subscriptions of a connection.
    func watchers(of connection: Connection) -> [Watcher] { book.numbers(of: connection) }

    /// Sends nothing to a connection until ``resume(_:)``.
    mutating func pause(_ connection: Connection) {
        for number in watchers(of: connection) { watchers[number]?.isPaused = true }
    }

    /// Sends a connection its results again, in full.
    mutating func resume(_ connection: Connection) {
        for number in watchers(of: connection) {
            watchers[number]?.isPaused = false
            watchers[number]?.isNew = true
            if let group = watchers[number]?.group { stale.insert(group) }
        }
    }

    // MARK: Changes

    /// The databases whose changes matter, by type.
    var watchedTypes: [RecordTypeName: Set<DatabaseScope>] {
        groupsOfTypes.mapValues { numbers in
            numbers.reduce(into: []) { $0.formUnion(groups[$1]?.databases ?? []) }
        }
    }

    /// Notes the changes of a transaction; returns true if a query has to run again.
    mutating func note(_ transaction: CommittedTransaction) -> Bool {
        guard !groupsOfTypes.isEmpty else { return false }
        let before = stale.count
        for type in transaction.bulk { stale.formUnion(groupsOfTypes[type] ?? []) }
        var seen: [RecordTypeName: Set<DatabaseScope>] = [:]
        for change in transaction.changes {
            let type = change.table.name
            guard let candidates = groupsOfTypes[type], seen[type, default: []].insert(change.database).inserted else {
                continue
            }
            for number in candidates where groups[number]?.databases.contains(change.database) ?? false {
                stale.insert(number)
            }
        }
        return stale.count > before
    }

    /// Makes all queries run again, since changes may have been missed.
    mutating func noteAll() { stale.formUnion(groups.numbers) }

    /// Returns the subscriptions that end because rules or fields of a type have changed.
    mutating func takeTables(_ current: (RecordTypeName) -> RecordTable?) -> [(Watcher, LiveReset)] {
        var resets: [(Watcher, LiveReset)] = []
        var ended: Set<Group> = []
        for (type, reason) in tables.take(current) {
            for number in groupsOfTypes[type] ?? [] where ended.insert(number).inserted {
                resets += groups[number]?.watchers.map { ($0, reason) } ?? []
            }
        }
        return resets
    }

    // MARK: Asking

    /// Returns the next thing to do; a query that it returns counts as running.
    mutating func next(at now: ContinuousClock.Instant) -> Step {
        var earliest: ContinuousClock.Instant?
        for number in stale {
            guard let group = groups[number], !group.isAsking else { continue }
            if group.due <= now {
                stale.remove(number)
                groups[number]?.isAsking = true
                groups[number]?.due = now + limits.watchInterval
                return .ask(number)
            }
            earliest = min(earliest ?? group.due, group.due)
        }
        return earliest.map { .wait(until: $0) } ?? .nothing
    }

    /// Returns the number of a run that begins now.
    mutating func begin() -> Int {
        nextAsking += 1
        return nextAsking
    }

    /// The events of a result for one subscription.
    struct Delivery {
        let watcher: Watcher
        let phase: LiveText.Phase
        let events: [[[UInt8]]]
    }

    /// Accepts the result of a run, unless a later run's result was accepted before.
    mutating func take(_ answer: WatchedAnswer, of number: Group, asking: Int) -> [Delivery] {
        guard let group = groups[number], asking > group.taken else { return [] }
        groups[number]?.taken = asking
        groups[number]?.failures = 0
        groups[number]?.lastRest = answer.digest
        let changes = groups[number]?.last.replace(with: answer.entries) ?? []
        var deliveries: [Delivery] = []
        for watcher in group.watchers {
            guard let subscription = watchers[watcher], !subscription.isPaused else { continue }
            var events: [[[UInt8]]] = []
            if subscription.isNew {
                watchers[watcher]?.isNew = false
                deliveries.append(
                    Delivery(watcher: watcher, phase: .initial, events: answer.beginning(subscription.head))
                )
                continue
            }
            func event(_ name: String, at place: Int) -> [[UInt8]] {
                LiveText.event(subscription.head, name, record: answer.records[place].json, at: place)
            }
            for change in changes {
                switch change {
                case .left(let id): events.append(LiveText.event(subscription.head, "left", id: id))
                case .entered(_, let place): events.append(event("entered", at: place))
                case .updated(_, let place): events.append(event("updated", at: place))
                }
            }
            if group.lastRest != answer.digest, let rest = answer.rest {
                events.append(LiveText.event(subscription.head, rest: rest))
            }
            if !events.isEmpty { deliveries.append(Delivery(watcher: watcher, phase: .live, events: events)) }
        }
        return deliveries
    }

    /// Notes the end of a run.
    ///
    /// - Parameters:
    ///   - duration: how long it took; after a long run the query pauses for twenty times as long.
    ///   - now: the current time.
    mutating func ended(_ number: Group, after duration: Duration, at now: ContinuousClock.Instant) {
        groups[number]?.isAsking = false
        if duration > .milliseconds(100) { groups[number]?.due = now + duration * 20 }
    }

    /// Notes a failed run, which is repeated after a second; returns false after too many failures.
    mutating func failed(_ number: Group, at now: ContinuousClock.Instant) -> Bool {
        guard let failures = groups[number]?.failures, failures < 30 else { return false }
        groups[number]?.failures += 1
        groups[number]?.due = now + .seconds(1)
        stale.insert(number)
        return true
    }
}
