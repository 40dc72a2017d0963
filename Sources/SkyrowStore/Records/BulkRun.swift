internal import SkyrowJSON
package import SkyrowModel
internal import SkyrowPostgres
package import SkyrowProtocol
internal import SkyrowQuery

/// One request that changes all matching records: it finds them, locks those that still match, and changes these.
///
/// The search takes no locks, so that a caller locks no record that it may not write. The locking statement evaluates the
/// predicate again, since records may have changed in between.
struct BulkRun {
    /// How many records one statement judges after a refusal; their rows are read whole.
    private static let judgedAtOnce = 500

    private let request: BulkRequest
    private let store: RecordStore
    private let table: RecordTable
    private let catalog: SchemaCatalog
    private let access: RecordAccess
    private let statement: MatchStatement
    /// The plan of a save of one record that represents all of them; nil for a delete.
    private let plan: BatchPlan?

    /// Throws the errors of the request that do not depend on the records.
    init(
        _ request: BulkRequest,
        _ store: RecordStore,
        _ table: RecordTable,
        _ catalog: SchemaCatalog,
        _ access: RecordAccess
    ) throws(SkyrowError) {
        self.request = request
        self.store = store
        self.table = table
        self.catalog = catalog
        self.access = access
        statement = try MatchStatement(
            request.match,
            table: table.visible(to: access.fields),
            catalog: catalog.visible(to: access.fields),
            access: access,
            for: request.change.purpose,
            size: store.size(of: table.name)
        )
        switch request.change {
        case .update(let changes, _):
            plan = try Self.plan(changes, table, catalog, access, store.maximumAccessEntries)
        case .delete:
            if let refusal = table.rules.refusalOfDeleting { throw refusal }
            plan = nil
        }
    }

    /// The cost of the search.
    var cost: QueryCost { statement.cost }

    /// A matching record.
    struct Match: Sendable {
        let id: RecordID
        let storedID: String
        let isWritable: Bool
    }

    /// Returns what the request would change.
    func preview() async throws -> BulkResult {
        let matches = try await matches()
        var result = result(of: matches)
        let writable = matches.filter(\.isWritable)
        result.changed = writable.map(\.id)
        guard let plan, !writable.isEmpty, let group = plan.units(writing: [0]).first?.first else { return result }
        // Rules of fields and of access lists divide the records here as the change itself does.
        guard let question = save(writable, plan).guarding(group) else { return result }
        let rows = try await store.client.read(question, contention: table.contention)
        let permitted = Set(try rows.decodeColumn(0, as: String.self).map { TextKey($0) })
        let refused = writable.filter { !permitted.contains(TextKey($0.storedID)) }
        _ = try await judge(refused, plan, on: .client(store.client), &result)
        let others = Set(result.notPermitted)
        result.changed = result.changed.filter { !others.contains($0) }
        return result
    }

    /// Changes the matching records; the caller rolls the transaction back if this throws.
    func change(_ matches: [Match], on runner: StatementRunner) async throws -> BulkResult {
        var result = result(of: matches)
        let writable = matches.filter(\.isWritable)
        guard !writable.isEmpty else { return result }
        let question = statement.locked(writable.map(\.storedID))
        let locked = Set(try await runner.write(question).decodeColumn(0, as: String.self).map { TextKey($0) })
        let held = writable.filter { locked.contains(TextKey($0.storedID)) }
        result.conflicting = writable.filter { !locked.contains(TextKey($0.storedID)) }.map(\.id)
        guard !held.isEmpty else { return result }
        switch request.change {
        case .update: try await update(held, on: runner, &result)
        case .delete: try await delete(held.map(\.id), on: runner, &result)
        }
        return result
    }

    /// Finds the matching records, with the time limit and the connections of reads.
    func matches() async throws -> [Match] {
        let question = statement.found(atMost: request.atMost + 1)
        let rows = try await store.client.read(question, contention: table.contention)
        guard rows.rowCount <= request.atMost else {
            let question = statement.count(atMost: BulkRequest.maximumRecords + 1)
            let count = try await store.client.read(question, contention: table.contention).decode(
                row: 0,
                column: 0,
                as: Int64.self
            )
            throw SkyrowError.tooManyMatch(count, request.atMost)
        }
        return try (0..<rows.rowCount).compactMap { row in
            let stored = try rows.decode(row: row, column: 0, as: String.self)
            // psql may have created an id that clients cannot name.
            guard let id = try? RecordID(type: table.name, id: StoredID.wireID(of: stored)) else { return nil }
            return Match(id: id, storedID: stored, isWritable: try rows.decode(row: row, column: 1, as: Bool.self))
        }
    }

    private func result(of matches: [Match]) -> BulkResult {
        BulkResult(before: request, matches)
    }

    // MARK: Update

    private static func plan(
        _ changes: RecordChanges,
        _ table: RecordTable,
        _ catalog: SchemaCatalog,
        _ access: RecordAccess,
        _ maximumAccessEntries: Int
    ) throws(SkyrowError) -> BatchPlan {
        if let key = changes.fields.first(where: { table.rules.loginKeys.contains($0) }) {
            throw SkyrowError.invalidArgument(
                "Login keys cannot be changed by record:update; save the record instead.",
                "set",
                key.rawValue
            ).at("set.\(key)")
        }
        var plan = BatchPlan(
            [.draft(changes.draft(of: try RecordID(type: table.name, id: UUIDText().description)))],
            catalog: catalog,
            database: access.database,
            // Only saves create fields.
            mode: .production,
            maximumAccessEntries: maximumAccessEntries,
            freshIDs: [:],
            makeID: { UUIDText().description }
        )
        if let failure = plan.failures.values.first {
            throw failure.error.path == nil ? failure.error : failure.error.at("set.")
        }
        plan.tryAsChanges([0])
        return plan
    }

    private func update(_ held: [Match], on runner: StatementRunner, _ result: inout BulkResult) async throws {
        try request.requireFitting(held.count)
        guard var plan else { return }
        var changed = try await write(held, plan, on: runner)
        let refused = held.filter { !changed.contains(TextKey($0.storedID)) }
        let unchangedLists = try await judge(refused, plan, on: runner, &result)
        if !unchangedLists.isEmpty {
            // The new access list is equal to the stored one.
            plan.keepAccess(of: 0)
            changed.formUnion(try await write(unchangedLists, plan, on: runner))
        }
        let others = Set(result.notPermitted)
        result.changed = held.filter { changed.contains(TextKey($0.storedID)) }.map(\.id)
        result.conflicting += held.filter { !changed.contains(TextKey($0.storedID)) && !others.contains($0.id) }.map(
            \.id
        )
    }

    private func save(_ held: [Match], _ plan: BatchPlan) -> SaveStatement {
        SaveStatement(
            plan: plan,
            catalog: catalog,
            access: access,
            instant: nil,
            progress: SaveProgress(),
            storedIDs: held.map(\.storedID)
        )
    }

    /// Returns the stored ids of the written records.
    private func write(_ held: [Match], _ plan: BatchPlan, on runner: StatementRunner) async throws -> Set<TextKey> {
        guard let group = plan.units(writing: [0]).first?.first else { return [] }
        do {
            let rows = try await runner.write(save(held, plan).sql(for: group))
            return Set(try rows.decodeColumn(0, as: String.self).map { TextKey($0) })
        } catch let error as PostgresError where error.isAboutValues {
            let arithmetic = plan.writes[0].operators.filter { $0.form.isArithmetic }
            if error.sqlState?.conditionClass == "22", arithmetic.count == 1 {
                throw OperatorRefusal.range.error(on: arithmetic[0].field)
            }
            throw store.report(error, table: await store.table(table, namedBy: error).visible(to: access.fields))
        }
    }

    /// Determines why records were not written; returns those whose access list would not change.
    ///
    /// Throws `115 AtomicOperationFailure` if one of them cannot be changed at all.
    private func judge(
        _ refused: [Match],
        _ plan: BatchPlan,
        on runner: StatementRunner,
        _ result: inout BulkResult
    ) async throws -> [Match] {
        let context = WriteContext(store: store, runner: runner, catalog: catalog, access: access)
        var unchangedLists: [Match] = []
        var budget = StepBudget.operators
        for start in stride(from: 0, to: refused.count, by: Self.judgedAtOnce) {
            let part = refused[start..<min(start + Self.judgedAtOnce, refused.count)]
            let findings = try await context.findings(on: part.map(\.id), in: table, for: .update)
            var failures: [RecordOutcome] = []
            for match in part {
                let finding = findings[TextKey(match.id.id)]
                switch SaveVerdict(SaveIntent(plan.writes[0]), finding, by: access.fields, within: &budget) {
                case .tryAgainKeepingAccess: unchangedLists.append(match)
                case .refused(let error) where error.isAboutPermission: result.notPermitted.append(match.id)
                case .refused(let error): failures.append(.failure(error, id: match.id.description))
                case .tryAgain: break
                }
            }
            _ = try RecordStore.requireAll(failures)
        }
        return unchangedLists
    }

    // MARK: Delete

    private func delete(_ ids: [RecordID], on runner: StatementRunner, _ result: inout BulkResult) async throws {
        var run = DeleteRun(WriteContext(store: store, runner: runner, catalog: catalog, access: access))
        let outcomes = try RecordStore.requireAll(try await run.outcomesTogether(ids))
        let asked = Set(ids)
        for case .deleted(let id, let dependents) in outcomes {
            result.changed.append(id)
            result.dependents.ids += dependents.ids.filter { !asked.contains($0) }
            result.dependents.hidden += dependents.hidden
        }
    }
}

extension BulkResult {
    /// The result of a request that has changed none of its matches yet.
    init(before request: BulkRequest, _ matches: [BulkRun.Match]) {
        self.init()
        notPermitted = matches.filter { !$0.isWritable }.map(\.id)
        if case .ids(let ids) = request.match { notFound = ids.missing(from: Set(matches.map(\.id))) }
    }
}

extension BulkRequest {
    /// Throws `108 InvalidArgument` if the changes are too large for this number of records.
    package func requireFitting(_ count: Int) throws(SkyrowError) {
        guard case .update(_, let size) = change, size * count > Self.maximumBytes else { return }
        throw .invalidArgument(
            "The changes are too large for \(count) records; change fewer records at once.",
            "set"
        ).at("set")
    }
}

extension SkyrowError {
    fileprivate static func tooManyMatch(_ count: Int64, _ limit: Int) -> SkyrowError {
        var error = SkyrowError.invalidArgument(
            "More than \(limit) records match, so nothing was changed; \"info.count\" has their number.",
            "at_most"
        ).at("at_most")
        error.info["count"] = .integer(count)
        return error
    }

    /// Whether the caller may not make this change, regardless of the values of the record.
    package var isAboutPermission: Bool { code == .deniedArgument || code == .permissionDenied }
}
