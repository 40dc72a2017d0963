import SkyrowModel
import SkyrowProtocol
import SkyrowQuery
import SkyrowStore
import Synchronization

extension LiveSession {
    /// Begins to keep a result current, which is sent before this returns, or shortly after.
    ///
    /// Throws what `record:query` or `record:aggregate` throws, `109 Duplicated` for a name in use, `120 RecordQueryInvalid` for
    /// a query that depends on relations, `135 Overloaded` above a limit, and `111 NotSupported` if live queries are off or
    /// changes of the type cannot be followed.
    ///
    /// - Parameter turn: the request's admission to the read queue; nil for none.
    func watch(
        _ request: LiveWatchRequest,
        for holder: LiveHolder,
        turn: ReadTurn? = nil
    ) async throws(SkyrowError) -> LiveSubscribed {
        let live = service.live
        try requireFree(request.name)
        if case .records(let query) = request.subject, query.omittedFields.contains("_id") {
            throw .invalidArgument("A live query cannot omit the ids of its records.", "omit")
        }
        if try await service.store.table(of: request.subject.type) == nil {
            return try await awaitType(of: request, for: holder, turn: turn)
        }
        let resolved = try await service.resolve(request, by: holder.caller)
        let connection = try await followingConnection()
        for table in resolved.tables.values where try await !service.store.logging(of: table).isPublished {
            try await live.requirePublished(table.name)
        }
        if live.state.withLock({ $0.mode == .polling }) {
            for table in resolved.tables.values { try await service.store.requireFollowing(table) }
        }
        let wanted = WatchRegistry.Request(
            name: request.name,
            connection: connection,
            holder: holder,
            key: resolved.key,
            databaseName: request.database,
            tables: resolved.tables,
            databases: resolved.databases,
            asksRelations: resolved.asksRelations
        )
        let (watcher, group, asking, source) = try live.state.withLock { state throws(SkyrowError) in
            let source = try state.claim(request.name, on: connection)
            let watcher = try state.watches.add(wanted)
            return (watcher, state.watches.watchers[watcher]?.group ?? 0, state.watches.begin(), source)
        }
        do throws(SkyrowError) {
            if wanted.asksRelations { await live.rightsLookedAt() }
            let answer = try await service.answer(wanted, turn: turn)
            await live.take(answer, of: group, asking: asking)
        } catch {
            live.state.withLock { $0.watches.remove(watcher) }
            throw error
        }
        return LiveSubscribed(name: request.name, source: source)
    }
}

extension ActionService {
    /// A query resolved against the schema and the caller's rights.
    fileprivate struct ResolvedWatch {
        let key: WatchRegistry.Key
        let tables: [RecordTypeName: RecordTable]
        let databases: Set<DatabaseScope>
        let asksRelations: Bool
    }

    fileprivate func resolve(
        _ request: LiveWatchRequest,
        by caller: Caller
    ) async throws(SkyrowError) -> ResolvedWatch {
        let type = try await liveType(request.subject.type, in: request.database, by: caller)
        let access = type.access
        var resolver = type.resolver
        let visibility: ResolvedVisibility
        let leadsToRelations: Bool
        switch request.subject {
        case .records(let query):
            let resolved = try resolver.resolve(query)
            (visibility, leadsToRelations) = (resolved.visibility, resolved.leadsToRelations)
        case .groups(let query):
            let resolved = try resolver.resolve(query)
            (visibility, leadsToRelations) = (resolved.records.visibility, resolved.leadsToRelations)
        }
        guard !leadsToRelations else { throw .watchOfRelations }
        var tables = [type.whole.name: type.whole]
        for name in resolver.types { tables[name] = tables[name] ?? type.catalog.tables[name] }
        var databases: Set<DatabaseScope> = [access.database, .everyone]
        if let user = caller.userID { databases.insert(.user(user)) }
        let scopes = [visibility.records] + resolver.types.flatMap { visibility.referenced($0) }
        return ResolvedWatch(
            key: WatchRegistry.Key(
                database: access.database,
                subject: request.subject,
                visibility: visibility,
                fields: access.fields
            ),
            tables: tables,
            databases: databases,
            asksRelations: scopes.contains(where: \.asksRelations)
        )
    }
}

extension SkyrowError {
    /// `120` for a query whose result may change without a change of a record.
    fileprivate static let watchOfRelations = SkyrowError(
        .recordQueryInvalid,
        "A live query cannot depend on members of a relation or on relations of users: it is only run again when records change.",
        info: ["arguments": .list([.string("predicate")])]
    ).at("predicate")
}
