import SkyrowJSON
import SkyrowModel
import SkyrowProtocol
import SkyrowQuery
import SkyrowStore

/// A page of a subscription's load, with its events.
struct BeginningPage {
    let phase: LiveText.Phase
    /// The events of the records that are gone.
    let removed: [[[UInt8]]]
    let records: [any RecordSource]
    /// The event of each record.
    let changed: [[[UInt8]]]

    /// - Parameters:
    ///   - name: the name of the subscription.
    ///   - links: makes the addresses of files; nil for records without addresses.
    init(_ page: ChangesResult, _ phase: LiveText.Phase, of name: String, links: (any AssetLinks)? = nil) {
        let head = LiveText.head(name)
        self.phase = phase
        removed = page.removed.map { LiveText.event(head, "removed", id: $0) }
        records = page.changed
        changed = page.changed.map { source in
            let writer = JSONWriter(capacity: 512)
            writer.links = links
            writer.record(source)
            return LiveText.event(head, "changed", record: writer.bytes, previous: nil)
        }
    }
}

extension LiveState {
    /// Returns whether an attempt to load a subscription is still current.
    func isCurrent(_ attempt: UInt32, of subscriber: LiveRegistry.Subscriber) -> Bool {
        registry.subscribers[subscriber]?.attempt == attempt
    }

    /// Returns whether changes of a group lack the record before, so that its members are kept.
    func needsMembers(_ group: SubscriptionGroup) -> Bool {
        switch mode {
        case .none: false
        case .polling: true
        case .logical: group.hasKeysAlone
        }
    }

    /// Returns whether the members of a subscription's group are missing, so that its load waits for them.
    func needsMembers(of subscriber: LiveRegistry.Subscriber) -> Bool {
        guard let (number, group) = registry.group(of: subscriber), needsMembers(group) else { return false }
        return !registry.hasMembers(number)
    }

    /// Returns whether the missing members of a subscription's group are being read.
    func awaitsMembers(_ subscriber: LiveRegistry.Subscriber) -> Bool {
        guard needsMembers(of: subscriber), let number = registry.subscribers[subscriber]?.group else { return false }
        return registry.membersLoading.contains(number)
    }

    /// Returns the cases to judge before a page is sent, and the numbers of their changes; nil without any.
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

    /// Sends a page of a subscription's load, without the records that have left its results since.
    mutating func send(_ page: BeginningPage, to subscriber: LiveRegistry.Subscriber, _ verdicts: PageVerdicts) {
        guard let known = registry.subscribers[subscriber] else { return }
        let gone = keepSent(page.records, to: subscriber, verdicts)
        // In an initial load the client does not hold them.
        let left = page.phase == .resume ? gone.keys.sorted().compactMap { gone[$0] } : []
        let head = left.isEmpty ? [] : LiveText.head(known.name)
        // Removals come first: a record may have been deleted and created again.
        var events = page.removed
        for id in left { events.append(LiveText.event(head, "removed", id: id)) }
        for (place, event) in page.changed.enumerated() where gone[place] == nil { events.append(event) }
        if !events.isEmpty { send(LiveText.changes(page.phase, events), to: known.connection) }
    }

    /// Registers the records of a page as sent.
    ///
    /// - Returns: the ids of the records that must not be sent, by their indexes in the page: they have left the results since it
    ///   was read.
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
                // The load is repeated later, when fewer changes are in progress.
                gone[place] = record.id.description
                registry.overflow(subscriber)
            }
        }
        return gone
    }

    /// Makes a subscription live after its records were sent.
    ///
    /// - Parameters:
    ///   - moment: the snapshot at which reading the records began.
    ///   - token: its token.
    /// - Returns: the attempt with which it loads again, because too much has changed meanwhile; nil otherwise.
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
            // What was sent of the load holds, so only later changes are read.
            if case .now = known.position { return registry.begin(subscriber) }
            return registry.begin(subscriber, behind: LiveMark(token))
        }
        send(LiveText.checkpoint([(known.name, token.text)], isReady: true), to: known.connection)
        for message in messages { send(message, to: known.connection) }
        // The buffered events belong to positions that the connection has passed, so the subscription cannot resume from these.
        registry.noteBeginningSent(subscriber, after: connections[known.connection]?.sentBytes ?? 0)
        return nil
    }

    /// Restarts the subscriptions of a connection that accepts messages again after it has dropped some.
    mutating func caughtUp(_ connection: LiveRegistry.Connection) -> [LiveDispatcher.Load] {
        guard let known = connections[connection] else { return [] }
        let generation = known.outlet.generation
        // An odd generation means that it is behind again, and another notification follows.
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

    /// Makes all subscriptions resume from the last position up to which everything was sent, since changes are missed from here
    /// on.
    ///
    /// - Parameter maximum: upper bound on the subscriptions that resume; others end, and their clients restart them.
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
