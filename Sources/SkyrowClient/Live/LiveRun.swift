import SkyrowJSON
import SkyrowModel
import SkyrowWire

/// One run of a live query: takes what the stream brings, and makes the calls that a reset asks for, as events are asked for.
final class LiveRun {
    private let query: LiveQuery
    private let subscription: LiveSubscription
    private var progress: LiveProgress
    private var hasBegun = false
    private var hasEnded = false
    private var refusals: LiveRefusals

    private var client: SkyrowClient { query.database.client }

    init(_ query: LiveQuery) {
        self.query = query
        subscription = query.database.client.live.subscription(.subscribe(query.request), byteLimit: query.byteLimit)
        progress = LiveProgress(type: query.query.type, loadsRecords: query.request.sendsInitial)
        refusals = LiveRefusals(maximumAttempts: query.database.client.retryPolicy.maximumAttempts)
    }

    deinit {
        client.live.remove(subscription, of: client)
    }

    /// The next events that belong together, one at least; nil when the task is cancelled, and after an error.
    func next(isolation actor: isolated (any Actor)? = #isolation) async throws(ClientError) -> [LiveEvent]? {
        if hasEnded { return nil }
        do throws(ClientError) {
            if !hasBegun {
                hasBegun = true
                if let part = query.foreignPart {
                    throw .refused(.invalidArgument("A live query has no \(part).", part))
                }
            }
            while !Task.isCancelled {
                guard let events = try await step(isolation: actor) else { break }
                if !events.isEmpty { return events }
            }
            end()
            return nil
        } catch {
            end()
            if error.code == .cancelled { return nil }
            throw error
        }
    }

    private func end() {
        hasEnded = true
        client.live.remove(subscription, of: client)
    }

    /// nil when the subscription has ended.
    private func step(isolation actor: isolated (any Actor)?) async throws(ClientError) -> [LiveEvent]? {
        switch progress.step {
        case .attach(let start, let pause):
            try await wait(pause, isolation: actor)
            try client.live.join(subscription, start, of: client)
            progress.attached()
            return []
        case .listen:
            guard let item = await subscription.next() else { return nil }
            return try take(item)
        case .compare(let cursor, let pause):
            try await wait(pause, isolation: actor)
            return progress.compared(try await comparedPage(after: cursor))
        case .fetch(let ids):
            return progress.fetched(try await records(ids))
        case .load(let cursor):
            return progress.loaded(try await loadedPage(after: cursor))
        }
    }

    private func wait(_ pause: Duration?, isolation actor: isolated (any Actor)?) async throws(ClientError) {
        if let pause { try await client.waitToSubscribe(pause) }
    }

    private func take(_ item: LiveItem) throws(ClientError) -> [LiveEvent] {
        switch item {
        case .reset(.session, _, _):
            throw .refused(SkyrowError(.accessTokenNotAccepted, "The session has ended; log in again."))
        case .refused(let refusal):
            return try refused(refusal)
        case .checkpoint:
            refusals.passed()
        case .changes, .result, .reset, .restarted, .dropped: break
        }
        return progress.take(item)
    }

    private func refused(_ refusal: ClientErrorValue) throws(ClientError) -> [LiveEvent] {
        let error = refusal.error
        if error.serverCode == .invalidToken, progress.token != nil {
            return progress.take(.reset(.expired, token: nil, pause: nil))
        }
        progress.attachAgain(after: try refusals.pause(after: error, isEstablished: progress.isEstablished))
        return []
    }
}

// MARK: Calls

extension LiveRun {
    private func comparedPage(after cursor: String?) async throws(ClientError) -> ComparedPage {
        let request = ChangesRequest(query.request, cursor: cursor, limit: ChangesRequest.maximumPairs)
        return try await client.call(.changesCompare) {
            $0.changesParameters(request)
        } read: { json throws(SkyrowError) in
            var page = ComparedPage()
            for pair in json["records"].map({ Array($0.elements) }) ?? [] {
                var elements = pair.elements.makeIterator()
                guard let id = elements.next()?.string, let revision = elements.next()?.wholeNumber else {
                    throw .invalidArgument("An entry is an id and a revision.", "records")
                }
                page.pairs.append((id, revision))
            }
            (page.token, page.cursor, page.reset) = ending(json)
            return page
        }
    }

    private func loadedPage(after cursor: String?) async throws(ClientError) -> LoadedPage {
        let request = ChangesRequest(query.request, cursor: cursor, limit: ChangesRequest.defaultLimit)
        return try await client.call(.changesFetch) {
            $0.changesParameters(request)
        } read: { json throws(SkyrowError) in
            var page = LoadedPage()
            for record in json["changed"].map({ Array($0.elements) }) ?? [] { page.records.append(try Record(record)) }
            (page.token, page.cursor, page.reset) = ending(json)
            return page
        }
    }

    /// The records as they are now, with the fields of the query.
    private func records(_ ids: [String]) async throws(ClientError) -> [(id: String, record: Record?)] {
        var recordIDs: [RecordID] = []
        for id in ids {
            guard let id = try? RecordID(type: query.query.type, id: id) else {
                throw ClientError(.invalidResponse, "The service named a record by no id.")
            }
            recordIDs.append(id)
        }
        let results = try await query.database.fetch(recordIDs)
        let fields = query.query.desiredFields.map { Set($0) }
        var records: [(id: String, record: Record?)] = []
        for (id, result) in zip(ids, results) {
            switch result {
            case .success(var record):
                if let fields { record.fields = record.fields.filter { fields.contains($0.key.rawValue) } }
                records.append((id, record))
            case .failure(let error):
                guard error.code == .resourceNotFound else { throw .refused(error) }
                records.append((id, nil))
            }
        }
        return records
    }
}

/// From where a client goes on after a page.
private func ending(_ json: JSONView) -> (token: String?, cursor: String?, reset: LiveReset?) {
    (json["token"]?.string, json["cursor"]?.string, json["reset"]?.string.map { LiveReset(rawValue: $0) })
}

extension ChangesRequest {
    /// A page from the beginning, or behind a cursor.
    fileprivate init(_ request: LiveSubscribeRequest, cursor: String?, limit: Int) {
        self.init(
            database: request.database,
            query: ChangeQuery(
                type: request.type,
                predicate: request.predicate,
                desiredFields: request.desiredFields
            ),
            position: cursor.map { .cursor($0) } ?? .start,
            limit: limit
        )
    }
}
