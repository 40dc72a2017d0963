import SkyrowConcurrency
import SkyrowModel
import SkyrowProtocol
import SkyrowStore
import SkyrowSystem
import Synchronization

extension LiveDispatcher {
    /// How long changes are followed after the last subscription has ended.
    private static let linger: Duration = .seconds(5)
    /// How long the stream may take to start before polling begins.
    private static let bridgeAfter: Duration = .milliseconds(500)
    /// How long the stream stays closed when its content cannot be decoded.
    private static let unreadablePause: Duration = .seconds(3600)
    /// How long it stays closed when more has arrived than may wait for the result of a poll.
    private static let overflowPause: Duration = .seconds(1)
    /// The pause before a client restarts a subscription that takes too many steps.
    private static let costlyPause: Duration = .seconds(5)
    /// Upper bound on the subscriptions that resume after missed changes; clients restart the others.
    private static let maximumResumptions = 1_000

    /// Follows changes while there are subscriptions.
    func followOnDemand() async {
        for await _ in demand.stream {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await self.follow() }
                group.addTask { await self.waitUntilUnused() }
                await group.next()
                group.cancelAll()
            }
            sources.withLock { $0 = SourceSwitch(hasQuestions: configuration.source != .logical) }
            if Task.isCancelled {
                state.withLock { $0.mode = .none }
                return
            }
            // A subscription that arrived at the end has missed what was committed since.
            lose()
            let isWanted = state.withLock { state in
                state.complete = nil
                return state.isWanted
            }
            if isWanted { demand.continuation.yield() }
        }
    }

    /// Returns when nothing has been wanted for a while; only the time decides.
    private func waitUntilUnused() async {
        while !Task.isCancelled {
            await wait(for: .use) { !$0.isWanted }
            await wait(for: .use, during: { try await ServiceTimer.sleep(for: Self.linger) }, until: { $0.isWanted })
            if !state.withLock({ $0.isWanted }) { return }
        }
    }

    private func follow() async {
        switch configuration.source {
        case .off: return
        case .polling: await ask()
        case .logical: await listen()
        case .auto:
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await self.listen() }
                group.addTask { await self.bridge() }
                await group.waitForAll()
            }
        }
    }

    /// Polls for changes whenever the stream does not deliver them.
    private func bridge() async {
        while !Task.isCancelled {
            await wait(for: .mode) { $0.mode == .none }
            // An event of the stream ends the time that it has to start.
            await wait(
                for: .mode,
                during: { try await ServiceTimer.sleep(for: Self.bridgeAfter) },
                until: { $0.mode != .none || self.isAskedMeanwhile }
            )
            if state.withLock({ $0.mode == .none }) { await ask() }
        }
    }

    private var isAskedMeanwhile: Bool { sources.withLock { $0.isAsking } }

    /// Starts polling until the stream takes over.
    private func askMeanwhile() {
        sources.withLock { $0.askMeanwhile() }
        waiting.wake { $0 == .mode }
    }

    /// Follows a source until something ends that; returns nil when its task is cancelled.
    ///
    /// - Parameter take: handles an event, after all earlier events of either source; returns what ends following.
    private func follow<End: Sendable>(
        _ source: some ChangeSource,
        _ take: @escaping @Sendable (ChangeSourceEvent) async -> End?
    ) async -> End? {
        let end = Deferred<End?>()
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                await source.run { event in
                    guard end.settled == nil else { return }
                    if let found = try? await self.turns.pass({ await take(event) }) { end.settle(found) }
                }
            }
            group.addTask { _ = await end.value(ifCancelled: nil) }
            await group.next()
            group.cancelAll()
        }
        return end.settled ?? nil
    }

    // MARK: The stream

    private func listen() async {
        let source = LogicalChangeSource(store, rowLimit: configuration.limits.transactionRows)
        logical.withLock { $0 = source }
        defer { logical.withLock { $0 = nil } }
        while !Task.isCancelled {
            let version = store.cache.current.version
            guard let rest = await follow(source, { await self.takeStreamed($0) }) else { return }
            // A new catalog may make the stream decodable.
            await store.cache.waitForChange(since: version, atMost: rest)
        }
    }

    /// Handles an event of the stream; returns how long the stream stays closed, or nil to go on.
    private func takeStreamed(_ event: ChangeSourceEvent) async -> Duration? {
        switch event {
        case .started:
            let isAlone = sources.withLock { $0.streamStarted() }
            observe(.changesFollowed(.logical))
            if isAlone { begin(.logical) }
        case .delayed:
            askMeanwhile()
        case .transaction(let transaction):
            switch sources.withLock({ $0.streamed(transaction) }) {
            case .dispatch: await dispatch(transaction)
            case .wait: break
            case .overflow: return Self.overflowPause
            }
        case .position(let position):
            if sources.withLock({ $0.stream == .running }) { state.withLock { $0.passed(position) } }
        case .moment: break
        case .interrupted(let interruption):
            observe(.changesInterrupted(interruption.reason, message: interruption.message))
            let (wasRunning, isLeft) = sources.withLock { sources in
                (sources.streamEnded(), interruption.isUnreadable && sources.noteUnreadable(at: .now))
            }
            if interruption.isLasting { askMeanwhile() }
            if wasRunning { lose() }
            if isLeft { return Self.unreadablePause }
        }
        return nil
    }

    // MARK: Questions

    private func ask() async {
        let source = PollingChangeSource(
            store,
            interval: configuration.pollInterval,
            rowLimit: configuration.limits.transactionRows
        ) {
            self.state.withLock { $0.watchedTypes }
        }
        sources.withLock { $0.isAsking = true }
        polling.withLock { $0 = source }
        isPolling.store(true, ordering: .relaxed)
        defer {
            isPolling.store(false, ordering: .relaxed)
            polling.withLock { $0 = nil }
            sources.withLock { $0.isAsking = false }
        }
        _ = await follow(source) { await self.takeAsked($0) }
    }

    /// Handles an event of polling; returns a value when the stream has taken over.
    private func takeAsked(_ event: ChangeSourceEvent) async -> Void? {
        // The stream may have taken over meanwhile.
        guard sources.withLock({ $0.stream != .running }) else { return () }
        switch event {
        case .started:
            observe(.changesFollowed(.polling))
            begin(.polling)
        case .transaction(let transaction): await dispatch(transaction)
        case .moment(let moment):
            state.withLock { state in
                state.registry.passed(moment.walPosition)
                state.completed(moment)
            }
            return await handOver(at: moment) ? () : nil
        case .interrupted(let interruption):
            observe(.changesInterrupted(interruption.reason, message: interruption.message))
            lose()
        case .delayed, .position: break
        }
        return nil
    }

    /// Lets the stream take over if it is ready.
    private func handOver(at moment: ChangeMoment) async -> Bool {
        let waiting = sources.withLock { $0.answered(at: moment) }
        guard let waiting else {
            // The next poll decides.
            if sources.withLock({ $0.stream != .idle }) { polling.withLock { $0 }?.wake() }
            return false
        }
        state.withLock { state in
            state.registry.forgetMembersBesideStream()
            state.mode = .logical
        }
        for transaction in waiting { await dispatch(transaction) }
        return true
    }

    // MARK: Both

    private func begin(_ mode: LiveState.Mode) {
        state.withLock { state in
            if mode == .logical { state.registry.forgetAllMembers() }
            state.watches.noteAll()
            state.mode = mode
        }
        watchSignals.continuation.yield()
    }

    /// Handles missed changes: all subscriptions resume from the last position up to which everything was sent.
    private func lose() {
        let loads = state.withLock { $0.lose(resuming: Self.maximumResumptions) }
        for load in loads { self.loads.continuation.yield(load) }
    }

    /// Sends the events of a transaction to the subscriptions concerned.
    private func dispatch(_ transaction: CommittedTransaction) async {
        if sources.withLock({ $0.hasShown(transaction) }) { return }
        let verdicts = await judged(transaction)
        await rightsKnown()
        // `rightsKnown` returned early.
        if Task.isCancelled { return }
        let catalog = store.cache.current
        let questions = state.withLock { state in
            for (subscriber, reason) in state.registry.takeTables({ catalog.tables[$0] }) {
                state.reset(subscriber, reason)
            }
            return state.registry.askedRelations(transaction)
        }
        var relations = RelatedUsers.none
        if let questions, !questions.isEmpty {
            while !Task.isCancelled {
                // Without a result nothing may be judged: the stream waits, and the query is repeated after a pause.
                if let found = try? await store.relatedUsers(questions) {
                    relations = found
                    break
                }
                _ = try? await ServiceTimer.sleep(for: .milliseconds(100))
            }
            if Task.isCancelled { return }
        }
        let statistics = state.withLock { state -> LiveRegistry.Dispatch in
            state.hasStreamed = true
            if state.watches.note(transaction) { watchSignals.continuation.yield() }
            var transaction = transaction
            if questions == nil {
                // Too many relations decide: the subscriptions of all its types restart.
                transaction = CommittedTransaction(
                    id: transaction.id,
                    end: transaction.end,
                    changes: [],
                    bulk: transaction.bulk.union(transaction.changes.map(\.table.name)),
                    committedAt: transaction.committedAt
                )
            }
            let dispatch = state.registry.dispatch(transaction, verdicts, relations: relations)
            state.perform(dispatch)
            return dispatch
        }
        observe(
            .changesDispatched(
                rows: transaction.changes.count,
                events: statistics.events,
                candidates: statistics.candidates,
                age: transaction.committedAt.map { committed in
                    .microseconds(max(0, ServiceClock.system.now().microseconds - committed.microseconds))
                }
            )
        )
        observeResets()
    }

    /// Evaluates the predicates of subscriptions on the records that a transaction changed.
    ///
    /// - Parameter only: the only group to judge; nil for all.
    func judged(_ transaction: CommittedTransaction, only: SubscriptionIndex.Group? = nil) async -> LiveVerdicts {
        await judged(state.withLock { $0.registry.questions(of: transaction, only: only) })
    }

    /// Finds verdicts outside the lock, and ends the subscriptions whose clients exceed their steps.
    func judged(_ questions: LiveVerdicts) async -> LiveVerdicts {
        var verdicts = questions
        while true {
            verdicts = await judging.judge(verdicts)
            guard !verdicts.refusals.isEmpty else { return verdicts }
            state.withLock { state in
                for subscriber in state.registry.takeRefusals(of: &verdicts) {
                    state.reset(subscriber, .gap, after: Self.costlyPause + .jitter(within: Self.costlyPause))
                }
            }
        }
    }

    /// Triggers a poll at once, since this process has written something.
    func noteWrite() {
        guard isPolling.load(ordering: .relaxed) else { return }
        polling.withLock { $0 }?.wake()
    }
}

extension RecordStore {
    /// Returns the relations between pairs of users, in one statement.
    fileprivate func relatedUsers(_ questions: Set<RelatedUsers.Question>) async throws(SkyrowError) -> RelatedUsers {
        let pairs = questions.map { ($0.user, $0.owner) }
        let found = try await relations.between(pairs)
        return RelatedUsers(
            pairs: Set(found.map { RelatedUsers.Pair(user: $0.user, relation: $0.relation, other: $0.other) })
        )
    }
}
