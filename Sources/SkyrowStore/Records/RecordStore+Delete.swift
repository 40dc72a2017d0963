package import SkyrowModel
package import SkyrowPostgres

extension RecordStore {
    /// Deletes records, each independently or, when `atomic`, all or none: one statement for each type.
    ///
    /// The result has an outcome for each id, in the order of the ids: `110 ResourceNotFound` for a missing or unreadable
    /// record, `102 PermissionDenied` for a record that the caller may only read and for profiles, `113 ConstraintViolated` for
    /// a record that others refer to. Throws `102` if the caller may not write at all, `115 AtomicOperationFailure` when
    /// `atomic` and a record is refused, and database errors.
    package func delete(
        _ ids: [RecordID],
        with access: RecordAccess,
        atomic: Bool
    ) async throws(SkyrowError) -> [RecordOutcome] {
        try access.requireWriting()
        return try await reporting {
            for type in Set(ids.map(\.type)) { _ = try await table(of: type) }
            return try await withCatalog { catalog in
                for type in Set(ids.map(\.type)) { try access.requireDeleting(type, in: catalog) }
                guard atomic, ids.count > 1 else {
                    var run = self.deleteRun(.client(self.client), catalog, access)
                    let outcomes = try await run.outcomes(ids)
                    return atomic ? try Self.requireAll(outcomes) : outcomes
                }
                return try await self.client.withTransaction { transaction in
                    var run = self.deleteRun(.transaction(transaction), catalog, access)
                    return try Self.requireAll(try await run.outcomesTogether(ids))
                }
            }
        }
    }

    /// Deletes records as part of a transaction, which the caller commits, or rolls back if this throws.
    package func delete(
        _ ids: [RecordID],
        with access: RecordAccess,
        atomic: Bool,
        transaction: PostgresTransaction
    ) async throws(SkyrowError) -> [RecordOutcome] {
        try access.requireWriting()
        return try await reporting {
            try await withCatalog { catalog in
                for type in Set(ids.map(\.type)) { try access.requireDeleting(type, in: catalog) }
                var run = self.deleteRun(.transaction(transaction), catalog, access)
                guard atomic else { return try await run.outcomes(ids) }
                return try Self.requireAll(try await run.outcomesTogether(ids))
            }
        }
    }

    private func deleteRun(_ runner: StatementRunner, _ catalog: SchemaCatalog, _ access: RecordAccess) -> DeleteRun {
        DeleteRun(WriteContext(store: self, runner: runner, catalog: catalog, access: access))
    }
}
