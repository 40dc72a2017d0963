import SkyrowModel
import SkyrowProtocol
import SkyrowQuery
import SkyrowStore
import Synchronization

/// The subscriptions of one connection.
///
/// ```swift
/// let session = LiveSession(of: service, outlet: connection)
/// let subscribed = try await service.run(Actions.liveSubscribe, request, Call(by: caller, live: session))
/// // Later, when the connection has closed:
/// session.end()
/// ```
package final class LiveSession: Sendable {
    private enum State {
        case new
        case open(LiveRegistry.Connection)
        case ended
    }

    let service: ActionService
    private let outlet: any LiveOutlet
    private let state = Mutex(State.new)
    let awaited = Mutex(AwaitedTypes())

    /// How long the first subscription of a process waits until changes are followed.
    static let sourcePatience: Duration = .seconds(10)

    package init(of service: ActionService, outlet: any LiveOutlet) {
        self.service = service
        self.outlet = outlet
    }

    deinit {
        end()
    }

    /// Begins a subscription; returns before its first message is sent.
    ///
    /// Throws what `record:query` throws for the same parameters, `109 Duplicated` for a name in use, `120 RecordQueryInvalid`
    /// for a predicate that depends on other records, `124 RecordQueryDenied` for a field that is hidden from the caller, `134
    /// InvalidToken`, `135 Overloaded` above a limit, and `111 NotSupported` if live queries are off.
    func subscribe(
        _ request: LiveSubscribeRequest,
        for holder: LiveHolder
    ) async throws(SkyrowError) -> LiveSubscribed {
        let live = service.live
        try requireFree(request.name)
        if try await service.store.table(of: request.type) == nil {
            return try await awaitType(of: request, for: holder)
        }
        let resolved = try await service.resolve(request, by: holder.caller)
        let whole = resolved.type.whole
        let position: LiveSubscriber.Position
        if let since = request.since {
            guard let token = ChangeToken(text: since), token.pass == nil else { throw .tokenUnreadable }
            // Of a type that there was not its client has nothing. The table may have been another type's, with older records.
            position = token.isOfAbsentTable ? .initial : .since(since)
            try await service.store.requireFollowing(whole)
        } else {
            position = request.sendsInitial ? .initial : .now
        }
        let logging = try await service.store.logging(of: whole)
        let hasKeysAlone = logging.hasKeysAlone
        guard !hasKeysAlone || request.previous == .none else { throw .previousNotLogged(request.type) }
        let connection = try await followingConnection()
        if !logging.isPublished { try await live.requirePublished(request.type) }
        let (subscriber, source) = try live.state.withLock { state throws(SkyrowError) in
            let source = try state.claim(request.name, on: connection)
            let subscriber = try state.registry.subscribe(
                LiveRegistry.Request(
                    name: request.name,
                    connection: connection,
                    holder: holder,
                    question: LiveQuestion(
                        database: request.database,
                        query: resolved.changes,
                        table: resolved.type.table
                    ),
                    position: position,
                    table: whole,
                    database: resolved.type.access.database,
                    predicate: resolved.query.predicate,
                    asked: resolved.asked,
                    audience: SubscriptionGroup.AudienceKey(
                        read: resolved.query.visibility.records,
                        fields: resolved.type.access.fields
                    ),
                    filter: LiveFilter(request.events, watched: resolved.watched, previous: resolved.previous),
                    hasKeysAlone: hasKeysAlone
                )
            )
            return (subscriber, source)
        }
        if source == .polling || hasKeysAlone {
            // A query that too many records match is refused at once.
            do {
                if source == .polling { try await service.store.requireFollowing(whole) }
                try await live.loadMembers(of: subscriber)
            } catch {
                live.state.withLock { $0.registry.remove(subscriber) }
                throw error as? SkyrowError ?? .changesNotFollowed
            }
        }
        live.loads.continuation.yield(LiveDispatcher.Load(subscriber: subscriber, attempt: 0))
        return LiveSubscribed(name: request.name, source: source)
    }

    /// Ends a subscription of either kind; throws `110 ResourceNotFound` for a name that is not in use.
    func unsubscribe(_ name: String) throws(SkyrowError) {
        if let task = awaited.withLock({ $0.remove(name) }) { return task.cancel() }
        guard case .open(let connection) = state.withLock({ $0 }) else { throw .noSuchSubscription }
        try service.live.unsubscribe(name, of: connection)
    }

    /// Restarts subscriptions from their last checkpoints, after the outlet dropped messages and accepts them again.
    package func outletCaughtUp() {
        guard case .open(let connection) = state.withLock({ $0 }) else { return }
        service.live.recoveries.continuation.yield(connection)
    }

    /// Ends all subscriptions of the closed connection.
    package func end() {
        awaited.withLock { $0.end() }
        let connection = state.withLock { state -> LiveRegistry.Connection? in
            defer { state = .ended }
            if case .open(let connection) = state { return connection }
            return nil
        }
        if let connection { service.live.close(connection) }
    }

    /// Throws `111 NotSupported` if live queries are off, and `109 Duplicated` for the name of a subscription whose type is
    /// awaited.
    func requireFree(_ name: String) throws(SkyrowError) {
        guard service.live.configuration.source != .off else { throw .liveQueriesAreOff }
        guard !awaited.withLock({ $0.contains(name) }) else { throw .subscriptionNameInUse }
    }

    /// Returns the connection once changes are followed; throws `135 Overloaded` if they are not, or the connection has ended.
    func followingConnection() async throws(SkyrowError) -> LiveRegistry.Connection {
        let live = service.live
        guard await live.waitForSource(atMost: Self.sourcePatience) else { throw .changesNotFollowed }
        return try state.withLock { state throws(SkyrowError) in
            switch state {
            case .open(let connection): return connection
            case .ended: throw .connectionHasEnded
            case .new:
                let connection = live.open(outlet)
                state = .open(connection)
                return connection
            }
        }
    }
}

extension ActionService {
    /// The type of a live query as its caller sees it.
    struct LiveType {
        let access: RecordAccess
        /// The type with all its fields, and as visible to the caller.
        let whole: RecordTable
        let table: RecordTable
        let catalog: SchemaCatalog

        var resolver: Resolver<SchemaCatalog> {
            Resolver(schema: catalog.visible(to: access.fields), root: table, access: access)
        }
    }

    /// A subscription resolved against the schema and the caller's rights.
    fileprivate struct ResolvedSubscription {
        let type: LiveType
        let query: ResolvedQuery
        let asked: Set<FieldName>?
        let watched: Set<FieldName>?
        let previous: PreviousFields
        /// The query of the change feed for its load.
        let changes: ChangeQuery
    }

    /// Returns a caller's access to the records of a type in a database; throws without it.
    func liveAccess(
        to type: RecordTypeName,
        in database: DatabaseName,
        by caller: Caller
    ) throws(SkyrowError) -> RecordAccess {
        let access = try recordAccess(to: database, for: .reading, by: caller)
        guard access.database != .union else { throw .liveOfUnion }
        try access.requireReading(type)
        return access
    }

    func liveType(
        _ type: RecordTypeName,
        in database: DatabaseName,
        by caller: Caller
    ) async throws(SkyrowError) -> LiveType {
        let access = try liveAccess(to: type, in: database, by: caller)
        guard let whole = try await store.table(of: type) else { throw SkyrowError.recordTypeNotFound }
        let table = whole.visible(to: access.fields)
        return LiveType(access: access, whole: whole, table: table, catalog: store.cache.current)
    }

    fileprivate func resolve(
        _ request: LiveSubscribeRequest,
        by caller: Caller
    ) async throws(SkyrowError) -> ResolvedSubscription {
        let type = try await liveType(request.type, in: request.database, by: caller)
        func resolve(_ query: RecordQuery) throws(SkyrowError) -> ResolvedQuery {
            var resolver = type.resolver
            return try resolver.resolve(query)
        }
        func fields(_ names: [String]?, _ parameter: String) throws(SkyrowError) -> Set<FieldName>? {
            guard let names else { return nil }
            var query = RecordQuery(type: request.type, desiredFields: names)
            query.selectionParameter = parameter
            let places = try resolve(query).fields ?? []
            return Set(places.map { type.table.columns[$0].field })
        }
        let query = try resolve(RecordQuery(type: request.type, predicate: request.predicate))
        guard query.isAboutRecordsAlone else { throw .liveNeedsOwnFields }
        let asked = try fields(request.desiredFields, "desired_keys")
        let previous: PreviousFields =
            switch request.previous {
            case .none: .none
            case .all: .all
            case .fields(let names): .some(try fields(names, "previous") ?? [])
            }
        return ResolvedSubscription(
            type: type,
            query: query,
            asked: asked,
            watched: try fields(request.watched, "watch"),
            previous: previous,
            changes: ChangeQuery(type: request.type, predicate: request.predicate, desiredFields: request.desiredFields)
        )
    }
}

// MARK: Actions

extension ActionTable {
    static let live: [any AnyEntry] = [
        Entry(Actions.liveSubscribe, ActionService.subscribe),
        Entry(Actions.liveUnsubscribe, ActionService.unsubscribe),
        Entry(Actions.liveWatch, ActionService.watch),
    ]
}

extension ActionService {
    fileprivate func subscribe(
        _ request: LiveSubscribeRequest,
        _ call: Call
    ) async throws(SkyrowError) -> LiveSubscribed {
        try await call.openSession.subscribe(request, for: LiveHolder(call))
    }

    fileprivate func unsubscribe(_ name: String, _ call: Call) async throws(SkyrowError) {
        try call.openSession.unsubscribe(name)
    }

    fileprivate func watch(_ request: LiveWatchRequest, _ call: Call) async throws(SkyrowError) -> LiveSubscribed {
        try await call.openSession.watch(request, for: LiveHolder(call), turn: call.turn)
    }
}

extension LiveHolder {
    fileprivate convenience init(_ call: Call) {
        self.init(caller: call.caller, credentials: call.credentials, client: call.client)
    }
}

extension SkyrowError {
    static let liveQueriesAreOff = SkyrowError(
        .notSupported,
        "This service has no live queries (its setting change-source is off)."
    )

    static let liveOfUnion = SkyrowError.invalidArgument(
        "A live query requires the public database or a private one.",
        "database_id"
    )

    /// `111` for old values that PostgreSQL's log lacks.
    fileprivate static func previousNotLogged(_ type: RecordTypeName) -> SkyrowError {
        SkyrowError(
            .notSupported,
            "PostgreSQL's log has no old values of \(type), since its \"live\" is \"key\" in the schema file.",
            info: ["arguments": .list([.string("previous")])]
        )
    }

    static let noSuchSubscription = SkyrowError(.resourceNotFound, "The subscription does not exist.")

    static let changesNotFollowed = SkyrowError(
        .overloaded,
        "Changes of the database cannot be followed at the moment; try again."
    )

    fileprivate static let tokenUnreadable = SkyrowError(
        .invalidToken,
        "This is not a change token; checkpoints of live queries and changes:fetch return one.",
        info: ["arguments": .list([.string("since")])]
    )

    static let connectionHasEnded = SkyrowError(.overloaded, "The connection has ended.")

    /// `120` for a predicate that a single record cannot answer.
    fileprivate static let liveNeedsOwnFields = SkyrowError(
        .recordQueryInvalid,
        "A live query tests each record on its own: its predicate cannot use references, nested queries, members "
            + "of a relation, relations of users, words of a language or polygons.",
        info: ["arguments": .list([.string("predicate")])]
    ).at("predicate")

    /// `111` for a call over a connection without live queries.
    static let liveNeedsConnection = SkyrowError(
        .notSupported,
        "Live queries require a connection that stays open: a WebSocket at GET /rpc, or POST /rpc with the header "
            + "\"Accept: text/event-stream\"."
    )
}
