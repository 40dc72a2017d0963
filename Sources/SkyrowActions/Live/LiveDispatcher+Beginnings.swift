import SkyrowConcurrency
import SkyrowModel
import SkyrowProtocol
import SkyrowQuery
import SkyrowStore
import SkyrowSystem
import Synchronization

/// Ends the load of a subscription silently: the subscription ended, or loads again.
private struct Superseded: Error {}

extension LiveDispatcher {
    /// How often a load is tried while the database is unavailable.
    private static let attempts = 30
    /// Upper bound on the records of a page.
    private static let pageSize = ChangesRequest.maximumLimit
    /// How often members are read again after they were discarded during the read.
    private static let readings = 5
    /// How long a page waits until the connection has written the previous one.
    private static let patience: Duration = .seconds(30)

    /// Loads the records of subscriptions, several at a time.
    func readBeginnings(_ service: ActionService) async {
        await withDiscardingTaskGroup { group in
            let seats = AsyncSeats(Self.loaders)
            for await load in loads.stream {
                await seats.take()
                group.addTask {
                    await self.readBeginning(load, service)
                    seats.leave()
                }
            }
        }
    }

    private func readBeginning(_ load: Load, _ service: ActionService) async {
        for attempt in 0..<Self.attempts {
            do {
                guard await waitForSource(atMost: .seconds(30)) else {
                    // In a cancelled task every attempt ends at once and leaves a timer behind.
                    try Task.checkCancellation()
                    continue
                }
                try await loadMembers(of: load.subscriber)
                let asksRelations = state.withLock { state in
                    state.registry.subscribers[load.subscriber]?.audience.asksRelations ?? false
                }
                if asksRelations { await rightsLookedAt() }
                try await read(load, service)
                return
            } catch is Superseded {
                return
            } catch is CancellationError {
                return
            } catch let error as SkyrowError where error.isTransient && attempt + 1 < Self.attempts {
                // The database is unavailable or busy, and does not signal when that ends.
                let pause = .milliseconds(500) + Duration.jitter(within: .seconds(1))
                guard (try? await ServiceTimer.sleep(for: pause)) != nil else { return }
            } catch {
                state.withLock { state in
                    guard state.isCurrent(load.attempt, of: load.subscriber) else { return }
                    let reason: LiveReset =
                        switch error as? SkyrowError {
                        case let error? where error.isDenial: .access
                        // The client's token and its records are of another query, so it has to start from the beginning.
                        case let error? where error.code == .invalidToken: .schema
                        default: .gap
                        }
                    state.reset(load.subscriber, reason, after: .jitter(within: .seconds(2)))
                }
                return
            }
        }
        state.withLock { state in
            guard state.isCurrent(load.attempt, of: load.subscriber) else { return }
            state.reset(load.subscriber, .gap, after: .seconds(1) + .jitter(within: .seconds(2)))
        }
    }

    // MARK: Members

    /// Reads which records match the query of a subscription, for a source that lacks the record before a change.
    ///
    /// Throws `135 Overloaded` when too many match.
    func loadMembers(of subscriber: LiveRegistry.Subscriber) async throws {
        var refusals = 0
        while true {
            let asked = state.withLock { state -> MembersQuestion? in
                guard let (number, group) = state.registry.group(of: subscriber), state.needsMembers(group),
                    let table = state.registry.subscribers[subscriber]?.question.table,
                    let reading = state.registry.beginMembers(of: number)
                else { return nil }
                return MembersQuestion(number: number, reading: reading, group: group, table: table)
            }
            guard let asked else {
                guard state.withLock({ $0.needsMembers(of: subscriber) }) else { return }
                // Another subscription of the group reads them.
                await wait(for: .members) { !$0.awaitsMembers(subscriber) }
                try Task.checkCancellation()
                continue
            }
            do {
                try await readMembers(asked)
            } catch let error as SkyrowError where error == .membersHaveChanged && refusals < Self.readings {
                // The stream may have taken over, which needs no members.
                refusals += 1
                continue
            } catch {
                state.withLock { $0.registry.endMembers(of: asked.number, asked.reading) }
                throw error
            }
            return
        }
    }

    private struct MembersQuestion {
        let number: SubscriptionIndex.Group
        let reading: MembersLoading.Reading
        let group: SubscriptionGroup
        let table: RecordTable
    }

    private func readMembers(_ question: MembersQuestion) async throws {
        let (moment, records) = try await store.matchingRecords(
            of: question.table,
            in: question.group.database,
            question.group.predicate,
            limit: configuration.limits.members
        )
        guard let records else { throw SkyrowError.tooManyMembers(configuration.limits.members) }
        let start = LiveStart(moment: moment)
        // Nothing else is dispatched meanwhile.
        try await turns.pass {
            let verdicts = await self.verdicts(ofChangesDuring: question, readAt: start)
            try Task.checkCancellation()
            try self.setMembers(records, of: question, readAt: start, verdicts)
        }
    }

    /// Evaluates the predicate of a group on the records that changed while its members were read.
    private func verdicts(ofChangesDuring question: MembersQuestion, readAt start: LiveStart) async -> [LiveVerdicts] {
        let changes = state.withLock { state in
            state.registry.changes(duringReading: question.reading, of: question.number, readAt: start)
        }
        var verdicts: [LiveVerdicts] = []
        for transaction in changes { verdicts.append(await judged(transaction, only: question.number)) }
        return verdicts
    }

    private func setMembers(
        _ records: [StoredRecord],
        of question: MembersQuestion,
        readAt start: LiveStart,
        _ verdicts: [LiveVerdicts]
    ) throws(SkyrowError) {
        try state.withLock { state throws(SkyrowError) in
            guard state.registry.hasRoom(forMembers: records.count, of: question.number) else {
                throw .noMemoryLeft(.client(limit: configuration.limits.share.client(of: configuration.limits.memory)))
            }
            let dispatch = state.registry.setMembers(
                of: question.number,
                question.reading,
                records,
                readAt: start,
                verdicts
            )
            guard let dispatch else { throw .membersHaveChanged }
            state.perform(dispatch)
        }
    }

    // MARK: Records

    private func read(_ load: Load, _ service: ActionService) async throws {
        let found = state.withLock { state in
            state.isCurrent(load.attempt, of: load.subscriber)
                ? (state.registry.subscribers[load.subscriber]?.value, state.registry.start(of: load.subscriber))
                : (nil, nil)
        }
        guard case (let subscriber?, let position?) = found else { throw Superseded() }
        let (holder, question) = (subscriber.holder, subscriber.question)
        let turn = holder.readTurn(in: service.reads)
        try await turn?.enter()
        defer { turn?.leave() }
        var request = ChangesRequest(database: question.database, query: question.query, limit: Self.pageSize)
        var phase: LiveText.Phase?
        // The position of an earlier load, of which the client may have received some records.
        var earlier: String?
        switch position {
        case .now: request.limit = 1
        case .initial:
            phase = .initial
            earlier = subscriber.began.flatMap { subscriber.token(at: $0) }
        case .since, .mark:
            guard let token = subscriber.token(of: position) else { throw SkyrowError.unexpected }
            phase = .resume
            request.position = .since(token)
        }
        var begun: (moment: ChangeMoment, token: ChangeToken)?
        while true {
            let page = try await service.changesPage(request, by: holder.caller, turn: turn)
            if let reason = page.reset {
                state.withLock { state in
                    guard state.isCurrent(load.attempt, of: load.subscriber) else { return }
                    state.reset(load.subscriber, reason)
                }
                return
            }
            if begun == nil {
                guard let moment = page.moment, let text = page.token ?? page.cursor,
                    var token = ChangeToken(text: text)
                else { throw SkyrowError.unexpected }
                token.pass = nil
                begun = (moment, token)
                if phase == .initial { try noteBeginning(load, token) }
            }
            if let phase { try await send(page, phase, load) }
            guard let cursor = page.cursor, phase != nil else {
                if let token = earlier {
                    // The records of this load don't show which ones of the earlier load are gone.
                    earlier = nil
                    phase = .resume
                    request.position = .since(token)
                    continue
                }
                guard let begun else { throw SkyrowError.unexpected }
                finish(load, at: begun.moment, begun.token)
                return
            }
            request.position = .cursor(cursor)
        }
    }

    /// Notes the position from which on the client may hold records.
    private func noteBeginning(_ load: Load, _ token: ChangeToken) throws(Superseded) {
        try state.withLock { state throws(Superseded) in
            guard state.isCurrent(load.attempt, of: load.subscriber) else { throw Superseded() }
            state.registry.take(token, of: load.subscriber)
        }
    }

    private func send(_ page: ChangesResult, _ phase: LiveText.Phase, _ load: Load) async throws {
        guard !page.removed.isEmpty || !page.changed.isEmpty else { return }
        guard let name = state.withLock({ $0.registry.subscribers[load.subscriber]?.name }) else { throw Superseded() }
        let page = BeginningPage(page, phase, of: name, links: links?.current)
        let verdicts = await verdicts(of: page, for: load.subscriber)
        try Task.checkCancellation()
        let outlet = try state.withLock { state throws(Superseded) in
            guard state.isCurrent(load.attempt, of: load.subscriber) else { throw Superseded() }
            state.send(page, to: load.subscriber, verdicts)
            return state.registry.subscribers[load.subscriber].flatMap { state.connections[$0.connection]?.outlet }
        }
        // The pages of a large result are more than a connection may queue.
        await outlet?.waitForRoom(atMost: Self.patience)
    }

    /// Judges the records of a page by the changes since it was read; again while they keep changing.
    private func verdicts(of page: BeginningPage, for subscriber: LiveRegistry.Subscriber) async -> PageVerdicts {
        var verdicts: PageVerdicts = [:]
        for _ in 0..<Self.readings {
            guard let asked = state.withLock({ $0.questions(about: page, for: subscriber, verdicts) }) else { break }
            let (questions, numbers) = asked
            let found = await judged(questions)
            guard let group = found.cases.first?.groups.first else { break }
            for (place, number) in numbers.enumerated() {
                verdicts[number] = found.matches(at: place)[group]?.after ?? false
            }
        }
        return verdicts
    }

    private func finish(_ load: Load, at moment: ChangeMoment, _ token: ChangeToken) {
        let attempt = state.withLock { state in
            state.isCurrent(load.attempt, of: load.subscriber)
                ? state.finishBeginning(of: load.subscriber, at: moment, token) : nil
        }
        if let attempt { loads.continuation.yield(Load(subscriber: load.subscriber, attempt: attempt)) }
    }
}

extension SkyrowError {
    var isDenial: Bool {
        switch code {
        case .permissionDenied, .recordQueryDenied, .notAuthenticated: true
        default: false
        }
    }

    fileprivate static let membersHaveChanged = SkyrowError(
        .overloaded,
        "Too many records changed while those of a live query were read; try again in a moment."
    )

    fileprivate static func tooManyMembers(_ limit: Int) -> SkyrowError {
        SkyrowError(
            .overloaded,
            "More than \(limit) records match, and changes do not include the old records: narrow the predicate."
        )
    }
}

/// A semaphore for tasks: a fixed number of them run at a time.
final class AsyncSeats: Sendable {
    private let seats = AsyncStream.makeStream(of: Void.self)

    init(_ count: Int) {
        for _ in 0..<count { seats.continuation.yield() }
    }

    func take() async {
        var iterator = seats.stream.makeAsyncIterator()
        _ = await iterator.next()
    }

    func leave() { seats.continuation.yield() }
}
