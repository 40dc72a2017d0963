internal import SkyrowModel
internal import SkyrowPostgres

/// One request to delete, carried out: a statement for each type, then the question about what was not deleted.
struct DeleteRun {
    let context: WriteContext

    private var deleted: Set<RecordID> = []
    private var failures: [RecordID: SkyrowError] = [:]

    init(_ context: WriteContext) {
        self.context = context
    }

    /// Deletes each record in its own right.
    mutating func outcomes(_ ids: [RecordID]) async throws -> [RecordOutcome] {
        var open = unfailed(ids)
        // A record that others refer to may be deleted once those are gone, whatever the order of the request.
        while true {
            let before = deleted.count
            for (_, ids) in byType(open) { try await delete(ids, on: context.runner) }
            let blocked = open.filter { failures[$0] == .referredTo }
            guard !blocked.isEmpty, deleted.count > before else { break }
            for id in blocked { failures[id] = nil }
            open = blocked
        }
        return try await settled(ids)
    }

    /// Deletes all of them together, so that they may refer to each other in any way; what is left to be told is why
    /// some were not deleted.
    mutating func outcomesTogether(_ ids: [RecordID]) async throws -> [RecordOutcome] {
        let before = self
        var after = self
        do {
            try await context.runner.deferringReferences { inner in
                var attempt = before
                for (_, ids) in attempt.byType(attempt.unfailed(ids)) { try await attempt.deleteAll(ids, on: inner) }
                after = attempt
            }
            self = after
        } catch let error as PostgresError where error.sqlState == .foreignKeyViolation {
            return try await outcomes(ids)
        }
        return try await settled(ids)
    }

    /// The ids that something can be done about; the others have their failure.
    private mutating func unfailed(_ ids: [RecordID]) -> [RecordID] {
        var seen: Set<RecordID> = []
        return ids.filter { id in
            guard seen.insert(id).inserted else { return false }
            if id.type == .user {
                failures[id] = .userNotDeletable
            } else if context.catalog[id.type] == nil {
                failures[id] = .recordNotFound
            }
            return failures[id] == nil
        }
    }

    private func byType(_ ids: [RecordID]) -> [(key: RecordTypeName, value: [RecordID])] {
        Dictionary(grouping: ids, by: \.type).sorted { $0.key < $1.key }
    }

    /// Deletes records of one type; where a foreign key is in the way, parts of them, down to those it holds.
    private mutating func delete(_ ids: [RecordID], on runner: StatementRunner) async throws {
        do {
            try await deleteAll(ids, on: runner)
        } catch let error as PostgresError where error.isAboutValues {
            guard ids.count > 1 else {
                failures[ids[0]] =
                    error.sqlState == .foreignKeyViolation ? .referredTo : context.store.report(error)
                return
            }
            let middle = ids.count / 2
            try await delete(Array(ids[..<middle]), on: runner)
            try await delete(Array(ids[middle...]), on: runner)
        }
    }

    private mutating func deleteAll(_ ids: [RecordID], on runner: StatementRunner) async throws {
        guard let type = ids.first?.type, let table = context.catalog[type] else { return }
        let access = AccessScope(caller: context.caller, level: .write, database: context.database)
        let result = try await runner.write(
            """
            DELETE FROM \(table.qualifiedName) AS "r" \
            WHERE "r"."_id" = ANY(\(ids.map { StoredID($0.id, in: context.database).text })) \
            AND \(access.condition(on: "r", variables: context.variables)) RETURNING "r"."_id"
            """
        )
        let gone = Set(try result.decodeColumn(0, as: String.self).map { TextKey(StoredID.wireID(of: $0)) })
        for id in ids where gone.contains(TextKey(id.id)) { deleted.insert(id) }
    }

    /// Asks why records were not deleted: those the caller may read are refused, the others are as if missing.
    private mutating func settled(_ ids: [RecordID]) async throws -> [RecordOutcome] {
        for attempt in 1... {
            let open = unfailed(ids).filter { !deleted.contains($0) }
            if open.isEmpty { break }
            for (type, ids) in byType(open) {
                guard let table = context.catalog[type] else { continue }
                let findings = try await context.findings(on: ids, in: table)
                var again: [RecordID] = []
                for id in ids {
                    guard let finding = findings[TextKey(id.id)], finding.isReadable else {
                        failures[id] = .recordNotFound
                        continue
                    }
                    if finding.isWritable, attempt < WriteContext.attempts {
                        again.append(id)
                    } else {
                        failures[id] = finding.isWritable ? .conflict : .writeDenied
                    }
                }
                if !again.isEmpty { try await delete(again, on: context.runner) }
            }
        }
        return ids.map { id in
            deleted.contains(id) ? .deleted(id) : .failure(failures[id] ?? .unexpected, id: id.description)
        }
    }
}

extension SkyrowError {
    fileprivate static let referredTo = SkyrowError(.constraintViolated, "Other records refer to this record.")
    fileprivate static let userNotDeletable = SkyrowError(
        .permissionDenied,
        "The profile of an account is not deleted."
    )
}
