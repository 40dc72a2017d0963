import SkyrowModel
import SkyrowStore
import Synchronization

/// Subscriptions of a connection to types that there are not yet.
///
/// In development mode a type is made when its first record is saved. Until then a live query of it is empty, as `record:query` is.
struct AwaitedTypes: Sendable {
    /// How often it is looked for the types.
    static let interval: Duration = .milliseconds(250)

    private var tasks: [String: Task<Void, Never>] = [:]
    private var hasEnded = false

    func contains(_ name: String) -> Bool { tasks[name] != nil }

    /// Throws `109 Duplicated` for a name in use, and `135 Overloaded` beyond a number.
    mutating func add(_ name: String, atMost limit: Int, _ begin: () -> Task<Void, Never>) throws(SkyrowError) {
        guard !hasEnded else { throw .connectionHasEnded }
        guard tasks[name] == nil else { throw .subscriptionNameInUse }
        guard tasks.count < limit else {
            throw SkyrowError(
                .overloaded,
                "A connection has at most \(limit) live queries of types that there are not yet."
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
    /// Whether a type is yet to be made by a save; throws `110 ResourceNotFound` for a name that can become none.
    func isYetToBeMade(_ type: RecordTypeName) async throws(SkyrowError) -> Bool {
        guard case .development = service.store.mode else { return false }
        return try await service.store.table(of: type) == nil
    }

    /// Begins a subscription that has no records until its type is made, and goes on from there.
    func awaitType(
        of request: LiveSubscribeRequest,
        by caller: Caller,
        with credentials: Credentials,
        from client: ClientKey
    ) async throws(SkyrowError) -> LiveSubscribed {
        let live = service.live
        let access = try service.recordAccess(to: request.database, for: .reading, by: caller)
        guard access.database != .union else { throw .liveOfUnion }
        try access.requireReading(request.type)
        var position = ChangesRequest(
            database: request.database,
            query: ChangeQuery(type: request.type, predicate: request.predicate, desiredFields: request.desiredFields),
            limit: 1
        )
        if let since = request.since { position.position = .since(since) }
        let page = try await service.changesOfSubscription(position, by: caller, turn: nil)
        guard let token = page.token else { throw .changesNotFollowed }
        guard await live.waitForSource(atMost: Self.sourcePatience) else { throw .changesNotFollowed }
        guard let connection = connection(live) else { throw .connectionHasEnded }
        let source = try live.state.withLock { state throws(SkyrowError) in
            try state.claim(request.name, on: connection)
            return state.mode == .polling ? LiveSourceName.polling : .logical
        }
        var resumed = request
        resumed.since = token
        let isInitial = request.since == nil && request.sendsInitial
        try awaited.withLock { awaited throws(SkyrowError) in
            try awaited.add(request.name, atMost: live.configuration.limits.watchesPerConnection) {
                Task { [weak self, resumed] in
                    live.state.withLock { state in
                        if isInitial {
                            state.send(LiveText.changes(.initial, [], wholeOf: resumed.name), to: connection)
                        }
                        state.send(LiveText.checkpoint([(resumed.name, token)], isReady: true), to: connection)
                    }
                    while (try? await Task.sleep(for: AwaitedTypes.interval)) != nil {
                        guard let self else { return }
                        guard (try? await self.isYetToBeMade(resumed.type)) == false else { continue }
                        await self.goOn(resumed, with: credentials, from: client, on: connection)
                        return
                    }
                }
            }
        }
        return LiveSubscribed(name: request.name, source: source)
    }

    /// The type is there.
    private func goOn(
        _ request: LiveSubscribeRequest,
        with credentials: Credentials,
        from client: ClientKey,
        on connection: LiveRegistry.Connection
    ) async {
        guard awaited.withLock({ $0.remove(request.name) }) != nil else { return }
        do throws(SkyrowError) {
            // What the caller may do can have changed meanwhile.
            let caller = try await service.authenticate(credentials, for: .keyOrToken, .liveSubscribe)
            _ = try await subscribe(request, by: caller, with: credentials, from: client)
        } catch {
            let reason: LiveText.Reset = error.code == .accessTokenNotAccepted ? .session : .schema
            let ending = LiveState.Ending(name: request.name, reason: reason, pause: nil)
            service.live.state.withLock { $0.sendEnd(ending, to: connection) }
        }
    }
}
