import SkyrowModel
import SkyrowProtocol
import SkyrowStore
import SkyrowSystem
import Synchronization

extension LiveDispatcher {
    /// How many queries run concurrently.
    private static let askers = 4

    /// Runs queries again whose results may have changed, until the task is cancelled.
    func keepWatches(_ service: ActionService) async {
        await withDiscardingTaskGroup { group in
            let seats = AsyncSeats(Self.askers)
            var alarm: ContinuousClock.Instant?
            for await _ in watchSignals.stream {
                if let set = alarm, set <= .now { alarm = nil }
                asking: while !Task.isCancelled {
                    switch state.withLock({ $0.watches.next(at: .now) }) {
                    case .nothing: break asking
                    case .wait(let instant):
                        if let set = alarm, set <= instant { break asking }
                        alarm = instant
                        // Only the time decides: it keeps the minimum interval between two runs of a query.
                        group.addTask {
                            _ = try? await ServiceTimer.sleep(until: instant)
                            self.watchSignals.continuation.yield()
                        }
                        break asking
                    case .ask(let number):
                        await seats.take()
                        group.addTask {
                            await self.ask(number, service)
                            seats.leave()
                            self.watchSignals.continuation.yield()
                        }
                    }
                }
            }
        }
    }

    /// Runs a query with the rights of one of its subscribers, and sends all of them the differences.
    private func ask(_ number: WatchRegistry.Group, _ service: ActionService) async {
        let start = ContinuousClock.now
        defer { state.withLock { $0.watches.ended(number, after: .now - start, at: .now) } }
        endOutdated()
        let asked = state.withLock { state -> (request: WatchRegistry.Request, asking: Int)? in
            guard let first = state.watches.groups[number]?.watchers.first,
                let request = state.watches.watchers[first]?.request
            else { return nil }
            return (request, state.watches.begin())
        }
        guard let (request, asking) = asked else { return }
        do throws(SkyrowError) {
            let turn = request.holder.readTurn(in: service.reads)
            try await turn?.enter()
            defer { turn?.leave() }
            let answer = try await service.answer(request, turn: turn)
            await take(answer, of: number, asking: asking)
        } catch {
            fail(number, error)
        }
    }

    /// Sends a result once the rights of all its receivers are known.
    func take(_ answer: WatchedAnswer, of number: WatchRegistry.Group, asking: Int) async {
        await rightsKnown()
        endOutdated()
        guard !Task.isCancelled else { return }
        state.withLock { $0.take(answer, of: number, asking: asking) }
    }

    private func fail(_ number: WatchRegistry.Group, _ error: SkyrowError) {
        if Task.isCancelled { return }
        state.withLock { state in
            if error.isTransient, state.watches.failed(number, at: .now) { return }
            let reason: LiveReset =
                switch error.code {
                case _ where error.isDenial: .access
                case .recordQueryInvalid, .resourceNotFound, .notSupported: .schema
                default: .gap
                }
            for watcher in state.watches.groups[number]?.watchers ?? [] {
                state.resetWatch(watcher, reason, after: .jitter(within: .seconds(2)))
            }
        }
    }
}

extension ActionService {
    /// Runs a query that is kept current.
    func answer(_ request: WatchRegistry.Request, turn: ReadTurn?) async throws(SkyrowError) -> WatchedAnswer {
        try await answer(
            request.key.subject,
            in: request.databaseName,
            by: request.holder.caller,
            hidesFields: request.tables.values.contains { $0.visible(to: request.key.fields) !== $0 },
            turn: turn
        )
    }

    /// - Parameter hidesFields: whether fields of a type in the query are hidden from the caller.
    func answer(
        _ subject: LiveWatchRequest.Subject,
        in database: DatabaseName,
        by caller: Caller,
        hidesFields: Bool,
        turn: ReadTurn?
    ) async throws(SkyrowError) -> WatchedAnswer {
        let access = try recordAccess(to: database, for: .reading, by: caller)
        let limit = live.configuration.limits.watchBytes
        switch subject {
        case .records(let query):
            let result = try await admitting(caller, turn) { admit async throws(SkyrowError) in
                try await self.store.query(query, with: access, admitting: admit)
            }
            return try WatchedAnswer(result, limit: limit, hidesFields: hidesFields, links: links)
        case .groups(let query):
            let result = try await admitting(caller, turn) { admit async throws(SkyrowError) in
                try await self.store.aggregate(query, with: access, admitting: admit)
            }
            return try WatchedAnswer(result, limit: limit)
        }
    }
}
