import SkyrowJSON
import SkyrowModel
import SkyrowProtocol

/// One run of a live query, with the calls that a reset requires.
final class LiveRun: SubscriptionRun {
    let link: StreamLink
    private let query: LiveQuery
    private var progress: LiveProgress

    private var client: SkyrowClient { link.client }

    init(_ query: LiveQuery) {
        self.query = query
        progress = LiveProgress(type: query.query.type, loadsRecords: query.request.sendsInitial)
        link = StreamLink(.subscribe(query.request), of: query.database.client, byteLimit: query.byteLimit)
    }

    /// Returns events that belong together.
    func step() async throws(ClientError) -> [LiveEvent]? {
        let events = try await events()
        return events.isEmpty ? nil : events
    }

    private func events() async throws(ClientError) -> [LiveEvent] {
        switch progress.step {
        case .attach(let start, let pause):
            if let part = query.foreignPart {
                throw .refused(.invalidArgument("A live query cannot have \(part).", part))
            }
            try await link.attach(start, after: pause)
            progress.attached()
            return []
        case .listen:
            return try take(try await link.listen())
        case .compare(let cursor, let pause):
            if let pause { try await client.waitToSubscribe(pause) }
            return try await calling { () async throws(ClientError) in
                progress.compared(try await comparedPage(after: cursor))
            }
        case .fetch(let ids):
            return try await calling { () async throws(ClientError) in progress.fetched(try await records(ids)) }
        case .load(let cursor):
            return try await calling { () async throws(ClientError) in
                progress.loaded(try await loadedPage(after: cursor))
            }
        }
    }

    /// Takes a step that calls the service. When the service is unavailable, waits without an event, so that the step is taken
    /// again.
    private func calling(_ step: () async throws(ClientError) -> [LiveEvent]) async throws(ClientError) -> [LiveEvent] {
        do throws(ClientError) {
            let events = try await step()
            link.accepted()
            return events
        } catch {
            guard error.code == .refused || error.code == .noResponse else { throw error }
            // Like the stream, a call waits for a lost service without a limit.
            let isEstablished = progress.isEstablished || error.code == .noResponse
            try await client.waitToSubscribe(try link.pause(after: error, isEstablished: isEstablished))
            return []
        }
    }

    private func take(_ item: LiveItem) throws(ClientError) -> [LiveEvent] {
        switch item {
        case .refused(let refusal):
            let error = refusal.error
            if error.serverCode == .invalidToken, progress.token != nil {
                return progress.take(.reset(.expired, token: nil, pause: nil))
            }
            progress.attachAgain(after: try link.pause(after: error, isEstablished: progress.isEstablished))
            return []
        case .checkpoint: link.accepted()
        case .changes, .result, .reset, .restarted, .dropped: break
        }
        return progress.take(item)
    }
}

// MARK: Calls

extension LiveRun {
    private func comparedPage(after cursor: String?) async throws(ClientError) -> ComparedPage {
        let request = ChangesRequest(query.request, cursor: cursor, limit: ChangesRequest.maximumPairs)
        return try await client.call(.changesCompare) {
            $0.changesParameters(request)
        } read: { json throws(SkyrowError) in
            try ComparedPage(json)
        }
    }

    private func loadedPage(after cursor: String?) async throws(ClientError) -> LoadedPage {
        let request = ChangesRequest(query.request, cursor: cursor, limit: ChangesRequest.defaultLimit)
        return try await client.call(.changesFetch) {
            $0.changesParameters(request)
        } read: { json throws(SkyrowError) in
            var page = LoadedPage()
            for record in json["changed"].map({ Array($0.elements) }) ?? [] { page.records.append(try Record(record)) }
            (page.token, page.cursor, page.reset) = try ending(json)
            return page
        }
    }

    /// Returns the records as they are now; nil for one that is gone.
    private func records(_ ids: [String]) async throws(ClientError) -> [(id: String, record: Record?)] {
        var recordIDs: [RecordID] = []
        for id in ids {
            guard let id = try? RecordID(type: query.query.type, id: id) else {
                throw ClientError(.invalidResponse, "The service sent an invalid record id.")
            }
            recordIDs.append(id)
        }
        return Array(zip(ids, try await query.database.present(recordIDs, of: query.query)))
    }
}

extension ComparedPage {
    /// Reads a result of `changes:compare`.
    init(_ json: JSONView) throws(SkyrowError) {
        for pair in json["records"].map({ Array($0.elements) }) ?? [] {
            var elements = pair.elements.makeIterator()
            guard let id = elements.next()?.string, let revision = elements.next()?.wholeNumber else {
                throw .invalidArgument("An entry must be an id and a revision.", "records")
            }
            pairs.append((id, revision))
        }
        (token, cursor, reset) = try ending(json)
    }
}

/// Returns where a client continues after a page.
private func ending(_ json: JSONView) throws(SkyrowError) -> (token: String?, cursor: String?, reset: LiveReset?) {
    let reset = json["reset"]?.string.map { LiveReset(rawValue: $0) }
    let (token, cursor) = (json["token"]?.string, json["cursor"]?.string)
    guard token != nil || cursor != nil || reset != nil else {
        throw .invalidArgument("A page must have a token, a cursor or a reset.")
    }
    return (token, cursor, reset)
}

extension ChangesRequest {
    /// Creates a request for the first page, or for the page after a cursor.
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
