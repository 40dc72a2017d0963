import SkyrowModel
import SkyrowProtocol
import SkyrowQuery
import SkyrowStore

// MARK: Transactions

extension LiveRegistry {
    /// Returns the pairs of reader and owner whose relations decide who may read the records that a transaction changed.
    ///
    /// nil when there are too many.
    func askedRelations(_ transaction: CommittedTransaction) -> Set<RelatedUsers.Question>? {
        var questions: Set<RelatedUsers.Question> = []
        for change in transaction.changes {
            let owners = Set(forms(of: change).filter { !($0.access?.relations.isEmpty ?? true) }.compactMap(\.owner))
            guard !owners.isEmpty else { continue }
            for number in rows(of: change).candidates {
                for audience in groups[number]?.audiences.list.map(\.audience) ?? [] where audience.asksRelations {
                    guard let user = audience.key.read.relatedUser else { continue }
                    for owner in owners { questions.insert(RelatedUsers.Question(user: user, owner: owner)) }
                    guard questions.count <= limits.relationPairs else { return nil }
                }
            }
        }
        return questions
    }

    /// Returns the known versions of a changed record.
    private func forms(of change: RecordChange) -> [StoredRecord] {
        [change.after, change.old].compactMap(\.self) + (known(before: change)?.records ?? [])
    }

    /// Returns what the membership has of the record before a change; nil if the change itself has it.
    private func known(before change: RecordChange) -> Membership.Known? {
        guard case .unknown = change.before else { return nil }
        return membership.known(change.table.name, change.storedID)
    }

    /// Returns what is known of the record before a change, and the groups that the change may concern.
    private func rows(of change: RecordChange) -> (known: Membership.Known?, candidates: Set<SubscriptionIndex.Group>) {
        var candidates = index.candidates(of: change.table.name, [change.after, change.old].compactMap(\.self))
        guard let known = known(before: change) else { return (nil, candidates) }
        candidates.formUnion(known.allGroups)
        return (known, candidates)
    }

    /// Returns the cases to judge for a transaction.
    ///
    /// - Parameter only: the only group to judge; nil for all.
    func questions(of transaction: CommittedTransaction, only: SubscriptionIndex.Group? = nil) -> LiveVerdicts {
        var questions = LiveVerdicts()
        for change in transaction.changes {
            var candidates = rows(of: change).candidates
            if let only { candidates.formIntersection([only]) }
            var before: StoredRecord?
            if case .row(let record) = change.before { before = record }
            for number in questions.ask(before, change.after, of: candidates) {
                guard let group = groups[number]?.value else { continue }
                questions.add(number, group.predicate, paidBy: group.payer)
            }
        }
        return questions
    }

    /// Handles groups that were refused: it ends the subscriptions of the client that is out of steps, or all of a group for
    /// which one record takes too many.
    ///
    /// - Returns: the subscriptions that end.
    mutating func takeRefusals(of verdicts: inout LiveVerdicts) -> [Subscriber] {
        var ended: [Subscriber] = []
        for (number, refusal) in verdicts.refusals {
            let client = verdicts.client(of: number)
            let subscribers = groups[number]?.value.subscribers ?? []
            var others: [Subscriber] = []
            for subscriber in subscribers {
                let isConcerned = refusal == .record || self.subscribers[subscriber]?.holder.paying == client
                if isConcerned { ended.append(subscriber) } else { others.append(subscriber) }
            }
            verdicts.retry(number, paidBy: others.first.map { self.subscribers[$0]?.holder.paying })
        }
        return ended
    }

    /// Dispatches the changes of a transaction by their verdicts.
    ///
    /// - Parameters:
    ///   - verdicts: the judged ``questions(of:only:)``.
    ///   - relations: the relations for ``askedRelations(_:)``.
    ///   - only: the only group to judge; nil for all.
    mutating func dispatch(
        _ transaction: CommittedTransaction,
        _ verdicts: LiveVerdicts,
        relations: RelatedUsers = .none,
        only: SubscriptionIndex.Group? = nil
    ) -> Dispatch {
        var outgoing = Outgoing(
            mark: transaction.mark,
            readAt: transaction.readAt,
            budget: WritingBudget(limit: limits.writtenBytes)
        )
        if only == nil {
            for number in membersLoading.note(transaction) { forgetMembers(of: number) }
            for number in whileLoading.note(transaction) { overflow(number) }
            if transaction.end != nil { resetUnjudged(transaction, &outgoing.dispatch) }
        }
        for (place, change) in transaction.changes.enumerated() {
            judge(change, verdicts, at: place, relations: relations, only: only, &outgoing)
        }
        if only == nil { for type in transaction.bulk { resetAll(of: type, &outgoing.dispatch) } }
        outgoing.dispatch.messages = outgoing.messages
        return outgoing.dispatch
    }

    private struct Outgoing {
        let mark: CommittedMark
        let readAt: ChangeMoment?
        var budget: WritingBudget
        /// The subscriptions that end because they exceed the budget.
        var ended: Set<Subscriber> = []
        /// The events; events with the same text are stored once.
        private var texts: [[[UInt8]]] = []
        /// The indexes of each connection's events in `texts`.
        private var places: [Connection: [Int]] = [:]
        var dispatch = Dispatch()

        init(mark: CommittedMark, readAt: ChangeMoment?, budget: WritingBudget) {
            self.mark = mark
            self.readAt = readAt
            self.budget = budget
        }

        /// Adds an event; returns its index.
        mutating func add(_ text: [[UInt8]]) -> Int {
            texts.append(text)
            return texts.count - 1
        }

        mutating func send(_ place: Int, to connection: Connection) {
            places[connection, default: []].append(place)
        }

        func text(at place: Int) -> [[UInt8]] { texts[place] }

        /// One message a connection; connections with the same events share it.
        var messages: [(connection: Connection, message: LiveMessage)] {
            var known: [[Int]: LiveMessage] = [:]
            return places.map { connection, places in
                if let message = known[places] { return (connection, message) }
                let message = LiveText.changes(.live, places.map { texts[$0] })
                known[places] = message
                return (connection, message)
            }
        }
    }

    private mutating func judge(
        _ change: RecordChange,
        _ verdicts: LiveVerdicts,
        at place: Int,
        relations: RelatedUsers,
        only: SubscriptionIndex.Group?,
        _ outgoing: inout Outgoing
    ) {
        outgoing.dispatch.candidates.append(verdicts.cases[place].groups.count)
        let known = known(before: change)
        var matches = verdicts.matches(at: place)
        // Clients of these groups may hold the record; an earlier change of the transaction may have added it.
        for number in known?.allGroups ?? [] where matches[number] == nil { matches[number] = .neither }
        var written = WrittenChange()
        for (number, verdict) in matches {
            if let only, number != only { continue }
            if membersLoading.contains(number) { continue }
            judge(change, known, for: number, verdict, relations, &written, &outgoing)
        }
    }

    private mutating func judge(
        _ change: RecordChange,
        _ known: Membership.Known?,
        for number: SubscriptionIndex.Group,
        _ verdict: LiveVerdicts.Verdict,
        _ relations: RelatedUsers,
        _ written: inout WrittenChange,
        _ outgoing: inout Outgoing
    ) {
        guard let group = groups[number]?.value else { return }
        let known = known?.forms(of: number) ?? []
        let didMatch: Bool
        let isInsert: Bool
        switch change.before {
        case .missing: (didMatch, isInsert) = (false, true)
        case .row: (didMatch, isInsert) = (verdict.before, false)
        // Clients may hold any of the known versions.
        case .unknown(let mayBeNew): (didMatch, isInsert) = (!known.isEmpty, mayBeNew)
        }
        let matches = verdict.after
        keepMember(change, matches, number, group, &outgoing)
        guard didMatch || matches else { return }
        for audience in group.audiences.list {
            func sees(_ record: StoredRecord?) -> Bool {
                record.map { audience.audience.key.read.admits($0, isRelated: relations.isRelated) } ?? false
            }
            func sight(_ isSeen: Bool, _ matches: Bool) -> LiveSight {
                !isSeen ? .hidden : matches ? .matching : .readable
            }
            let seesOld = sees(change.old)
            let seen = known.filter { $0.isSeen(by: audience.audience, isRelated: relations.isRelated) }
            let kind = LiveEventKind.of(
                before: sight(seesOld || !seen.isEmpty, didMatch),
                after: sight(sees(change.after), matches),
                isInsert: isInsert
            )
            guard let kind else { continue }
            let reader = audience.audience.key.fields
            if kind == .updated {
                let changed = written.changedFields(change)
                guard audience.encoding.shows(change, of: changed, since: seen, to: reader) else { continue }
            }
            let form = audience.encoding.form(of: change.after, for: reader)
            for subscriber in audience.subscribers {
                send(kind, to: subscriber, change, form, seesOld: seesOld, &written, &outgoing)
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
        membership.change(
            change.table.name,
            change.storedID,
            to: matches ? change.after : nil,
            in: change.table,
            for: number,
            at: outgoing.readAt
        )
        let hasRoom = countMembers(of: number)
        guard matches, membership.count(of: number) > limits.members || !hasRoom else { return }
        for subscriber in group.subscribers { outgoing.dispatch.resets.append((subscriber, .gap)) }
    }

    private mutating func send(
        _ kind: LiveEventKind,
        to number: Subscriber,
        _ change: RecordChange,
        _ encoding: RecordEncoding,
        seesOld: Bool,
        _ written: inout WrittenChange,
        _ outgoing: inout Outgoing
    ) {
        guard let subscriber = subscribers[number], let waits = subscriber.value.keeps(kind, of: outgoing.mark),
            !outgoing.ended.contains(number)
        else { return }
        if kind == .updated { guard subscriber.value.watches(written.changedFields(change)) else { return } }
        let client = subscriber.holder.paying
        guard outgoing.budget.countEvent(for: client) else {
            outgoing.ended.insert(number)
            // The subscription loads its records again.
            if waits { overflow(number) } else { outgoing.dispatch.resets.append((number, .bulk)) }
            return
        }
        // A caller who could not read the record before gets no old value, for any kind of event.
        let previous = seesOld && kind != .created ? subscriber.value.filter?.previous : nil
        let key = subscriber.value.eventKey(kind, encoding, previous)
        guard
            let place = written.place(
                of: key,
                write: { written in
                    let before = written.byteCount
                    let event = subscriber.value.event(kind, change, encoding, previous, &written)
                    outgoing.budget.countText(written.byteCount - before, for: client)
                    return event.map { outgoing.add($0) }
                }
            )
        else { return }
        if waits {
            keep(outgoing.text(at: place), of: outgoing.mark, for: number)
        } else {
            outgoing.send(place, to: subscriber.value.connection)
            outgoing.dispatch.events[kind, default: 0] += 1
        }
    }

    private mutating func resetAll(of type: RecordTypeName, _ dispatch: inout Dispatch) {
        for number in groups.numbers {
            guard let group = groups[number]?.value, group.type == type else { continue }
            if case .known = group.members { forgetMembers(of: number) }
            resetAll(of: group, &dispatch)
        }
    }

    private mutating func resetAll(of group: SubscriptionGroup, _ dispatch: inout Dispatch) {
        for subscriber in group.subscribers {
            guard let state = subscribers[subscriber]?.state else { continue }
            switch state {
            case .starting, .live: dispatch.resets.append((subscriber, .bulk))
            // The subscription loads its records again.
            case .loading: overflow(subscriber)
            case .paused: break
            }
        }
    }

    /// Resets the groups that lack members when a change lacks the record before: until now the log of the type had whole
    /// records.
    private mutating func resetUnjudged(_ transaction: CommittedTransaction, _ dispatch: inout Dispatch) {
        let types = Set(transaction.changes.filter(\.lacksBefore).map(\.table.name))
        guard !types.isEmpty else { return }
        for number in groups.numbers {
            guard let group = groups[number]?.value, types.contains(group.type), group.lacksMembers else { continue }
            resetAll(of: group, &dispatch)
        }
    }
}

extension LiveSubscriber {
    /// Returns whether an event of a transaction waits until the subscription is live; nil if it is not sent at all.
    fileprivate func keeps(_ kind: LiveEventKind, of mark: CommittedMark) -> Bool? {
        guard filter?.events.contains(kind) ?? true else { return nil }
        return switch state {
        case .paused: nil
        case .starting(let start): start.covers(mark) ? nil : false
        case .loading: true
        case .live: false
        }
    }

    /// Returns whether a watched field has changed.
    fileprivate func watches(_ changed: Set<FieldName>) -> Bool {
        filter?.watched.map { !$0.isDisjoint(with: changed) } ?? true
    }

    /// Returns the key of the text of an event within a change.
    fileprivate func eventKey(
        _ kind: LiveEventKind,
        _ encoding: RecordEncoding,
        _ previous: PreviousFields?
    ) -> WrittenChange.EventKey {
        WrittenChange.EventKey(subscription: name, kind: kind, encoding: ObjectIdentifier(encoding), previous: previous)
    }

    fileprivate func event(
        _ kind: LiveEventKind,
        _ change: RecordChange,
        _ encoding: RecordEncoding,
        _ previous: PreviousFields?,
        _ written: inout WrittenChange
    ) -> [[UInt8]]? {
        let head = LiveText.head(name)
        if kind == .deleted { return LiveText.event(head, kind.rawValue, id: change.wireID) }
        guard let record = written.record(change, encoding) else { return nil }
        let old = previous.flatMap { written.previous(change, encoding, $0) }
        return LiveText.event(head, kind.rawValue, record: record, previous: old)
    }
}
