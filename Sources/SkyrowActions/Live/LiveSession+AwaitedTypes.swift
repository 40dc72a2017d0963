import SkyrowModel
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
        by caller: Caller,
        with credentials: Credentials,
        from client: ClientKey
    ) async throws(SkyrowError) -> LiveSubscribed {
        try requireReading(request.type, in: request.database, by: caller)
        var position = ChangesRequest(
            database: request.database,
            query: ChangeQuery(type: request.type, predicate: request.predicate, desiredFields: request.desiredFields),
            limit: 1
        )
        if let since = request.since { position.position = .since(since) }
        let page = try await service.changesOfSubscription(position, by: caller, turn: nil)
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
        return try await wait(for: request.type, as: request.name, sending: beginning) {
            [resumed] session async throws(SkyrowError) in
            let caller = try await session.service.authenticate(credentials, for: .keyOrToken, .liveSubscribe)
            _ = try await session.subscribe(resumed, by: caller, with: credentials, from: client)
        }
    }

    /// Sends the empty result of a query whose type does not exist, and starts the query when the type is created.
    func awaitType(
        of request: LiveWatchRequest,
        by caller: Caller,
        with credentials: Credentials,
        from client: ClientKey,
        turn: ReadTurn?
    ) async throws(SkyrowError) -> LiveSubscribed {
        try requireReading(request.subject.type, in: request.database, by: caller)
        let answer = try await service.answer(
            request.subject,
            in: request.database,
            by: caller,
            hidesFields: false,
            turn: turn
        )
        let events = answer.beginning(LiveText.head(request.name))
        let beginning = [LiveText.changes(.initial, events, wholeOf: request.name)]
        return try await wait(for: request.subject.type, as: request.name, sending: beginning) {
            session async throws(SkyrowError) in
            let caller = try await session.service.authenticate(credentials, for: .keyOrToken, .liveWatch)
            let turn: ReadTurn? = caller.isOperator ? nil : ReadTurn(of: client, in: session.service.reads)
            try await turn?.enter()
            defer { turn?.leave() }
            _ = try await session.watch(request, by: caller, with: credentials, from: client, turn: turn)
        }
    }

    private func requireReading(
        _ type: RecordTypeName,
        in database: DatabaseName,
        by caller: Caller
    ) throws(SkyrowError) {
        let access = try service.recordAccess(to: database, for: .reading, by: caller)
        guard access.database != .union else { throw .liveOfUnion }
        try access.requireReading(type)
    }

    /// - Parameters:
    ///   - beginning: the messages to send at once.
    ///   - begin: starts the subscription when the type exists; the caller's rights may have changed by then.
    private func wait(
        for type: RecordTypeName,
        as name: String,
        sending beginning: [LiveMessage],
        then begin: @escaping @Sendable (LiveSession) async throws(SkyrowError) -> Void
    ) async throws(SkyrowError) -> LiveSubscribed {
        let live = service.live
        let cache = service.store.cache
        guard await live.waitForSource(atMost: Self.sourcePatience) else { throw .changesNotFollowed }
        guard let connection = connection(live) else { throw .connectionHasEnded }
        let source = try live.state.withLock { state throws(SkyrowError) in
            try state.claim(name, on: connection)
            return state.mode == .polling ? LiveSourceName.polling : .logical
        }
        try awaited.withLock { awaited throws(SkyrowError) in
            try awaited.add(name, atMost: live.configuration.limits.watchesPerConnection) {
                Task { [weak self] in
                    live.state.withLock { state in
                        for message in beginning { state.send(message, to: connection) }
                    }
                    await cache.waitForTable(of: type)
                    guard !Task.isCancelled, let self, self.awaited.withLock({ $0.remove(name) }) != nil else { return }
                    do throws(SkyrowError) {
                        try await begin(self)
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
    fileprivate var endOfAwaiting: LiveText.Reset {
        switch code {
        case .accessTokenNotAccepted: .session
        case _ where isTransient: .gap
        case _ where isDenial: .access
        default: .schema
        }
    }

    fileprivate var pause: Duration? { isTransient ? .jitter(within: .seconds(2)) : nil }
}
