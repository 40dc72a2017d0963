import SkyrowModel
import SkyrowProtocol
import SkyrowStore
import Synchronization

/// Subscriptions of a connection to types that don't exist yet.
///
/// Until the type is created, its live query is empty, as `record:query` is.
struct AwaitedTypes: Sendable {
    private var tasks: [String: Task<Void, Never>] = [:]
    private var hasEnded = false

    func contains(_ name: String) -> Bool { tasks[name] != nil }

    /// Throws `109 Duplicated` for a name in use, and `135 Overloaded` above the limit.
    mutating func add(_ name: String, atMost limit: Int, _ begin: () -> Task<Void, Never>) throws(SkyrowError) {
        guard !hasEnded else { throw .connectionHasEnded }
        guard tasks[name] == nil else { throw .subscriptionNameInUse }
        guard tasks.count < limit else {
            throw SkyrowError(
                .overloaded,
                "A connection can have at most \(limit) live queries of types that do not exist yet."
            )
        }
        tasks[name] = begin()
    }

    mutating func remove(_ name: String) -> Task<Void, Never>? { tasks.removeValue(forKey: name) }

    mutating func end() {
        hasEnded = true
        for task in tasks.values { task.cancel() }
        tasks = [:]
    }
}

extension LiveSession {
    /// Starts a subscription that has no records until its type is created.
    func awaitType(
        of request: LiveSubscribeRequest,
        for holder: LiveHolder
    ) async throws(SkyrowError) -> LiveSubscribed {
        _ = try service.liveAccess(to: request.type, in: request.database, by: holder.caller)
        var position = ChangesRequest(
            database: request.database,
            query: ChangeQuery(type: request.type, predicate: request.predicate, desiredFields: request.desiredFields),
            limit: 1
        )
        if let since = request.since { position.position = .since(since) }
        let page = try await service.changesPage(position, by: holder.caller, turn: nil)
        var beginning: [LiveMessage] = []
        var resumed = request
        // Where the type was made in this moment, it begins as it was asked for: a token would be of after its first records.
        if let token = page.token, ChangeToken(text: token)?.isOfAbsentTable == true {
            beginning = [LiveText.checkpoint([(request.name, token)], isReady: true)]
            if request.since == nil, request.sendsInitial {
                beginning.insert(LiveText.changes(.initial, [], wholeOf: request.name), at: 0)
            }
            resumed.since = token
        }
        return try await wait(for: request.type, as: request.name, of: holder, .subscribing, sending: beginning) {
            [resumed] session, holder async throws(SkyrowError) in
            try await session.subscribe(resumed, for: holder)
        }
    }

    /// Sends the empty result of a query whose type does not exist, and starts the query when the type is created.
    func awaitType(
        of request: LiveWatchRequest,
        for holder: LiveHolder,
        turn: ReadTurn?
    ) async throws(SkyrowError) -> LiveSubscribed {
        let type = request.subject.type
        _ = try service.liveAccess(to: type, in: request.database, by: holder.caller)
        let answer = try await service.answer(
            request.subject,
            in: request.database,
            by: holder.caller,
            hidesFields: false,
            turn: turn
        )
        let events = answer.beginning(LiveText.head(request.name))
        let beginning = [LiveText.changes(.initial, events, wholeOf: request.name)]
        return try await wait(for: type, as: request.name, of: holder, .watching, sending: beginning) {
            session,
            holder async throws(SkyrowError) in
            let turn = holder.readTurn(in: session.service.reads)
            try await turn?.enter()
            defer { turn?.leave() }
            return try await session.watch(request, for: holder, turn: turn)
        }
    }

    /// - Parameters:
    ///   - holder: who subscribes; the caller's rights may be others when the type exists.
    ///   - beginning: the messages to send at once.
    ///   - begin: starts the subscription when the type exists.
    private func wait(
        for type: RecordTypeName,
        as name: String,
        of holder: LiveHolder,
        _ action: ActionDescription,
        sending beginning: [LiveMessage],
        then begin: @escaping @Sendable (LiveSession, LiveHolder) async throws(SkyrowError) -> LiveSubscribed
    ) async throws(SkyrowError) -> LiveSubscribed {
        let live = service.live
        let cache = service.store.cache
        let connection = try await followingConnection()
        let source = try live.state.withLock { state throws(SkyrowError) in try state.claim(name, on: connection) }
        try awaited.withLock { awaited throws(SkyrowError) in
            try awaited.add(name, atMost: live.configuration.limits.watchesPerConnection) {
                Task { [weak self] in
                    live.state.withLock { state in
                        for message in beginning { state.send(message, to: connection) }
                    }
                    await cache.waitForTable(of: type)
                    guard !Task.isCancelled, let self, self.awaited.withLock({ $0.remove(name) }) != nil else { return }
                    do throws(SkyrowError) {
                        let caller = try await service.authenticate(holder.credentials, for: action)
                        let holder = LiveHolder(caller: caller, credentials: holder.credentials, client: holder.client)
                        _ = try await service.observed(action) { () async throws(SkyrowError) in
                            try await begin(self, holder)
                        }
                    } catch {
                        let ending = LiveState.Ending(name: name, reason: error.endOfAwaiting, pause: error.pause)
                        live.state.withLock { $0.sendEnd(ending, to: connection) }
                    }
                }
            }
        }
        return LiveSubscribed(name: name, source: source)
    }
}

extension SkyrowError {
    /// Why a subscription ends that failed to start when its type was created.
    fileprivate var endOfAwaiting: LiveReset {
        switch code {
        case .accessTokenNotAccepted: .session
        case _ where isTransient: .gap
        case _ where isDenial: .access
        default: .schema
        }
    }

    fileprivate var pause: Duration? { isTransient ? .jitter(within: .seconds(2)) : nil }
}

extension ActionDescription {
    fileprivate static let subscribing = Actions.liveSubscribe.description
    fileprivate static let watching = Actions.liveWatch.description
}
