import SkyrowModel
import SkyrowProtocol
import SkyrowQuery
import SkyrowStore

/// The subscriptions to changes, and the events that each transaction means for them: a value without I/O or waiting.
///
/// ```swift
/// let subscriber = try registry.subscribe(request)
/// let dispatch = registry.dispatch(transaction, verdicts)
/// for (connection, message) in dispatch.messages { … }
/// ```
struct LiveRegistry {
    /// The number of a connection.
    typealias Connection = Int
    /// The number of a subscription.
    typealias Subscriber = Int

    /// The parameters of a new subscription.
    struct Request {
        let name: String
        let connection: Connection
        let holder: LiveHolder
        let question: LiveQuestion
        let position: LiveSubscriber.Position
        /// The type with all its fields.
        let table: RecordTable
        let database: DatabaseScope
        /// The predicate resolved for the caller; nil for all records.
        let predicate: ResolvedPredicate?
        let asked: Set<FieldName>?
        let audience: SubscriptionGroup.AudienceKey
        /// nil for all events without old values.
        let filter: LiveFilter?
        /// Whether the type's log has only the ids of records before their changes.
        var hasKeysAlone = false
    }

    /// The outcome of a transaction.
    struct Dispatch {
        /// One message a connection.
        var messages: [(connection: Connection, message: LiveMessage)] = []
        /// The subscriptions that end.
        var resets: [(subscriber: Subscriber, reason: LiveReset)] = []
        var events: [LiveEventKind: Int] = [:]
        /// The number of groups that each change was judged for.
        var candidates: [Int] = []
    }

    let limits: SubscriptionLimits
    private(set) var index: SubscriptionIndex
    var subscribers = SlotTable<Boxed<LiveSubscriber>>()
    private(set) var book: SubscriptionBook
    var groups = SlotTable<Boxed<SubscriptionGroup>>()
    /// The groups by the digests of their keys.
    var groupNumbers: [Int: SubscriptionIndex.Group] = [:]
    var audiences: [SubscriptionGroup.AudienceKey: (audience: LiveAudience, count: Int)] = [:]
    var clientShares: LiveShares
    /// The bytes of the events that subscriptions buffer.
    var buffered: [Subscriber: Int] = [:]
    var encodings: [RecordEncoding.Key: (encoding: RecordEncoding, count: Int)] = [:]
    var membership = Membership()
    /// The groups whose members are being read.
    var membersLoading = MembersLoading()
    private(set) var tables = FollowedTables()
    var whileLoading = ChangesWhileLoading()
    /// The subscriptions that drop events of transactions that their load has shown.
    var starting: Set<Subscriber> = []
    /// The positions from which subscriptions resume that were live before.
    private(set) var resuming: [Subscriber: LiveMark] = [:]
    /// The positions at which the last subscription became live, and from which the last one resumed; subscriptions share them.
    private var recentBeginning: LiveMark?
    private var recentPosition: LiveMark?
    /// The snapshot from which the last subscription became live.
    private var recentStart: LiveStart?

    private let links: FileLinks?

    /// - Parameter links: makes the addresses of files in events; nil for events without addresses.
    init(limits: SubscriptionLimits, links: FileLinks? = nil) {
        self.limits = limits
        self.links = links
        book = SubscriptionBook(of: .changes, limits)
        clientShares = LiveShares(of: .changes, limits)
        index = SubscriptionIndex(scanLimit: limits.scans)
    }

    var isEmpty: Bool { subscribers.isEmpty }
    var groupCount: Int { groups.count }
    var types: Set<RecordTypeName> { tables.types }
    /// How many reads of members have ended.
    var readingsEnded: Int { membersLoading.ended }

    // MARK: Subscriptions

    /// Adds a subscription, which is not live yet.
    ///
    /// The connection must not use its name. Throws `135 Overloaded` when it exceeds a limit.
    mutating func subscribe(_ request: Request) throws(SkyrowError) -> Subscriber {
        try book.requireRoom(on: request.connection, for: request.holder)
        let bytes = request.question.heldBytes + (request.filter?.heldBytes ?? 0)
        try clientShares.enter(bytes, of: request.holder.paying)
        let group: SubscriptionIndex.Group
        do throws(SkyrowError) { group = try self.group(of: request) } catch {
            clientShares.leave(bytes, of: request.holder.paying)
            throw error
        }
        tables.add(request.table, isOfGroup: false)
        if request.hasKeysAlone { groups[group]?.hasKeysAlone = true }
        let audience = audience(request.audience)
        let place = place(of: audience, in: group, of: request)
        // The list itself is not held, since it would be copied when it grows.
        let count = groups[group]?.audiences[place].subscribers.count ?? 0
        let former = groups[group]?.audiences[place].subscribers.last
        // Parts that are equal to those of the previous subscription are shared with it.
        let last = former.flatMap { subscribers[$0] }
        func shared<Part>(_ part: Part, _ known: Part?, _ isSame: (Part) -> Bool) -> Part {
            if let known, isSame(known) { known } else { part }
        }
        let holder = book.known(request.holder, on: request.connection)
        let number = subscribers.insert(
            Boxed(
                LiveSubscriber(
                    name: request.name,
                    connection: request.connection,
                    group: group,
                    audience: audience,
                    holder: holder,
                    question: shared(request.question, last?.question, request.question.isSame),
                    filter: request.filter.map { shared($0, last?.filter, $0.isSame) },
                    state: .loading(LiveBuffer()),
                    position: request.position,
                    place: UInt32(count)
                )
            )
        )
        groups[group]?.audiences[place].subscribers.append(number)
        whileLoading.begin(number, of: request.table.name)
        book.add(number, of: holder, asksRelations: audience.asksRelations, on: request.connection)
        return number
    }

    private mutating func group(of request: Request) throws(SkyrowError) -> SubscriptionIndex.Group {
        let predicate = request.predicate
        let key = SubscriptionGroup.Key(
            database: request.database,
            type: request.table.name,
            predicate: predicate.map { PredicateKey($0) },
            asked: request.asked
        )
        var digest = key.hashValue
        while let known = groupNumbers[digest] {
            if groups[known]?.value.isOf(key) == true { return known }
            // Another key has the same digest.
            digest = digest.hashValue
        }
        guard index.hasRoom(in: key.database, of: key.type, for: predicate) else {
            throw .tooManyScans(of: key.type, limit: limits.scans, references: request.table.referenceFields)
        }
        let isScanned = SubscriptionIndex.isScanned(predicate)
        if isScanned {
            switch clientShares.refusalOfScan(key.database, key.type, for: request.holder.paying) {
            case .client(let limit): throw .tooManyScans(of: key.type, ofClient: limit)
            case .all:
                throw .tooManyScans(of: key.type, limit: limits.scans, references: request.table.referenceFields)
            case nil: clientShares.countScan(1, key.database, key.type, for: request.holder.paying)
            }
        }
        let number = groups.insert(
            Boxed(SubscriptionGroup(key, predicate, digest: digest, payer: request.holder.paying))
        )
        groupNumbers[digest] = number
        index.insert(number, in: key.database, of: key.type, predicate)
        tables.add(request.table, isOfGroup: true)
        return number
    }

    /// Returns the audience of a key, and counts one more subscription of it.
    private mutating func audience(_ key: SubscriptionGroup.AudienceKey) -> LiveAudience {
        let audience = audiences[key]?.audience ?? LiveAudience(key)
        // The dictionary's key is that of the object, so that it is in memory once.
        audiences[audience.key, default: (audience, 0)].count += 1
        return audience
    }

    /// Returns the index of an audience in a group.
    private mutating func place(
        of audience: LiveAudience,
        in group: SubscriptionIndex.Group,
        of request: Request
    ) -> Int {
        if let known = groups[group]?.audiences.place(of: audience) { return known }
        let key = RecordEncoding.Key(of: request.table, for: audience.key.fields, asked: request.asked)
        let encoding = encodings[key]?.encoding ?? RecordEncoding(key, for: audience.key.fields, links)
        encodings[key, default: (encoding, 0)].count += 1
        return groups[group]?.audiences.append(SubscriptionGroup.Audience(audience: audience, encoding: encoding)) ?? 0
    }

    /// Returns the subscription of a name; nil without one.
    func subscriber(_ name: String, of connection: Connection) -> Subscriber? {
        book.numbers(of: connection).first { subscribers[$0]?.name == name }
    }

    /// Returns the subscriptions of a connection.
    func subscribers(of connection: Connection) -> [Subscriber] { book.numbers(of: connection) }

    /// Removes a subscription.
    mutating func remove(_ number: Subscriber) {
        releaseBuffer(of: number)
        guard let subscriber = subscribers.remove(number)?.value else { return }
        clientShares.leave(subscriber.heldBytes, of: subscriber.holder.paying)
        starting.remove(number)
        endLoading(number, subscriber)
        let (audience, key) = (subscriber.audience, subscriber.audience.key)
        book.remove(number, of: subscriber.holder, asksRelations: audience.asksRelations, on: subscriber.connection)
        audiences[key]?.count -= 1
        if audiences[key]?.count == 0 { audiences[key] = nil }
        leave(subscriber)
    }

    private mutating func leave(_ subscriber: LiveSubscriber) {
        let number = subscriber.group
        guard let place = groups[number]?.audiences.place(of: subscriber.audience) else { return }
        // The last one of the list moves to its index.
        let placeInList = Int(subscriber.place)
        guard let moved = groups[number]?.audiences[place].subscribers.popLast() else { return }
        if let count = groups[number]?.audiences[place].subscribers.count, placeInList < count {
            groups[number]?.audiences[place].subscribers[placeInList] = moved
            subscribers[moved]?.place = subscriber.place
        }
        defer { passOnPaying(for: number, from: subscriber.holder) }
        guard let left = groups[number]?.audiences[place], left.subscribers.isEmpty else { return }
        groups[number]?.audiences.remove(at: place)
        let encoding = left.encoding.key
        encodings[encoding]?.count -= 1
        if encodings[encoding]?.count == 0 { encodings[encoding] = nil }
        guard let group = groups[number]?.value, group.audiences.isEmpty else { return }
        groups.remove(number)
        _ = clientShares.take(-group.memberBytes, for: group.payer)
        if SubscriptionIndex.isScanned(group.predicate) {
            clientShares.countScan(-1, group.database, group.type, for: group.payer)
        }
        groupNumbers[group.digest] = nil
        membersLoading.cancel(number)
        membership.removeAll(of: number)
        index.remove(number, in: group.database, of: group.type, group.predicate)
        tables.leave(group.type)
    }

    /// Transfers the cost of a group to another client after a subscription of the paying client has left.
    private mutating func passOnPaying(for number: SubscriptionIndex.Group, from holder: LiveHolder) {
        guard let group = groups[number]?.value, group.payer == holder.paying,
            let next = group.audiences.list.first?.subscribers.first, let heir = subscribers[next]?.holder
        else { return }
        groups[number]?.payer = heir.paying
        clientShares.pass(group.memberBytes, from: group.payer, to: heir.paying)
        guard SubscriptionIndex.isScanned(group.predicate) else { return }
        clientShares.countScan(-1, group.database, group.type, for: group.payer)
        clientShares.countScan(1, group.database, group.type, for: heir.paying)
    }

    // MARK: Beginning

    /// Restarts a subscription, which waits for its load; returns the number of the attempt.
    ///
    /// - Parameter mark: the position up to which everything was sent and from which the load resumes, unless its connection
    ///   drops messages meanwhile; nil for the position at which it began.
    mutating func begin(_ number: Subscriber, behind mark: LiveMark? = nil) -> UInt32? {
        guard let type = subscribers[number].flatMap({ groups[$0.group]?.type }) else { return nil }
        releaseBuffer(of: number)
        whileLoading.begin(number, of: type)
        resuming[number] = mark
        subscribers[number]?.state = .loading(LiveBuffer())
        // Bytes sent on its connection until then are unrelated to this subscription.
        subscribers[number]?.beganAtBytes = .max
        subscribers[number]?.attempt &+= 1
        return subscribers[number]?.attempt
    }

    /// Returns the position from which a subscription loads.
    func start(of number: Subscriber) -> LiveSubscriber.Position? {
        resuming[number].map { .mark($0) } ?? subscribers[number]?.position
    }

    /// Sends nothing to a subscription until it restarts, at a position.
    mutating func pause(_ number: Subscriber, at position: LiveSubscriber.Position) {
        if let subscriber = subscribers[number]?.value { endLoading(number, subscriber) }
        subscribers[number]?.state = .paused
        subscribers[number]?.position = position
        subscribers[number]?.attempt &+= 1
    }

    private mutating func endLoading(_ number: Subscriber, _ subscriber: LiveSubscriber) {
        releaseBuffer(of: number)
        resuming[number] = nil
        if let type = groups[subscriber.group]?.type { whileLoading.end(number, of: type) }
    }

    /// Makes a subscription load its records again.
    mutating func overflow(_ number: Subscriber) {
        guard case .loading(var buffer)? = subscribers[number]?.state else { return }
        releaseBuffer(of: number)
        buffer.overflow()
        subscribers[number]?.state = .loading(buffer)
    }

    /// Sets the token of the snapshot that a subscription has loaded.
    mutating func take(_ token: ChangeToken, of number: Subscriber) {
        guard let subscriber = subscribers[number]?.value else { return }
        let template = LiveTemplate(token)
        let others = groups[subscriber.group].flatMap { group in
            group.audiences.place(of: subscriber.audience).map { group.audiences[$0].subscribers }
        }
        // The first and the last subscription of the audience have mostly been made with the same query.
        var known = template
        for case let other? in [others?.first, others?.last] {
            if let shared = subscribers[other]?.template, shared.isSame(as: template) { known = shared }
        }
        subscribers[number]?.template = known
        // When a load is sent again, the client may hold records of the first one.
        if case .initial = subscriber.position, subscriber.began != nil { return }
        let mark = LiveMark(token)
        if recentBeginning?.covers(mark) != true { recentBeginning = mark }
        subscribers[number]?.began = recentBeginning
    }

    /// Makes a subscription live, and returns the events that it buffered; nil if there were too many, so that it has to load
    /// again.
    mutating func finishLoading(_ number: Subscriber, from start: LiveStart) -> [LiveMessage]? {
        guard let subscriber = subscribers[number]?.value, case .loading(let buffer) = subscriber.state else {
            return []
        }
        guard !buffer.isOverflown else { return nil }
        endLoading(number, subscriber)
        if recentStart?.isSame(as: start) != true { recentStart = start }
        subscribers[number]?.state = .starting(recentStart ?? start)
        subscribers[number]?.hasRestarted = false
        switch subscriber.position {
        case .now:
            // From here on it resumes from the position at which it began.
            if let began = subscriber.began { subscribers[number]?.position = .mark(began) }
        case .since(let text):
            if let mark = subscriber.mark(ofToken: text) {
                // A client has tokens of one position for all of its subscriptions.
                if recentPosition?.covers(mark) != true { recentPosition = mark }
                subscribers[number]?.position = .mark(recentPosition ?? mark)
            }
        case .initial, .mark: break
        }
        starting.insert(number)
        var messages: [LiveMessage] = []
        var events: [[[UInt8]]] = []
        var mark: CommittedMark?
        for (next, event) in buffer.events where !start.covers(next) {
            if mark != next, !events.isEmpty {
                messages.append(LiveText.changes(.live, events))
                events = []
            }
            mark = next
            events.append(event)
        }
        if !events.isEmpty { messages.append(LiveText.changes(.live, events)) }
        return messages
    }

    /// Notes that the whole load of a subscription was sent, if it is live.
    ///
    /// - Parameter bytes: the bytes sent to its connection by then.
    mutating func noteBeginningSent(_ number: Subscriber, after bytes: Int) {
        if subscribers[number]?.isLive == true { subscribers[number]?.beganAtBytes = bytes }
    }

    /// Notes that a subscription loads again because too much had changed meanwhile; returns false if it already did.
    mutating func restart(_ number: Subscriber) -> Bool {
        guard subscribers[number]?.hasRestarted == false else { return false }
        subscribers[number]?.hasRestarted = true
        return true
    }

    /// Makes subscriptions live, without filtering, once the stream has passed the snapshot of their load.
    mutating func passed(_ position: UInt64) {
        guard !starting.isEmpty else { return }
        var later: Set<Subscriber> = []
        for number in starting {
            guard case .starting(let start)? = subscribers[number]?.state else { continue }
            if start.position <= position { subscribers[number]?.state = .live } else { later.insert(number) }
        }
        starting = later
    }

    // MARK: Schema

    /// Returns the subscriptions that end because their tables have changed.
    mutating func takeTables(_ current: (RecordTypeName) -> RecordTable?) -> [(Subscriber, LiveReset)] {
        var resets: [(Subscriber, LiveReset)] = []
        let reasons = tables.take(current)
        guard !reasons.isEmpty else { return [] }
        for number in groups.numbers {
            guard let group = groups[number]?.value, let reason = reasons[group.type] else { continue }
            resets += group.subscribers.map { ($0, reason) }
        }
        return resets
    }
}

extension CommittedTransaction {
    var mark: CommittedMark { CommittedMark(id: id, end: end) }
}

extension RecordTable {
    /// Returns why subscriptions to the former version of the table end. nil if they go on: only indexes were added, or fields
    /// without values in the existing records.
    func reset(after former: RecordTable) -> LiveReset? {
        // A table or column that was replaced has other values, for which no change is emitted.
        if oid != former.oid { return .schema }
        if rules != former.rules { return .access }
        let isKept = former.columns.allSatisfy { column in
            self[column.field].map {
                $0.type == column.type && $0.oid == column.oid && $0.number == column.number
            } ?? false
        }
        let isFilled = columns.contains { former[$0.field] == nil && $0.isFilled }
        return isKept && !isFilled ? nil : .schema
    }
}
