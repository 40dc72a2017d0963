import SkyrowModel
import SkyrowStore
import SkyrowSystem
import Synchronization

extension LiveDispatcher {
    /// How long changes are followed when the last subscription has ended.
    private static let linger: Duration = .seconds(5)
    /// How long the stream may take to begin before changes are asked for.
    private static let bridgeAfter: Duration = .milliseconds(500)
    /// How long the stream is left alone where what it brings cannot be read.
    private static let unreadablePause: Duration = .seconds(3600)
    /// How long it is left alone where more has come than may wait for the answer to a question.
    private static let overflowPause: Duration = .seconds(1)
    /// How long a subscription is left alone that takes too many steps.
    private static let costlyPause: Duration = .seconds(5)
    /// How many subscriptions resume after changes were missed; others are begun anew by their clients.
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
            state.withLock { state in
                _ = state.setMode(.none)
                state.complete = nil
                state.pending = []
                state.registry.forgetAllMembers()
            }
            // A subscription that came at the last moment.
            if state.withLock({ !$0.isUnused || !$0.waiters.isEmpty }) { demand.continuation.yield() }
        }
    }

    private func waitUntilUnused() async {
        var unusedSince: ContinuousClock.Instant?
        while (try? await ServiceTimer.sleep(for: .seconds(1))) != nil {
            let isUsed = state.withLock { !$0.isUnused || !$0.waiters.isEmpty }
            guard !isUsed else {
                unusedSince = nil
                continue
            }
            let since = unusedSince ?? .now
            unusedSince = since
            if .now - since >= Self.linger { return }
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

    /// Asks for changes whenever the stream does not bring them.
    private func bridge() async {
        var idleSince: ContinuousClock.Instant? = .now
        while !Task.isCancelled {
            let mode = state.withLock { $0.mode }
            if mode == .none {
                let since = idleSince ?? .now
                idleSince = since
                if sources.withLock({ $0.isAsking }) || .now - since >= Self.bridgeAfter {
                    await ask()
                    idleSince = nil
                    continue
                }
            } else {
                idleSince = nil
            }
            guard (try? await ServiceTimer.sleep(for: .milliseconds(20))) != nil else { return }
        }
    }

    // MARK: The stream

    private func listen() async {
        let source = LogicalChangeSource(store, rowLimit: configuration.limits.transactionRows)
        logical.withLock { $0 = source }
        defer { logical.withLock { $0 = nil } }
        while !Task.isCancelled {
            let version = store.cache.current.version
            let rest = Rest()
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    await source.run { event in
                        guard rest.duration == nil else { return }
                        rest.begin(await self.takeTurn { await self.takeStreamed(event) })
                    }
                }
                group.addTask {
                    while (try? await ServiceTimer.sleep(for: .milliseconds(100))) != nil {
                        if rest.duration != nil { return }
                    }
                }
                await group.next()
                group.cancelAll()
            }
            guard let duration = rest.duration else { return }
            let end = ContinuousClock.now + duration
            while .now < end, store.cache.current.version == version {
                guard (try? await ServiceTimer.sleep(for: .seconds(1))) != nil else { return }
            }
        }
    }

    private func takeTurn<Result>(_ body: () async -> Result) async -> Result {
        await turns.take()
        defer { turns.leave() }
        return await body()
    }

    /// Takes an event of the stream; returns for how long the stream is to be left alone, nil where it goes on.
    private func takeStreamed(_ event: ChangeSourceEvent) async -> Duration? {
        switch event {
        case .started:
            let isAlone = sources.withLock { $0.streamStarted() }
            observe(.changesFollowed(.logical))
            if isAlone { begin(.logical) }
        case .delayed:
            sources.withLock { $0.askMeanwhile() }
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
                let wasRunning = sources.streamEnded()
                if interruption.isLasting { sources.askMeanwhile() }
                return (wasRunning, interruption.isUnreadable && sources.noteUnreadable(at: .now))
            }
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
        let isOver = RaisedFlag()
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                await source.run { event in
                    let ends = await self.takeTurn { await self.takeAsked(event) }
                    if ends { isOver.raise() }
                }
            }
            group.addTask {
                while (try? await ServiceTimer.sleep(for: .milliseconds(5))) != nil {
                    if isOver.isRaised { return }
                }
            }
            await group.next()
            group.cancelAll()
        }
    }

    /// Takes an answer; true when the stream has taken over.
    private func takeAsked(_ event: ChangeSourceEvent) async -> Bool {
        // The stream may have taken over a moment ago.
        guard sources.withLock({ $0.stream != .running }) else { return true }
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
            return await handOver(at: moment)
        case .interrupted(let interruption):
            observe(.changesInterrupted(interruption.reason, message: interruption.message))
            lose()
        case .delayed, .position: break
        }
        return false
    }

    /// Lets the stream take over, if it is ready.
    private func handOver(at moment: ChangeMoment) async -> Bool {
        let waiting = sources.withLock { $0.answered(at: moment) }
        guard let waiting else {
            // The next answer decides.
            if sources.withLock({ $0.stream != .idle }) { polling.withLock { $0 }?.wake() }
            return false
        }
        state.withLock { state in
            state.registry.forgetMembersBesideStream()
            _ = state.setMode(.logical)
        }
        for transaction in waiting { await dispatch(transaction) }
        return true
    }

    // MARK: Both

    private func begin(_ mode: LiveState.Mode) {
        let waiters = state.withLock { state in
            if mode == .logical { state.registry.forgetAllMembers() }
            state.watches.noteAll()
            return state.setMode(mode)
        }
        for waiter in waiters { waiter.resume(returning: true) }
        watchSignals.continuation.yield()
    }

    /// Changes are missed from here on: all subscriptions go on from the last moment up to which all was sent.
    private func lose() {
        let loads = state.withLock { $0.lose(resuming: Self.maximumResumptions) }
        for load in loads { self.loads.continuation.yield(load) }
    }

    /// Sends what a transaction means to all whom it concerns.
    private func dispatch(_ transaction: CommittedTransaction) async {
        if sources.withLock({ $0.hasShown(transaction) }) { return }
        let verdicts = await judged(transaction)
        await rightsKnown()
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
                // Without an answer nothing may be judged: the stream waits.
                if let found = try? await store.relatedUsers(questions) {
                    relations = found
                    break
                }
                _ = try? await ServiceTimer.sleep(for: .milliseconds(100))
            }
        }
        let statistics = state.withLock { state -> LiveRegistry.Dispatch in
            state.hasStreamed = true
            if state.watches.note(transaction) { watchSignals.continuation.yield() }
            var transaction = transaction
            if questions == nil {
                // Too many relations decide about it: all of its types are read anew.
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

    /// What the predicates of subscriptions are for what a transaction changed.
    ///
    /// - Parameter only: a group that alone is meant; nil for all.
    func judged(
        _ transaction: CommittedTransaction,
        only: SubscriptionIndex.Group? = nil
    ) async -> LiveVerdicts {
        await judged(state.withLock { $0.registry.questions(of: transaction, only: only) })
    }

    /// Finds verdicts without the lock, and ends the subscriptions that cannot pay for theirs.
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

    /// Has changes be asked for at once, since this process has written something.
    func noteWrite() {
        guard isPolling.load(ordering: .relaxed) else { return }
        polling.withLock { $0 }?.wake()
    }
}

extension RecordStore {
    /// The relations between pairs of users, in one statement.
    fileprivate func relatedUsers(_ questions: Set<RelatedUsers.Question>) async throws(SkyrowError) -> RelatedUsers {
        let pairs = questions.map { ($0.user, $0.owner) }
        let found = try await relations.between(pairs)
        return RelatedUsers(
            pairs: Set(found.map { RelatedUsers.Pair(user: $0.user, relation: $0.relation, other: $0.other) })
        )
    }
}

/// Something that becomes true once.
private final class RaisedFlag: Sendable {
    private let state = Atomic(false)

    var isRaised: Bool { state.load(ordering: .relaxed) }

    func raise() { state.store(true, ordering: .relaxed) }
}

/// For how long the stream is left alone; nil while it goes on.
private final class Rest: Sendable {
    private let state = Mutex<Duration?>(nil)

    var duration: Duration? { state.withLock { $0 } }

    func begin(_ duration: Duration?) { state.withLock { $0 = duration } }
}
