package import SkyrowModel
import SkyrowStore

extension ActionService {
    /// `changes:fetch`
    ///
    /// - Parameters:
    ///   - client: the client whose share of waiting requests is used.
    ///   - turn: the request's admission to the read queue; nil for none.
    package func changes(
        _ request: ChangesRequest,
        by caller: Caller,
        from client: ClientKey,
        turn: ReadTurn? = nil
    ) async throws(SkyrowError) -> ChangesResult {
        try await observed(.changesFetch) { () async throws(SkyrowError) in
            var request = request
            let limit = request.wait.map { clock.instant() + $0 }
            while true {
                let end = feedWaiting.hasEnded ? nil : limit
                let page = try await changesPage(request, by: caller, turn: turn)
                let rows = page.changed.count + page.removed.count
                observe(page.reset.map { .feedReset($0) } ?? .feedFetched(rows: rows))
                guard let end, case .since = request.position, page.isEmpty, let moment = page.moment,
                    let token = page.token, clock.instant() < end, !Task.isCancelled
                else { return page }
                // A waiting request does not occupy the read queue.
                turn?.leave()
                let access = try recordAccess(to: request.database, for: .reading, by: caller)
                try await feedWaiting.wait(
                    for: FeedWaits.Subject(type: request.query.type, database: access.database),
                    since: moment.transactions,
                    of: client
                ) { [clock] in
                    try await clock.sleep(end - clock.instant())
                }
                if Task.isCancelled {
                    throw SkyrowError(.responseTimeout, "The request was cancelled while it waited for changes.")
                }
                try await turn?.enter()
                request.position = .since(token)
            }
        }
    }

    /// `changes:compare`
    ///
    /// - Parameter turn: the request's admission to the read queue; nil for none.
    package func compare(
        _ request: ChangesRequest,
        by caller: Caller,
        turn: ReadTurn? = nil
    ) async throws(SkyrowError) -> ComparedRecords {
        try await observed(.changesCompare) { () async throws(SkyrowError) in
            let access = try recordAccess(to: request.database, for: .reading, by: caller)
            let result = try await admitting(caller, turn) { admit async throws(SkyrowError) in
                try await store.compare(
                    request,
                    with: access,
                    retention: configuration.feedRetention,
                    admitting: admit
                )
            }
            if let reason = result.reset { observe(.feedReset(reason)) }
            return result
        }
    }

    private func changesPage(
        _ request: ChangesRequest,
        by caller: Caller,
        turn: ReadTurn?
    ) async throws(SkyrowError) -> ChangesResult {
        let access = try recordAccess(to: request.database, for: .reading, by: caller)
        return try await admitting(caller, turn) { admit async throws(SkyrowError) in
            try await store.changes(
                request,
                with: access,
                retention: configuration.feedRetention,
                admitting: admit
            )
        }
    }
}
