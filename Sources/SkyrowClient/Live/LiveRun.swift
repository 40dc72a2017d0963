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
                progress.compared(try await query.database.compare(query.query, after: cursor))
            }
        case .fetch(let ids):
            return try await calling { () async throws(ClientError) in progress.fetched(try await records(ids)) }
        case .load(let cursor):
            return try await calling { () async throws(ClientError) in
                let position = cursor.map { ChangesRequest.Position.cursor($0) } ?? .start
                return progress.loaded(try await query.database.changes(query.query, from: position))
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
