package import SkyrowModel
package import SkyrowPostgres

extension RecordStore {
    /// Saves records, each in its own right or, when `atomic`, all or none.
    ///
    /// The records fit the schema by now (``makeRoom(for:)``). Records of one type and shape are one statement and one
    /// round trip; the answer has an outcome for each item, in the order of the items. Throws `101 NotAuthenticated`
    /// without a user, `111 NotSupported` in `_union`, `115 AtomicOperationFailure` when `atomic` and a record fails,
    /// and what the database itself failed with.
    package func save(
        _ items: [SaveRequest.Item],
        in scope: DatabaseScope,
        caller: Caller,
        atomic: Bool
    ) async throws -> [RecordOutcome] {
        try requireMayCreate(in: scope, caller: caller)
        return try await withCatalog { catalog in
            let plan = try self.plan(items, catalog: catalog, scope: scope, atomic: atomic)
            guard atomic, plan.writes.count > 1 else {
                let outcomes = try await self.run(plan, .client(self.client), catalog: catalog, scope, caller)
                return atomic ? try Self.requireAll(outcomes) : outcomes
            }
            return try await self.client.withTransaction { transaction in
                try Self.requireAll(
                    try await self.run(plan, .transaction(transaction), catalog: catalog, scope, caller)
                )
            }
        }
    }

    /// The same as part of a transaction, which the caller commits, or rolls back when this throws.
    package func save(
        _ items: [SaveRequest.Item],
        in scope: DatabaseScope,
        caller: Caller,
        atomic: Bool,
        transaction: PostgresTransaction
    ) async throws -> [RecordOutcome] {
        try requireMayCreate(in: scope, caller: caller)
        return try await withCatalog { catalog in
            let plan = try self.plan(items, catalog: catalog, scope: scope, atomic: atomic)
            let outcomes = try await self.run(plan, .transaction(transaction), catalog: catalog, scope, caller)
            return atomic ? try Self.requireAll(outcomes) : outcomes
        }
    }

    /// Throws when the caller may create no record in this database at all: `101 NotAuthenticated` without a user,
    /// `111 NotSupported` in `_union`, `102 PermissionDenied` in somebody else's database.
    package func requireMayCreate(in scope: DatabaseScope, caller: Caller) throws(SkyrowError) {
        switch scope {
        case .union:
            throw SkyrowError(.notSupported, "The database _union is for reading only.")
        case .everyone, .user:
            guard caller.isMaster || caller.userID != nil else {
                throw SkyrowError(.notAuthenticated, "Log in to write records.")
            }
            guard !AccessScope(caller: caller, level: .write, database: scope).clauses.isEmpty else {
                throw .writeDenied
            }
        }
    }

    /// Which of these records exist and are closed to the caller for writing, and what each is refused with.
    ///
    /// Asked before a save changes the schema, so that nothing is created for a caller who may not write. One statement
    /// for each type that exists.
    package func refusals(
        savingTo ids: [RecordID],
        in scope: DatabaseScope,
        caller: Caller
    ) async throws -> [RecordID: SkyrowError] {
        guard case .everyone = scope, !caller.isMaster else { return [:] }
        return try await withCatalog { catalog in
            let context = WriteContext(
                store: self,
                runner: .client(self.client),
                catalog: catalog,
                database: scope,
                caller: caller
            )
            var refusals: [RecordID: SkyrowError] = [:]
            for (type, ids) in Dictionary(grouping: ids.filter { !$0.isTemporary }, by: \.type) {
                guard let table = catalog[type] else { continue }
                let findings = try await context.findings(on: ids, in: table)
                for id in ids {
                    if let finding = findings[TextKey(id.id)], !finding.isWritable { refusals[id] = .writeDenied }
                }
            }
            return refusals
        }
    }

    private func plan(
        _ items: [SaveRequest.Item],
        catalog: SchemaCatalog,
        scope: DatabaseScope,
        atomic: Bool
    ) throws(SkyrowError) -> BatchPlan {
        if atomic {
            let errors: [ErrorInfo] = items.compactMap {
                if case .failure(let error, _) = $0 { .error(error) } else { nil }
            }
            guard errors.isEmpty else {
                var error = SkyrowError.invalidArgument("A record could not be read, so none was saved.", "records")
                error.info["errors"] = .list(errors)
                throw error
            }
        }
        return BatchPlan(
            items,
            catalog: catalog,
            database: scope,
            maximumAccessEntries: maximumAccessEntries,
            makeID: makeRecordID
        )
    }

    private func run(
        _ plan: BatchPlan,
        _ runner: StatementRunner,
        catalog: SchemaCatalog,
        _ scope: DatabaseScope,
        _ caller: Caller
    ) async throws -> [RecordOutcome] {
        let context = WriteContext(store: self, runner: runner, catalog: catalog, database: scope, caller: caller)
        var run = SaveRun(context, plan: plan)
        return try await run.outcomes()
    }

    /// Throws `115 AtomicOperationFailure` with the errors by record id when there is a failure among the outcomes.
    static func requireAll(_ outcomes: [RecordOutcome]) throws(SkyrowError) -> [RecordOutcome] {
        var failures: [String: ErrorInfo] = [:]
        for outcome in outcomes {
            if case .failure(let error, let id) = outcome { failures[id ?? ""] = .error(error) }
        }
        guard failures.isEmpty else {
            throw SkyrowError(
                .atomicOperationFailure,
                "Nothing was changed, since part of it was refused; the info says what.",
                info: failures
            )
        }
        return outcomes
    }
}

/// A random id in the form of a version 4 UUID (RFC 9562).
func makeRecordID() -> String {
    var generator = SystemRandomNumberGenerator()
    let high = generator.next() & 0xFFFF_FFFF_FFFF_0FFF | 0x4000
    let low = generator.next() & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
    var text = ""
    text.reserveCapacity(36)
    for (position, digit) in (hexadecimal(high) + hexadecimal(low)).enumerated() {
        if [8, 12, 16, 20].contains(position) { text += "-" }
        text.append(digit)
    }
    return text
}

private func hexadecimal(_ number: UInt64) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
}
