import SkyrowModel
import SkyrowProtocol
import SkyrowStore

extension LiveState {
    /// Whether there is no subscription of either kind.
    var isUnused: Bool { registry.isEmpty && watches.isEmpty }

    /// Whether changes are wanted: there is a subscription, or one is being added.
    var isWanted: Bool { !isUnused || awaitingSource > 0 }

    /// The types whose changes are wanted, with the databases of their records.
    var watchedTypes: [RecordTypeName: [DatabaseScope]] {
        var types = watches.watchedTypes
        for type in registry.types { types[type, default: []].formUnion(registry.index.databases(of: type)) }
        return types.mapValues { Array($0) }
    }

    /// Upper bound on the ends of subscriptions that wait for a connection; beyond it, the connection gets no new subscription.
    static let maximumEndings = 1_000

    /// Claims a name for a new subscription, and returns the source of its changes. Throws `109 Duplicated` for one in use, and
    /// `135 Overloaded` when the ends of too many subscriptions are not delivered yet, or the connection has ended.
    @discardableResult
    mutating func claim(_ name: String, on connection: LiveRegistry.Connection) throws(SkyrowError) -> LiveSourceName {
        guard registry.subscriber(name, of: connection) == nil, watches.watcher(name, of: connection) == nil else {
            throw .subscriptionNameInUse
        }
        // A client that reuses a name is not sent the end of the former subscription.
        forgetEnd(of: name, on: connection)
        guard let known = connections[connection] else { throw .connectionHasEnded }
        guard known.endings.count < Self.maximumEndings else {
            throw SkyrowError(.overloaded, "The connection reads too slowly; read the pending events and try again.")
        }
        return mode == .polling ? .polling : .logical
    }

    /// Ends a subscription to a query, and sends the reason.
    mutating func resetWatch(_ watcher: WatchRegistry.Watcher, _ reason: LiveReset, after pause: Duration? = nil) {
        guard let request = watches.watchers[watcher]?.request else { return }
        watches.remove(watcher)
        end(request.name, on: request.connection, reason, after: pause)
    }

    /// Ends the subscriptions of connections that match a condition on their holder and on whether they depend on relations of
    /// users.
    mutating func reset(
        on connections: Set<LiveRegistry.Connection>,
        _ reason: LiveReset,
        where isConcerned: (LiveHolder, _ asksRelations: Bool) -> Bool
    ) {
        for connection in connections {
            for subscriber in registry.subscribers(of: connection) {
                guard let known = registry.subscribers[subscriber],
                    isConcerned(known.holder, known.audience.asksRelations)
                else { continue }
                reset(subscriber, reason)
            }
            for watcher in watches.watchers(of: connection) {
                guard let request = watches.watchers[watcher]?.request,
                    isConcerned(request.holder, request.asksRelations)
                else { continue }
                resetWatch(watcher, reason)
            }
        }
    }

    /// Returns the counts of live queries at a time of the clock, in seconds.
    func count(at seconds: Int64) -> LiveCount {
        var count = LiveCount()
        count.subscriptions = registry.subscribers.count + watches.watchers.count
        count.keyedGroups = registry.groupCount - registry.index.scannedCount
        count.unkeyedGroups = registry.index.scannedCount
        guard mode != .none, !isUnused, let oldest = pending.first, let newest = pending.last else { return count }
        if newest.walPosition > passed { count.lagBytes = Int(clamping: newest.walPosition - passed) }
        count.lag = .seconds(max(0, seconds - oldest.takenAt))
        return count
    }

    /// Sends the result of a query, or its differences, to the subscribers.
    mutating func take(_ answer: WatchedAnswer, of group: WatchRegistry.Group, asking: Int) {
        for delivery in watches.take(answer, of: group, asking: asking) {
            guard let request = watches.watchers[delivery.watcher]?.request else { continue }
            let whole = delivery.phase == .initial ? request.name : nil
            send(LiveText.changes(delivery.phase, delivery.events, wholeOf: whole), to: request.connection)
        }
    }
}

extension SkyrowError {
    static let subscriptionNameInUse = SkyrowError(
        .duplicated,
        "The connection already has a subscription of this name."
    )
}
