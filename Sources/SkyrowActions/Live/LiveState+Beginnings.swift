import SkyrowJSON
import SkyrowModel
import SkyrowQuery
import SkyrowStore
import SkyrowWire

/// Some of the records at the beginning of a subscription, as they were read, and the events that say so.
struct BeginningPage {
    let phase: LiveText.Phase
    /// The events of the records that are gone.
    let removed: [[[UInt8]]]
    let records: [any RecordSource]
    /// The event of each record.
    let changed: [[[UInt8]]]

    /// - Parameter name: the name of the subscription.
    init(_ page: ChangesResult, _ phase: LiveText.Phase, of name: String) {
        let head = LiveText.head(name)
        self.phase = phase
        removed = page.removed.map { LiveText.event(head, "removed", id: $0) }
        records = page.changed
        changed = page.changed.map { source in
            let writer = JSONWriter(capacity: 512)
            writer.record(source)
            return LiveText.event(head, "changed", record: writer.bytes, previous: nil)
        }
    }
}

extension LiveState {
    /// Whether an attempt to begin a subscription still counts.
    func isCurrent(_ attempt: UInt32, of subscriber: LiveRegistry.Subscriber) -> Bool {
        registry.subscribers[subscriber]?.attempt == attempt
    }

    /// Whether the changes of a group come without the records before, so that its members are kept.
    func needsMembers(_ group: SubscriptionGroup) -> Bool {
        switch mode {
        case .none: false
        case .polling: true
        case .logical: group.hasKeysAlone
        }
    }

    /// Whether a subscription lacks members, so that its beginning waits for them.
    func needsMembers(of subscriber: LiveRegistry.Subscriber) -> Bool {
        guard let (number, group) = registry.group(of: subscriber), needsMembers(group) else { return false }
        return !registry.hasMembers(number)
    }

    /// Whether the members that a subscription lacks are being read.
    func awaitsMembers(_ subscriber: LiveRegistry.Subscriber) -> Bool {
        guard needsMembers(of: subscriber), let number = registry.subscribers[subscriber]?.group else { return false }
        return registry.membersLoading.contains(number)
    }

    /// What is asked of the records of a page before it is sent, and the numbers of the changes; nil for nothing.
    func questions(
        about page: BeginningPage,
        for subscriber: LiveRegistry.Subscriber,
        _ verdicts: PageVerdicts
    ) -> (questions: LiveVerdicts, numbers: [Int])? {
        guard let (number, group) = registry.group(of: subscriber), registry.whileLoading.hasChanges(of: group.type)
        else { return nil }
        let records = page.records.compactMap { $0.collected() }.map { StoredRecord($0, in: group.database) { $0.id } }
        let entries = registry.unjudged(records, for: subscriber, verdicts)
        guard !entries.isEmpty else { return nil }
        var questions = LiveVerdicts()
        for entry in entries { _ = questions.ask(nil, entry.after, of: [number]) }
        questions.add(number, group.predicate, paidBy: registry.subscribers[subscriber]?.holder.paying)
        return (questions, entries.map(\.number))
    }

    /// Sends a page to a subscription at its beginning, but for the records that have left its results since.
    mutating func send(
        _ page: BeginningPage,
        to subscriber: LiveRegistry.Subscriber,
        _ verdicts: PageVerdicts
    ) {
        guard let known = registry.subscribers[subscriber] else { return }
        let gone = keepSent(page.records, to: subscriber, verdicts)
        // Who begins has not got them.
        let left = page.phase == .resume ? gone.keys.sorted().compactMap { gone[$0] } : []
        let head = left.isEmpty ? [] : LiveText.head(known.name)
        // What is removed comes first: a record may have been deleted and made again.
        var events = page.removed
        for id in left { events.append(LiveText.event(head, "removed", id: id)) }
        for (place, event) in page.changed.enumerated() where gone[place] == nil { events.append(event) }
        if !events.isEmpty { send(LiveText.changes(page.phase, events), to: known.connection) }
    }

    /// Takes the records of a page that is sent to a subscription at its beginning.
    ///
    /// - Returns: the ids of those that are not to be sent, by their places in the page: they have left its results since it was read.
    private mutating func keepSent(
        _ page: [any RecordSource],
        to subscriber: LiveRegistry.Subscriber,
        _ verdicts: PageVerdicts
    ) -> [Int: String] {
        guard let group = registry.group(of: subscriber)?.group else { return [:] }
        let isMember = needsMembers(group)
        guard isMember || registry.whileLoading.hasChanges(of: group.type) else { return [:] }
        var gone: [Int: String] = [:]
        for (place, source) in page.enumerated() {
            guard let record = source.collected() else { continue }
            let stored = StoredRecord(record, in: group.database) { $0.id }
            switch registry.judge(stored, for: subscriber, verdicts) {
            case .gone:
                gone[place] = record.id.description
                continue
            case .unknown: registry.overflow(subscriber)
            case .present: break
            }
            if isMember, !registry.keepSent(stored, to: subscriber) {
                // The records are read once more, when less is on its way.
                gone[place] = record.id.description
                registry.overflow(subscriber)
            }
        }
        return gone
    }

    /// Makes a subscription live whose records at the beginning were sent.
    ///
    /// - Parameters:
    ///   - moment: the one at which those who read the records began to.
    ///   - token: its token.
    /// - Returns: the attempt by which it begins once more, because too much has changed meanwhile; nil otherwise.
    mutating func finishBeginning(
        of subscriber: LiveRegistry.Subscriber,
        at moment: ChangeMoment,
        _ token: ChangeToken
    ) -> UInt32? {
        guard let known = registry.subscribers[subscriber] else { return nil }
        registry.take(token, of: subscriber)
        guard let messages = registry.finishLoading(subscriber, from: LiveStart(moment: moment)) else {
            guard registry.restart(subscriber) else {
                reset(subscriber, .gap, after: .seconds(1) + .jitter(within: .seconds(2)))
                return nil
            }
            // What was sent of the beginning holds, so that only what came since is read.
            if case .now = known.position { return registry.begin(subscriber) }
            return registry.begin(subscriber, behind: LiveMark(token))
        }
        send(LiveText.checkpoint([(known.name, token.text)], isReady: true), to: known.connection)
        for message in messages { send(message, to: known.connection) }
        // What has waited belongs to moments that its connection has passed, so it goes on from none of them.
        registry.noteBeginningSent(subscriber, after: connections[known.connection]?.sentBytes ?? 0)
        return nil
    }

    /// Begins the subscriptions of a connection again that takes messages after it has dropped some.
    mutating func caughtUp(_ connection: LiveRegistry.Connection) -> [LiveDispatcher.Load] {
        guard let known = connections[connection] else { return [] }
        let generation = known.outlet.generation
        // In an odd one it has fallen behind once more, and another notice comes.
        guard generation != known.generation, generation.isMultiple(of: 2) else { return [] }
        if !known.isBehind { fellBehind(connection) }
        connections[connection]?.generation = generation
        connections[connection]?.isBehind = false
        sendEnds(to: connection)
        watches.resume(connection)
        return registry.subscribers(of: connection).compactMap { subscriber in
            registry.begin(subscriber).map { LiveDispatcher.Load(subscriber: subscriber, attempt: $0) }
        }
    }

    /// Has all subscriptions go on from the last moment up to which all was sent: changes are missed from here on.
    ///
    /// - Parameter maximum: how many go on; others end, and their clients begin anew.
    mutating func lose(resuming maximum: Int) -> [LiveDispatcher.Load] {
        mode = .none
        registry.forgetAllMembers()
        pending = []
        var loads: [LiveDispatcher.Load] = []
        for subscriber in registry.subscribers.numbers {
            guard let known = registry.subscribers[subscriber] else { continue }
            if case .paused = known.state { continue }
            guard loads.count < maximum else {
                reset(subscriber, .gap, after: .jitter(within: .seconds(2)))
                continue
            }
            let mark = resumption(of: subscriber) ?? registry.resuming[subscriber]
            if let attempt = registry.begin(subscriber, behind: mark) {
                loads.append(LiveDispatcher.Load(subscriber: subscriber, attempt: attempt))
            }
        }
        return loads
    }
}
