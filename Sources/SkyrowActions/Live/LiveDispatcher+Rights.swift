import SkyrowConcurrency
import SkyrowModel
import SkyrowProtocol
import SkyrowStore
import SkyrowSystem
import Synchronization

extension LiveDispatcher {
    /// How often the rights of all sessions are checked; a notification triggers a check at once.
    private static let rightsInterval: Duration = .milliseconds(600)
    /// How many sessions are looked up concurrently.
    private static let lookups = 8

    /// The subscriptions with the same credentials and caller.
    private struct Holder: Sendable {
        let credentials: Credentials
        let caller: Caller
        var connections: Set<LiveRegistry.Connection> = []
        /// Whether relations of users decide what the caller may read.
        var asksRelations = false

        mutating func add(_ party: SubscriptionBook.Party, on connection: LiveRegistry.Connection) {
            connections.insert(connection)
            if party.relatedCount > 0 { asksRelations = true }
        }
    }

    /// What changed of a session in the database.
    private struct Change {
        let ofRights: Bool
        let ofRelations: Bool
    }

    private struct HolderKey: Hashable {
        let credentials: Credentials
        let caller: Caller
    }

    /// Requests a check of the rights of all sessions.
    func rightsMayHaveChanged() {
        rightsSignals.continuation.yield()
    }

    /// Ends or resets subscriptions whose callers' rights have changed.
    func keepRights(_ service: ActionService) async {
        var known: [TokenHash: SessionStanding] = [:]
        // The database is polled since notifications may get lost; a failed check is repeated with the next poll.
        let timer = Task {
            while (try? await ServiceTimer.sleep(for: Self.rightsInterval)) != nil {
                rightsSignals.continuation.yield()
                await wait(for: .use) { !$0.isUnused }
            }
        }
        defer { timer.cancel() }
        for await _ in rightsSignals.stream {
            let look = rightsLooks.withLock { $0.begin(at: clock.instant()) }
            let holders = holders()
            let hashes = Set(holders.compactMap(\.credentials.tokenHash))
            do {
                let asking = Set(holders.lazy.filter(\.asksRelations).compactMap(\.credentials.tokenHash))
                let list = Array(hashes)
                let found = try await store.sessions.standings(
                    of: list.map(\.bytes),
                    withRelations: list.map { asking.contains($0) }
                )
                let present = Dictionary(uniqueKeysWithValues: list.map { ($0, found[$0.bytes] ?? SessionStanding()) })
                var changed: [TokenHash: Change] = [:]
                for (hash, standing) in present {
                    // What is cached of a session that is new here may already be a second old.
                    if known[hash]?.rights != standing.rights { service.forgetSession(hash) }
                    guard let former = known[hash] else { continue }
                    changed[hash] = Change(
                        ofRights: former.rights != standing.rights,
                        ofRelations: standing.hasOtherRelations(than: former)
                    )
                }
                // What is cached of keys may be a second old, too.
                if holders.contains(where: { $0.caller.keyName != nil }) { try await service.loadKeys() }
                let isSettled = await check(holders, changed, service)
                known = present
                // Rules of types are rights as well, and their notifications may get lost, too.
                if !holders.isEmpty {
                    let areRulesKnown = await store.lookAtRules()
                    endOutdated()
                    if !areRulesKnown { continue }
                }
                if isSettled { noteRights(known: look) }
            } catch {
                // Nothing is judged until the next check succeeds.
                continue
            }
        }
    }

    func noteRights(known look: RightsLooks.Look) {
        rightsLooks.withLock { $0.succeed(look) }
        waiting.wake { $0 == .rights }
    }

    /// Waits until the rights of all sessions were checked within the last second or nothing needs them; returns early when its
    /// task is cancelled.
    func rightsKnown() async {
        await lookAtRights { [self] in
            state.withLock { $0.isUnused } || rightsLooks.withLock { $0.areKnown(at: clock.instant()) }
        }
    }

    /// Waits until a check of the rights of all sessions that began after the call has succeeded; returns early when its task is
    /// cancelled.
    ///
    /// What is read afterwards may depend on relations of users, which are compared with those of that check from then on.
    func rightsLookedAt() async {
        let last = rightsLooks.withLock { $0.last }
        await lookAtRights { [self] in rightsLooks.withLock { $0.haveSucceeded(since: last) } }
    }

    private func lookAtRights(until areKnown: () -> Bool) async {
        while !Task.isCancelled, !areKnown() {
            rightsSignals.continuation.yield()
            await waiting.wait(for: .rights, unless: areKnown)
        }
    }

    /// Ends the subscriptions of types whose table or rules were replaced, whether their records change or not.
    func endOutdated() {
        let catalog = store.cache.current
        state.withLock { state in
            for (subscriber, reason) in state.registry.takeTables({ catalog.tables[$0] }) {
                state.reset(subscriber, reason)
            }
            for (watcher, reason) in state.watches.takeTables({ catalog.tables[$0] }) {
                state.resetWatch(watcher, reason)
            }
        }
        observeResets()
    }

    private func holders() -> [Holder] {
        state.withLock { state in
            var holders: [HolderKey: Holder] = [:]
            for book in [state.registry.book, state.watches.book] {
                for (connection, account) in book.accounts {
                    for party in account.parties {
                        let (credentials, caller) = (party.holder.credentials, party.holder.caller)
                        let key = HolderKey(credentials: credentials, caller: caller)
                        holders[key, default: Holder(credentials: credentials, caller: caller)].add(
                            party,
                            on: connection
                        )
                    }
                }
            }
            return Array(holders.values)
        }
    }

    /// Authenticates the callers again; false if that failed for some of them.
    ///
    /// - Parameter changed: what has changed of sessions in the database.
    private func check(_ holders: [Holder], _ changed: [TokenHash: Change], _ service: ActionService) async -> Bool {
        await withTaskGroup(of: Bool.self) { group in
            var isSettled = true
            var next = holders.makeIterator()
            func startNext() {
                guard let holder = next.next() else { return }
                group.addTask { await self.check(holder, changed, service) }
            }
            for _ in 0..<Self.lookups { startNext() }
            for await isKnown in group {
                if !isKnown { isSettled = false }
                startNext()
            }
            return isSettled
        }
    }

    private func check(_ holder: Holder, _ changed: [TokenHash: Change], _ service: ActionService) async -> Bool {
        let change = holder.credentials.tokenHash.flatMap { changed[$0] }
        // Only what depends on relations is read again.
        if change?.ofRelations == true { end(holder, .access, askingRelations: true) }
        // Unless a notification or the database shows a change, the former result still holds. Keys are not part of the session,
        // so they are always checked.
        let isAsked = change?.ofRights == true || holder.caller.keyName != nil
        guard isAsked || !service.remembers(holder.credentials) else { return true }
        do throws(SkyrowError) {
            let action = Actions.liveSubscribe.description
            let caller = try await service.authenticate(holder.credentials, for: action)
            if !caller.hasRights(of: holder.caller) { end(holder, .access) }
            return true
        } catch {
            guard error.endsSession else { return false }
            end(holder, .session)
            return true
        }
    }

    /// - Parameter askingRelations: whether only subscriptions that depend on relations of users end.
    private func end(_ holder: Holder, _ reason: LiveReset, askingRelations: Bool = false) {
        state.withLock { state in
            state.reset(on: holder.connections, reason) { owner, asksRelations in
                (asksRelations || !askingRelations) && owner.credentials == holder.credentials
                    && owner.caller == holder.caller
            }
            guard reason == .session else { return }
            for connection in holder.connections { state.connections[connection]?.outlet.close(.sessionEnded) }
        }
    }
}

extension ActionService {
    /// Returns whether the session of these credentials is cached, so that the database needs no query.
    fileprivate func remembers(_ credentials: Credentials) -> Bool {
        guard let hash = credentials.tokenHash else { return false }
        return cachedSession(hash) != nil
    }

    /// Removes a session from the cache, so that the database is queried again.
    fileprivate func forgetSession(_ token: TokenHash) {
        sessions.withLock { $0.remove(token) }
    }
}

extension Caller {
    /// Returns whether both callers have the same rights; a recent step-up makes no difference.
    fileprivate func hasRights(of other: Caller) -> Bool {
        kind == other.kind && roles == other.roles && groups == other.groups && isRegistered == other.isRegistered
            && isVerified == other.isVerified
            && key == other.key && keyName == other.keyName
    }
}

extension AccessScope {
    /// Whether relations of users decide what it admits.
    var asksRelations: Bool { relatedUser != nil }
}

extension SkyrowError {
    /// Whether the error means that the credentials are no longer valid.
    fileprivate var endsSession: Bool {
        switch code {
        case .accessTokenNotAccepted, .accessKeyNotAccepted, .notAuthenticated, .permissionDenied, .userDisabled: true
        default: false
        }
    }
}
