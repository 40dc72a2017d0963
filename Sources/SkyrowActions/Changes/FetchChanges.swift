import SkyrowModel
import SkyrowProtocol
import SkyrowStore

extension ActionTable {
    static let changes: [any AnyEntry] = [
        Entry(Actions.changesFetch, ActionService.changes),
        Entry(Actions.changesCompare, ActionService.compare),
    ]
}

extension ActionService {
    fileprivate func changes(_ request: ChangesRequest, _ call: Call) async throws(SkyrowError) -> ChangesResult {
        var request = request
        let limit = request.wait.map { clock.instant() + $0 }
        while true {
            let end = feedWaiting.hasEnded ? nil : limit
            let page = try await changesPage(request, by: call.caller, turn: call.turn)
            let rows = page.changed.count + page.removed.count
            observe(page.reset.map { .feedReset($0) } ?? .feedFetched(rows: rows))
            guard let end, case .since = request.position, page.isEmpty, let moment = page.moment,
                let token = page.token, clock.instant() < end, !Task.isCancelled
            else { return page }
            // A waiting request does not occupy the read queue.
            call.turn?.leave()
            let access = try recordAccess(to: request.database, for: .reading, by: call.caller)
            try await feedWaiting.wait(
                for: FeedWaits.Subject(type: request.query.type, database: access.database),
                since: moment.transactions,
                of: call.client
            ) { [clock] in
                try await clock.sleep(end - clock.instant())
            }
            if Task.isCancelled {
                throw SkyrowError(.responseTimeout, "The request was cancelled while it waited for changes.")
            }
            try await call.turn?.enter()
            request.position = .since(token)
        }
    }

    fileprivate func compare(_ request: ChangesRequest, _ call: Call) async throws(SkyrowError) -> ComparedRecords {
        let access = try recordAccess(to: request.database, for: .reading, by: call.caller)
        let result = try await admitting(call.caller, call.turn) { admit async throws(SkyrowError) in
            try await store.compare(request, with: access, retention: configuration.feedRetention, admitting: admit)
        }
        if let reason = result.reset { observe(.feedReset(reason)) }
        return result
    }

    /// Returns a page of the change feed, also for the load of a subscription.
    func changesPage(
        _ request: ChangesRequest,
        by caller: Caller,
        turn: ReadTurn?
    ) async throws(SkyrowError) -> ChangesResult {
        let access = try recordAccess(to: request.database, for: .reading, by: caller)
        return try await admitting(caller, turn) { admit async throws(SkyrowError) in
            try await store.changes(request, with: access, retention: configuration.feedRetention, admitting: admit)
        }
    }
}
