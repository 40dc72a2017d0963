internal import SkyrowJSON
package import SkyrowModel
package import SkyrowPostgres
package import SkyrowProtocol
internal import SkyrowQuery

extension RecordStore {
    /// Saves records, each independently or, when `atomic`, all or none.
    ///
    /// Missing schema has been created before (``createMissingSchema(for:)``). Records of one type and shape are one statement
    /// and one round trip; the result has an outcome for each item, in order. Throws `102 PermissionDenied` if the caller may
    /// not write at all, `115 AtomicOperationFailure` when `atomic` and a record fails, and database errors.
    ///
    /// - Parameters:
    ///   - fitsSchema: whether all items must fit the schema. If one does not, throws `schemaMoved` without writing anything.
    ///   - freshIDs: the temporary ids that already have an id.
    package func save(
        _ items: [SaveRequest.Item],
        with access: RecordAccess,
        atomic: Bool,
        fitsSchema: Bool = false,
        freshIDs: [RecordID: RecordID] = [:]
    ) async throws(SkyrowError) -> [RecordOutcome] {
        try access.requireWriting()
        let work = SaveWork(
            items: items,
            access: access,
            isAtomic: atomic,
            fitsSchema: fitsSchema,
            freshIDs: freshIDs
        )
        return try await reporting {
            let outcomes: [RecordOutcome]
            if atomic, items.count > 1 {
                outcomes = try await client.withTransaction { try await self.perform(work, on: .transaction($0)) }
            } else {
                outcomes = try await perform(work, on: .client(client))
            }
            await askForRelations(after: work)
            return outcomes
        }
    }

    /// Reloads types whose access lists name a relation for the first time, which changes the conditions of their statements.
    /// Other processes get a notification; this one reloads them before it responds.
    private func askForRelations(after work: SaveWork) async {
        let catalog = cache.current
        let mayName =
            work.items.haveAccessLists || work.items.types.contains { catalog[$0]?.rules.defaultAccess != nil }
        guard mayName else { return }
        var types: Set<RecordTypeName> = []
        for case .draft(let draft) in work.items {
            guard let rules = catalog[draft.id.type]?.rules,
                let named = (draft.access ?? rules.defaultAccess)?.relations, !named.isEmpty,
                !Set(named).isSubset(of: rules.classes?.askedRelations ?? [])
            else { continue }
            types.insert(draft.id.type)
        }
        // The save has succeeded anyway, and the notification will arrive.
        if !types.isEmpty { try? await cache.reload(.types(types)) }
    }

    /// Saves records as part of a transaction, which the caller commits, or rolls back if this throws.
    package func save(
        _ items: [SaveRequest.Item],
        with access: RecordAccess,
        atomic: Bool,
        fitsSchema: Bool = false,
        freshIDs: [RecordID: RecordID] = [:],
        transaction: PostgresTransaction
    ) async throws(SkyrowError) -> [RecordOutcome] {
        try access.requireWriting()
        let work = SaveWork(
            items: items,
            access: access,
            isAtomic: atomic,
            fitsSchema: fitsSchema,
            freshIDs: freshIDs
        )
        return try await reporting { try await perform(work, on: .transaction(transaction)) }
    }

    /// Returns the errors with which these drafts would be refused because of the stored records, by index; writes nothing.
    ///
    /// Called before a save changes the schema, so that nothing is created for a refused record. One statement for each
    /// existing type.
    package func refusals(
        saving drafts: [RecordDraft],
        with access: RecordAccess
    ) async throws(SkyrowError) -> [Int: SkyrowError] {
        try await reporting {
            try await withCatalog { catalog in
                let context = WriteContext(store: self, runner: .client(self.client), catalog: catalog, access: access)
                var refusals: [Int: SkyrowError] = [:]
                var budget = StepBudget.operators
                for (place, draft) in drafts.enumerated() {
                    refusals[place] = catalog[draft.id.type]?.rules.refusal(saving: draft, with: access)
                }
                let places = drafts.indices.filter { !drafts[$0].id.isTemporary && refusals[$0] == nil }
                for (type, places) in Dictionary(grouping: places, by: { drafts[$0].id.type }) {
                    let table = catalog[type]
                    var findings: [TextKey: JudgeStatement.Finding] = [:]
                    if let table {
                        let ids = places.map { drafts[$0].id }
                        findings = try await context.findings(on: ids, in: table, for: .update)
                    }
                    for place in places {
                        let draft = drafts[place]
                        let verdict = SaveVerdict(
                            SaveIntent(draft, table: table, access: access),
                            findings[TextKey(draft.id.id)],
                            by: access.fields,
                            within: &budget
                        )
                        if case .refused(let error) = verdict { refusals[place] = error }
                    }
                }
                return refusals
            }
        }
    }

    /// Saves the items; retries those that met a change of the schema.
    private func perform(_ work: SaveWork, on runner: StatementRunner) async throws -> [RecordOutcome] {
        if work.isAtomic { try work.items.requireReadable() }
        let outcomes = try await outcomes(of: work, on: runner)
        return work.isAtomic ? try Self.requireAll(outcomes) : outcomes
    }

    private func outcomes(of work: SaveWork, on runner: StatementRunner) async throws -> [RecordOutcome] {
        try await rulesWatch.requireKnown()
        var retry = SchemaRetry()
        var catalog = cache.current
        var plan = self.plan(work.items, catalog, work.access, freshIDs: work.freshIDs)
        var instant: PostgresTimestamp?
        var open = Array(work.items.indices)
        var settled: [RecordOutcome] = []
        var hasFailures = false
        while true {
            try work.access.requireScopes(of: work.items, in: catalog)
            // The caller can create dropped schema again only if nothing is written yet.
            if plan.lacksSchema, work.fitsSchema, settled.isEmpty { throw SkyrowError.schemaMoved }
            let context = WriteContext(store: self, runner: runner, catalog: catalog, access: work.access)
            var run = SaveRun(context, plan: plan, instant: instant)
            let outcomes = try await run.outcomes()
            if settled.isEmpty {
                settled = outcomes
            } else {
                for (place, outcome) in zip(open, outcomes) { settled[place] = outcome }
            }
            hasFailures = hasFailures || run.hasFailures
            guard let overtaken = run.overtaken,
                try await catchUp(from: catalog, after: overtaken.error, &retry)
            else { return hasFailures ? settled.namingElements() : settled }
            open = overtaken.places.map { open[$0] }.sorted()
            if open.count == work.items.count { settled = [] }
            instant = run.instant
            catalog = cache.current
            plan = self.plan(open.map { work.items[$0] }, catalog, work.access, freshIDs: plan.freshIDs)
        }
    }

    func plan(
        _ items: [SaveRequest.Item],
        _ catalog: SchemaCatalog,
        _ access: RecordAccess,
        freshIDs: [RecordID: RecordID]
    ) -> BatchPlan {
        BatchPlan(
            items,
            catalog: catalog,
            database: access.database,
            mode: mode,
            maximumAccessEntries: maximumAccessEntries,
            freshIDs: freshIDs,
            access: access,
            makeID: { UUIDText().description }
        )
    }

    /// Throws `115 AtomicOperationFailure` with the errors by record id if any outcome is a failure.
    static func requireAll(_ outcomes: [RecordOutcome]) throws(SkyrowError) -> [RecordOutcome] {
        var failures: [String: SkyrowError] = [:]
        for outcome in outcomes {
            if case .failure(let error, let id) = outcome { failures[id ?? ""] = error }
        }
        guard failures.isEmpty else { throw SkyrowError.atomicFailure(failures) }
        return outcomes
    }
}

extension [RecordOutcome] {
    /// Adds the index of the record to the paths of errors.
    fileprivate func namingElements() -> [RecordOutcome] {
        enumerated().map { place, outcome in
            guard outcome.namesElement, case .failure(let error, let id) = outcome else { return outcome }
            return .failure(error.inRecord(at: place), id: id)
        }
    }
}

extension RecordOutcome {
    /// Whether it is an error that names an element of its record; errors of unreadable items already name the record.
    fileprivate var namesElement: Bool {
        guard case .failure(let error, _) = self, let path = error.path else { return false }
        return !path.hasPrefix("records[")
    }
}

extension RecordAccess {
    /// Throws `102 PermissionDenied` if nothing may be written, as with access for reading.
    func requireWriting() throws(SkyrowError) {
        guard mayWrite else { throw .writeDenied }
    }
}

/// The items that a request saves.
private struct SaveWork {
    let items: [SaveRequest.Item]
    let access: RecordAccess
    let isAtomic: Bool
    let fitsSchema: Bool
    let freshIDs: [RecordID: RecordID]
}

extension RecordAccess {
    /// Throws `102 PermissionDenied` if the request's key has no scope for a type that is saved or referred to.
    func requireScopes(of items: [SaveRequest.Item], in catalog: SchemaCatalog) throws(SkyrowError) {
        guard hasScopes else { return }
        for case .draft(let draft) in items {
            try requireWriting(draft.id.type)
            var fields = draft.fields
            if let trusted = draft.trusted?.fields { fields.removeAll { trusted.contains($0.name) } }
            try requireReferring(fields, draft.operators, of: draft.id.type, in: catalog)
        }
    }
}
