import SkyrowModel
import SkyrowQuery
import SkyrowStore

/// Who has asked for which changes, and what each transaction means for them: a value that neither waits nor sends.
///
/// ```swift
/// let subscriber = try registry.subscribe(request)
/// let dispatch = registry.dispatch(transaction)
/// for (connection, message) in dispatch.messages { … }
/// ```
struct LiveRegistry {
    /// The number of a connection.
    typealias Connection = Int
    /// The number of a subscription.
    typealias Subscriber = Int

    /// A subscription to be.
    struct Request {
        let name: String
        let connection: Connection
        /// Whose it counts as; nil for the operator.
        let share: LiveShare?
        let table: RecordTable
        let database: DatabaseScope
        /// The predicate, as it is for the caller.
        let query: ResolvedQuery
        let asked: Set<FieldName>?
        let audience: SubscriptionGroup.AudienceKey
        let events: Set<LiveEventKind>
        let watched: Set<FieldName>?
        let previous: PreviousFields
        /// Whether the log of the type has of records before their changes the ids alone.
        var hasKeysAlone = false
    }

    /// What a transaction leads to.
    struct Dispatch {
        /// One message a connection.
        var messages: [(connection: Connection, message: LiveMessage)] = []
        /// The subscriptions that end.
        var resets: [(subscriber: Subscriber, reason: LiveText.Reset)] = []
        /// How many events there are of each kind.
        var events: [LiveEventKind: Int] = [:]
        /// How many groups each change was judged for.
        var candidates: [Int] = []
    }

    let limits: SubscriptionLimits
    private(set) var index: SubscriptionIndex
    private(set) var subscribers: [Subscriber: Boxed<LiveSubscriber>] = [:]
    private var groups: [SubscriptionIndex.Group: Boxed<SubscriptionGroup>] = [:]
    private var groupNumbers: [SubscriptionGroup.Key: SubscriptionIndex.Group] = [:]
    private var names: [Connection: [String: Subscriber]] = [:]
    private var shares: [LiveShare: Int] = [:]
    private var encodings: [RecordEncoding.Key: (encoding: RecordEncoding, count: Int)] = [:]
    private var membership = Membership()
    /// The groups whose members are being read.
    private var loadingGroups: Set<SubscriptionIndex.Group> = []
    /// The tables of the types that subscriptions are about, as they were when these began.
    private(set) var tables: [RecordTypeName: RecordTable] = [:]
    /// The subscriptions that drop what they have seen at their beginning.
    private var starting: Set<Subscriber> = []
    /// How many groups each type has.
    private var groupCounts: [RecordTypeName: Int] = [:]
    private var nextNumber = 0

    init(limits: SubscriptionLimits) {
        self.limits = limits
        index = SubscriptionIndex(scanLimit: limits.scans)
    }

    var isEmpty: Bool { subscribers.isEmpty }
    var groupCount: Int { groups.count }
    var types: Set<RecordTypeName> { Set(tables.keys) }

    // MARK: Subscriptions

    /// Takes a subscription, which is not live yet.
    ///
    /// Its name is one that the connection does not use. Throws `135 Overloaded` beyond a limit.
    mutating func subscribe(_ request: Request) throws(SkyrowError) -> Subscriber {
        guard (names[request.connection]?.count ?? 0) < limits.perConnection else {
            throw .tooManySubscriptions("A connection has at most \(limits.perConnection) subscriptions.")
        }
        if let share = request.share, shares[share] ?? 0 >= limits.perUser {
            throw .tooManySubscriptions("A user has at most \(limits.perUser) subscriptions, over all connections.")
        }
        guard subscribers.count < limits.total else {
            throw .tooManySubscriptions("The service has \(limits.total) subscriptions, and takes no more.")
        }
        let group = try group(of: request)
        if request.hasKeysAlone { groups[group]?.hasKeysAlone = true }
        nextNumber += 1
        let number = nextNumber
        join(group, request.audience, of: request, number)
        subscribers[number] = Boxed(
            LiveSubscriber(
                name: request.name,
                head: LiveText.head(request.name),
                connection: request.connection,
                group: group,
                // The one of the group, which all its subscriptions share.
                audience: groups[group]?.audiences[request.audience]?.key ?? request.audience,
                share: request.share,
                events: request.events,
                watched: request.watched,
                previous: request.previous,
                state: .loading(LiveBuffer())
            )
        )
        names[request.connection, default: [:]][request.name] = number
        if let share = request.share { shares[share, default: 0] += 1 }
        return number
    }

    private mutating func group(of request: Request) throws(SkyrowError) -> SubscriptionIndex.Group {
        let predicate = request.query.predicate
        let key = SubscriptionGroup.Key(
            database: request.database,
            type: request.table.name,
            predicate: predicate.map { PredicateKey($0) },
            asked: request.asked
        )
        if let known = groupNumbers[key] { return known }
        guard index.hasRoom(in: key.database, of: key.type, for: predicate) else {
            throw .tooManyScans(of: key.type, limit: limits.scans, references: request.table.referenceFields)
        }
        nextNumber += 1
        groupNumbers[key] = nextNumber
        groups[nextNumber] = Boxed(SubscriptionGroup(key, request.query))
        index.insert(nextNumber, in: key.database, of: key.type, predicate)
        if tables[key.type] == nil { tables[key.type] = request.table }
        groupCounts[key.type, default: 0] += 1
        return nextNumber
    }

    private mutating func join(
        _ group: SubscriptionIndex.Group,
        _ audience: SubscriptionGroup.AudienceKey,
        of request: Request,
        _ subscriber: Subscriber
    ) {
        if groups[group]?.audiences[audience] == nil {
            let key = RecordEncoding.Key(of: request.table, for: audience.fields, asked: request.asked)
            let encoding = encodings[key]?.encoding ?? RecordEncoding(key, for: audience.fields)
            encodings[key, default: (encoding, 0)].count += 1
            groups[group]?.audiences[audience] = SubscriptionGroup.Audience(key: audience, encoding: encoding)
        }
        groups[group]?.audiences[audience]?.subscribers.append(subscriber)
    }

    /// The subscription of a name; nil where there is none.
    func subscriber(_ name: String, of connection: Connection) -> Subscriber? {
        names[connection]?[name]
    }

    /// The subscriptions of a connection.
    func subscribers(of connection: Connection) -> [Subscriber] {
        names[connection].map { Array($0.values) } ?? []
    }

    /// Ends a subscription.
    mutating func remove(_ number: Subscriber) {
        guard let subscriber = subscribers.removeValue(forKey: number) else { return }
        starting.remove(number)
        names[subscriber.connection]?[subscriber.name] = nil
        if names[subscriber.connection]?.isEmpty == true { names[subscriber.connection] = nil }
        if let share = subscriber.share {
            shares[share, default: 1] -= 1
            if shares[share] == 0 { shares[share] = nil }
        }
        leave(subscriber.group, subscriber.audience, number)
    }

    private mutating func leave(
        _ number: SubscriptionIndex.Group,
        _ audience: SubscriptionGroup.AudienceKey,
        _ subscriber: Subscriber
    ) {
        groups[number]?.audiences[audience]?.subscribers.removeAll { $0 == subscriber }
        guard let left = groups[number]?.audiences[audience], left.subscribers.isEmpty else { return }
        groups[number]?.audiences[audience] = nil
        let encoding = left.encoding.key
        encodings[encoding]?.count -= 1
        if encodings[encoding]?.count == 0 { encodings[encoding] = nil }
        guard let group = groups[number], group.audiences.isEmpty else { return }
        groups[number] = nil
        groupNumbers[group.key] = nil
        loadingGroups.remove(number)
        membership.removeAll(of: number)
        index.remove(number, in: group.key.database, of: group.key.type, group.query.predicate)
        groupCounts[group.key.type, default: 1] -= 1
        guard groupCounts[group.key.type] == 0 else { return }
        groupCounts[group.key.type] = nil
        tables[group.key.type] = nil
    }

    // MARK: Beginning

    /// Has a subscription wait for the records at its beginning, again or for the first time.
    mutating func beginLoading(_ number: Subscriber) {
        subscribers[number]?.state = .loading(LiveBuffer())
    }

    /// Sends nothing to the subscriptions of a connection until they begin again.
    mutating func pause(_ connection: Connection) {
        for number in subscribers(of: connection) { subscribers[number]?.state = .paused }
    }

    /// Makes a subscription live, and returns the events that waited for it; nil where too many did, so that the records
    /// have to be read again.
    mutating func finishLoading(_ number: Subscriber, from start: LiveStart) -> [LiveMessage]? {
        guard let subscriber = subscribers[number], case .loading(let buffer) = subscriber.state else { return [] }
        guard !buffer.isOverflown else { return nil }
        subscribers[number]?.state = .live(since: start)
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

    /// Forgets what the subscriptions have seen at their beginning, once the stream is beyond it.
    mutating func passed(_ position: UInt64) {
        for number in starting {
            guard case .live(let start?)? = subscribers[number]?.state else {
                starting.remove(number)
                continue
            }
            guard start.position <= position else { continue }
            starting.remove(number)
            subscribers[number]?.state = .live(since: nil)
        }
    }

    // MARK: Members

    /// The group of a subscription.
    func group(of number: Subscriber) -> (number: SubscriptionIndex.Group, group: SubscriptionGroup)? {
        guard let subscriber = subscribers[number], let group = groups[subscriber.group]?.value else { return nil }
        return (subscriber.group, group)
    }

    /// Whether the members of a group have to be read, which then counts as begun.
    mutating func beginMembers(of number: SubscriptionIndex.Group) -> Bool {
        guard case .unknown? = groups[number]?.members else { return false }
        groups[number]?.members = .loading([], bytes: 0)
        loadingGroups.insert(number)
        return true
    }

    /// Whether the members of a group are known, so that its subscriptions may become live.
    func hasMembers(_ number: SubscriptionIndex.Group) -> Bool {
        if case .known? = groups[number]?.members { true } else { false }
    }

    /// Gives up the reading of members.
    mutating func forgetMembers(of number: SubscriptionIndex.Group) {
        groups[number]?.members = .unknown
        loadingGroups.remove(number)
        membership.removeAll(of: number)
    }

    /// Forgets the members of all groups.
    mutating func forgetAllMembers() {
        for number in groups.keys { forgetMembers(of: number) }
    }

    /// Forgets the members of the groups whose changes come with the records before from now on, with the stream.
    mutating func forgetMembersBesideStream() {
        for (number, group) in groups where !group.hasKeysAlone { forgetMembers(of: number) }
    }

    /// Takes the members of a group as they were read, and judges what has changed since.
    mutating func setMembers(
        of number: SubscriptionIndex.Group,
        _ records: [StoredRecord],
        readAt start: LiveStart,
        relations: RelatedUsers = .none
    ) -> Dispatch {
        guard let group = groups[number], case .loading(let waiting, _) = group.members else { return Dispatch() }
        loadingGroups.remove(number)
        groups[number]?.members = .known
        let named = tables[group.key.type]?.memberFields ?? []
        for record in records { membership.insert(record, naming: named, into: number, isChange: false) }
        var result = Dispatch()
        for transaction in waiting where !start.covers(transaction.mark) {
            let part = dispatch(transaction, relations: relations, only: number)
            result.messages += part.messages
            result.resets += part.resets
        }
        return result
    }

    /// Counts a record that was sent with the beginning of a subscription among the members of its group, where changes come without the
    /// records before.
    ///
    /// It may have begun to match after the last question for changes. Did it end before the next one, nothing else would say that the
    /// client has it.
    mutating func keepSent(_ record: Record, to number: SubscriptionIndex.Group) {
        guard let group = groups[number], case .known = group.members else { return }
        let member = StoredRecord(record, in: group.key.database) { $0.id }
        let named = tables[group.key.type]?.memberFields ?? []
        membership.insert(member, naming: named, into: number, isChange: false)
    }

    // MARK: Transactions

    /// The users whose relations decide who may read what a transaction changed, in pairs: the one who asks and the owner.
    ///
    /// nil where there are too many.
    func askedRelations(_ transaction: CommittedTransaction) -> Set<RelatedUsers.Question>? {
        var questions: Set<RelatedUsers.Question> = []
        for change in transaction.changes {
            let rows = rows(of: change)
            let owners = Set(rows.records.filter { !($0.access?.relations.isEmpty ?? true) }.compactMap(\.owner))
            guard !owners.isEmpty else { continue }
            for number in rows.candidates {
                for audience in groups[number]?.audiences.values.map(\.key) ?? [] {
                    guard let user = audience.read.relatedUser else { continue }
                    for owner in owners { questions.insert(RelatedUsers.Question(user: user, owner: owner)) }
                    guard questions.count <= limits.relationPairs else { return nil }
                }
            }
        }
        return questions
    }

    /// The forms of a record that a change is about, and the groups that it may concern.
    private func rows(
        of change: RecordChange
    ) -> (records: [StoredRecord], member: Membership.Found?, candidates: Set<SubscriptionIndex.Group>) {
        var records: [StoredRecord] = []
        if let after = change.after { records.append(after) }
        if let old = change.old { records.append(old) }
        var candidates = index.candidates(of: change.table.name, records)
        guard case .unknown = change.before, let member = membership.member(change.table.name, change.storedID) else {
            return (records, nil, candidates)
        }
        candidates.formUnion(member.groups)
        return (records + [member.record], member, candidates)
    }

    /// Judges what a transaction changed.
    ///
    /// - Parameters:
    ///   - relations: the answers to ``askedRelations(_:)``.
    ///   - only: a group that alone is meant; nil for all.
    mutating func dispatch(
        _ transaction: CommittedTransaction,
        relations: RelatedUsers = .none,
        only: SubscriptionIndex.Group? = nil
    ) -> Dispatch {
        var outgoing = Outgoing(mark: transaction.mark)
        if only == nil {
            keepForLoading(transaction)
            if transaction.end != nil { resetUnjudged(transaction, &outgoing.dispatch) }
        }
        for change in transaction.changes {
            judge(change, relations: relations, only: only, &outgoing)
        }
        if only == nil { for type in transaction.bulk { resetAll(of: type, &outgoing.dispatch) } }
        outgoing.dispatch.messages = outgoing.events.map { ($0.key, LiveText.changes(.live, $0.value)) }
        return outgoing.dispatch
    }

    private struct Outgoing {
        let mark: CommittedMark
        var events: [Connection: [[[UInt8]]]] = [:]
        var dispatch = Dispatch()
    }

    private mutating func keepForLoading(_ transaction: CommittedTransaction) {
        for number in loadingGroups {
            guard let group = groups[number], case .loading(var waiting, let bytes) = group.members,
                transaction.changes.contains(where: { $0.table.name == group.key.type })
            else { continue }
            groups[number]?.members = .unknown
            waiting.append(transaction)
            groups[number]?.members = .loading(waiting, bytes: bytes + transaction.changes.count)
        }
    }

    private mutating func judge(
        _ change: RecordChange,
        relations: RelatedUsers,
        only: SubscriptionIndex.Group?,
        _ outgoing: inout Outgoing
    ) {
        let rows = rows(of: change)
        outgoing.dispatch.candidates.append(rows.candidates.count)
        var written = WrittenChange()
        for number in rows.candidates {
            if let only, number != only { continue }
            if loadingGroups.contains(number) { continue }
            judge(change, rows.member, for: number, relations, &written, &outgoing)
        }
    }

    private mutating func judge(
        _ change: RecordChange,
        _ member: Membership.Found?,
        for number: SubscriptionIndex.Group,
        _ relations: RelatedUsers,
        _ written: inout WrittenChange,
        _ outgoing: inout Outgoing
    ) {
        guard let group = groups[number]?.value else { return }
        let before: StoredRecord?
        let didMatch: Bool
        let isInsert: Bool
        switch change.before {
        case .missing: (before, didMatch, isInsert) = (nil, false, true)
        case .row(let record): (before, didMatch, isInsert) = (record, group.matches(record), false)
        case .unknown(let mayBeNew):
            didMatch = member?.groups.contains(number) ?? false
            (before, isInsert) = (didMatch ? member?.record : nil, mayBeNew)
        }
        let matches = change.after.map { group.matches($0) } ?? false
        keepMember(change, matches, number, group, &outgoing)
        guard didMatch || matches else { return }
        for audience in group.audiences.values {
            func sight(_ record: StoredRecord?, _ matches: Bool) -> LiveSight {
                guard let record, audience.key.read.admits(record, isRelated: relations.isRelated) else {
                    return .hidden
                }
                return matches ? .matching : .readable
            }
            let kind = LiveEventKind.of(
                before: sight(before, didMatch),
                after: sight(change.after, matches),
                isInsert: isInsert
            )
            guard let kind else { continue }
            for subscriber in audience.subscribers {
                send(kind, to: subscriber, change, audience.encoding, &written, &outgoing)
            }
        }
    }

    private mutating func keepMember(
        _ change: RecordChange,
        _ matches: Bool,
        _ number: SubscriptionIndex.Group,
        _ group: SubscriptionGroup,
        _ outgoing: inout Outgoing
    ) {
        guard case .known = group.members else { return }
        guard matches, let after = change.after else {
            membership.remove(change.table.name, change.storedID, from: number)
            return
        }
        membership.insert(after, naming: change.table.memberFields, into: number, isChange: true)
        guard membership.count(of: number) > limits.members else { return }
        for subscriber in group.audiences.values.flatMap(\.subscribers) {
            outgoing.dispatch.resets.append((subscriber, .gap))
        }
    }

    private mutating func send(
        _ kind: LiveEventKind,
        to number: Subscriber,
        _ change: RecordChange,
        _ encoding: RecordEncoding,
        _ written: inout WrittenChange,
        _ outgoing: inout Outgoing
    ) {
        guard let subscriber = subscribers[number]?.value, subscriber.events.contains(kind) else { return }
        switch subscriber.state {
        case .paused: return
        case .live(let start?): if start.covers(outgoing.mark) { return }
        case .live(nil), .loading: break
        }
        if kind == .updated {
            let changed = written.changedFields(change)
            if let watched = subscriber.watched, watched.isDisjoint(with: changed) { return }
            guard encoding.shows(change, of: changed) else { return }
        }
        guard let event = event(kind, subscriber, change, encoding, &written) else { return }
        if case .loading(var buffer) = subscriber.state {
            subscribers[number]?.state = .paused
            buffer.append(event, of: outgoing.mark, limit: limits.bufferBytes)
            subscribers[number]?.state = .loading(buffer)
        } else {
            outgoing.events[subscriber.connection, default: []].append(event)
            outgoing.dispatch.events[kind, default: 0] += 1
        }
    }

    private func event(
        _ kind: LiveEventKind,
        _ subscriber: LiveSubscriber,
        _ change: RecordChange,
        _ encoding: RecordEncoding,
        _ written: inout WrittenChange
    ) -> [[UInt8]]? {
        if kind == .deleted { return LiveText.event(subscriber.head, kind.rawValue, id: change.wireID) }
        guard let record = written.record(change, encoding) else { return nil }
        let previous = kind == .created ? nil : written.previous(change, encoding, subscriber.previous)
        return LiveText.event(subscriber.head, kind.rawValue, record: record, previous: previous)
    }

    private mutating func resetAll(of type: RecordTypeName, _ dispatch: inout Dispatch) {
        for (number, group) in groups where group.key.type == type {
            if case .known = group.members { forgetMembers(of: number) }
            resetAll(of: group.value, &dispatch)
        }
    }

    private mutating func resetAll(of group: SubscriptionGroup, _ dispatch: inout Dispatch) {
        for subscriber in group.audiences.values.flatMap(\.subscribers) {
            guard let state = subscribers[subscriber]?.state else { continue }
            switch state {
            case .live: dispatch.resets.append((subscriber, .bulk))
            case .loading(var buffer):
                // The records at its beginning are read once more.
                buffer.overflow()
                subscribers[subscriber]?.state = .loading(buffer)
            case .paused: break
            }
        }
    }

    /// Resets the groups that nothing says of what a changed record was before: the log of the type has had whole records until
    /// now.
    private mutating func resetUnjudged(_ transaction: CommittedTransaction, _ dispatch: inout Dispatch) {
        let types = Set(transaction.changes.filter(\.lacksBefore).map(\.table.name))
        guard !types.isEmpty else { return }
        for group in groups.values where types.contains(group.key.type) && group.lacksMembers {
            resetAll(of: group.value, &dispatch)
        }
    }

    // MARK: Schema

    /// The subscriptions that end because the tables are others now.
    mutating func takeTables(_ current: (RecordTypeName) -> RecordTable?) -> [(Subscriber, LiveText.Reset)] {
        var resets: [(Subscriber, LiveText.Reset)] = []
        for (type, known) in tables {
            let table = current(type)
            guard table !== known else { continue }
            guard let reason = table.map({ $0.reset(after: known) }) ?? .schema else {
                tables[type] = table
                continue
            }
            for group in groups.values where group.key.type == type {
                resets += group.audiences.values.flatMap(\.subscribers).map { ($0, reason) }
            }
        }
        return resets
    }
}

extension CommittedTransaction {
    var mark: CommittedMark { CommittedMark(id: id, end: end) }
}

extension RecordTable {
    /// Why subscriptions that began with another form of the table end; nil where they go on: only fields or indexes were added.
    func reset(after former: RecordTable) -> LiveText.Reset? {
        if rules != former.rules { return .access }
        let isKept = former.columns.allSatisfy { column in
            self[column.field].map { $0.type == column.type && $0.oid == column.oid } ?? false
        }
        return isKept ? nil : .schema
    }
}

extension AccessScope {
    /// The user whose relations to owners it asks for; nil where it asks for none.
    fileprivate var relatedUser: UserID? {
        for clause in clauses + others.joined() {
            if case .related(let user, _, _) = clause { return user }
        }
        return nil
    }
}

extension SkyrowError {
    fileprivate static func tooManySubscriptions(_ message: String) -> SkyrowError {
        SkyrowError(.overloaded, message)
    }
}
