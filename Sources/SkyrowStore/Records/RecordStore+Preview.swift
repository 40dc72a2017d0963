package import SkyrowModel
package import SkyrowPostgres
package import SkyrowProtocol

/// What the saves of a request would do.
package struct SavePreview: Sendable {
    /// By item; nil for one of another type, and for one that could not be read.
    package let saves: [Result<PreviewedSave, SkyrowError>?]
    /// The ids that replace the temporary ids of the request.
    package let freshIDs: [RecordID: RecordID]
}

/// A record before and after a save, with the fields that are hidden from the caller.
package struct PreviewedSave: Sendable {
    /// The stored record; nil for a new one.
    package let original: Record?
    /// The record as the save would leave it, with the revision from before.
    package let record: Record
    /// The fields that the save changes, sorted.
    package let changed: [FieldName]
}

extension RecordStore {
    /// Returns what saves would do, and the errors with which they would be refused because of the stored records; writes nothing.
    ///
    /// One statement for each type, and one for each draft with a condition. Throws `schemaMoved` if an item does not fit the
    /// schema, `102 PermissionDenied` if the caller may not write at all, and database errors.
    ///
    /// - Parameters:
    ///   - types: The types of the records to preview.
    ///   - earlier: The records that earlier drafts of the request save, as they leave them.
    ///   - freshIDs: The temporary ids that already have an id.
    ///   - now: The time of the save.
    package func preview(
        _ items: [SaveRequest.Item],
        of types: Set<RecordTypeName>,
        with access: RecordAccess,
        after earlier: [RecordID: Record] = [:],
        freshIDs: [RecordID: RecordID] = [:],
        at now: Timestamp
    ) async throws(SkyrowError) -> SavePreview {
        try access.requireWriting()
        return try await reporting {
            try await withCatalog { catalog in
                try access.requireScopes(of: items, in: catalog)
                let plan = self.plan(items, catalog, access, freshIDs: freshIDs)
                if plan.lacksSchema { throw SkyrowError.schemaMoved }
                var run = PreviewRun(
                    WriteContext(store: self, runner: .client(self.client), catalog: catalog, access: access),
                    plan,
                    after: earlier,
                    fresh: Set(plan.freshIDs.values).subtracting(freshIDs.values),
                    at: now
                )
                return SavePreview(saves: try await run.saves(of: types), freshIDs: plan.freshIDs)
            }
        }
    }

    /// Returns why the fields of a type do not take the values that hooks have set; nil if they do, and for fields that are
    /// missing. A hook widens no field.
    package func misfit(of draft: RecordDraft) -> SkyrowError? {
        guard let trusted = draft.trusted?.fields, let table = cache.current[draft.id.type] else { return nil }
        for field in draft.fields where trusted.contains(field.name) {
            guard let column = table[field.name] else { continue }
            let admission = column.type.admission(of: field.value)
            if admission == .fitsWidened { return column.refusal(.type) }
            do throws(SkyrowError) { _ = try column.accepted(field.value) } catch {
                // A text that is no value of the type is another type, too.
                let isOther = admission != .fits || error.info[SkyrowError.expectedTypeKey] != nil
                return isOther ? column.refusal(.type) : error
            }
        }
        return nil
    }

    // MARK: Deletes

    /// Returns the records that a delete would delete, with the fields that are hidden from the caller, or the errors with which
    /// it would be refused; deletes nothing. One statement for each type.
    ///
    /// Throws `102 PermissionDenied` if the caller may not write at all, and database errors.
    package func previewDeleting(
        _ ids: [RecordID],
        with access: RecordAccess
    ) async throws(SkyrowError) -> [RecordID: Result<Record, SkyrowError>] {
        try access.requireWriting()
        return try await reporting {
            for type in Set(ids.map(\.type)) { _ = try await table(of: type) }
            return try await withCatalog { catalog in
                let context = WriteContext(store: self, runner: .client(self.client), catalog: catalog, access: access)
                var found: [RecordID: Result<Record, SkyrowError>] = [:]
                for (type, ids) in Dictionary(grouping: ids, by: \.type).sorted(by: { $0.key < $1.key }) {
                    try access.requireDeleting(type, in: catalog)
                    guard let table = catalog[type], table.rules.refusalOfDeleting == nil else {
                        let refusal = catalog[type]?.rules.refusalOfDeleting ?? .recordNotFound
                        for id in ids { found[id] = .failure(refusal) }
                        continue
                    }
                    let findings = try await context.findings(on: ids, in: table, for: .delete)
                    for id in ids {
                        guard let finding = findings[TextKey(id.id)], finding.isReadable || finding.isWritable else {
                            found[id] = .failure(.recordNotFound)
                            continue
                        }
                        guard finding.isWritable else {
                            found[id] = .failure(.writeDenied)
                            continue
                        }
                        found[id] = finding.row.wholeRecord.map { .success($0) } ?? .failure(.responseTooLarge)
                    }
                }
                return found
            }
        }
    }

    /// Locks records that the caller may delete, as part of a transaction; returns those that no longer have these revisions.
    package func lock(
        _ revisions: [RecordID: Int64],
        with access: RecordAccess,
        transaction: PostgresTransaction
    ) async throws(SkyrowError) -> Set<RecordID> {
        try await reporting {
            try await withCatalog { catalog in
                var changed = Set(revisions.keys)
                for (type, ids) in Dictionary(grouping: revisions.keys, by: \.type).sorted(by: { $0.key < $1.key }) {
                    guard let table = catalog[type] else { continue }
                    let stored = ids.map { StoredID($0.id, in: access.database).text }
                    let rows = try await transaction.query(
                        """
                        SELECT "r"."_id", "r"."_revision" FROM \(table.qualifiedName) AS "r" \
                        WHERE "r"."_id" = ANY(\(stored)) AND \(access.of(table.rules).delete.condition(on: "r")) \
                        ORDER BY "r"."_id" FOR UPDATE
                        """
                    )
                    for row in 0..<rows.rowCount {
                        let stored = try rows.decode(row: row, column: 0, as: String.self)
                        let revision = try rows.decode(row: row, column: 1, as: Int64.self)
                        let id = try RecordID(type: type, id: StoredID.wireID(of: stored))
                        if revisions[id] == revision { changed.remove(id) }
                    }
                }
                return changed
            }
        }
    }
}

extension RecordValue {
    /// Whether the database considers both values the same.
    package func isSameStored(as other: RecordValue) -> Bool {
        isSameValue(as: other, SaveIntent.isSameJSON)
    }
}
