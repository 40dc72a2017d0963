internal import SkyrowModel
internal import SkyrowPostgres

/// One request to delete, carried out: a statement for each type, then the question about what was not deleted.
struct DeleteRun {
    /// So often are records deleted again that others changed between a refusal and the question about it.
    private static let attempts = 3

    let store: RecordStore
    let runner: StatementRunner
    let catalog: SchemaCatalog
    let database: DatabaseScope
    let caller: Caller
    let variables: AccessVariables?

    private var deleted: Set<RecordID> = []
    private var failures: [RecordID: SkyrowError] = [:]

    init(
        store: RecordStore,
        runner: StatementRunner,
        catalog: SchemaCatalog,
        database: DatabaseScope,
        caller: Caller,
        variables: AccessVariables?
    ) {
        self.store = store
        self.runner = runner
        self.catalog = catalog
        self.database = database
        self.caller = caller
        self.variables = variables
    }

    /// Deletes each record in its own right.
    mutating func outcomes(_ ids: [RecordID]) async throws -> [RecordOutcome] {
        var open = unfailed(ids)
        // A record that others refer to may be deleted once those are gone, whatever the order of the request.
        while true {
            let before = deleted.count
            for (_, ids) in byType(open) { try await delete(ids, on: runner) }
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
            try await runner.deferringReferences { inner in
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
            } else if catalog[id.type] == nil {
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
                    error.sqlState == .foreignKeyViolation ? .referredTo : store.report(error)
                return
            }
            let middle = ids.count / 2
            try await delete(Array(ids[..<middle]), on: runner)
            try await delete(Array(ids[middle...]), on: runner)
        }
    }

    private mutating func deleteAll(_ ids: [RecordID], on runner: StatementRunner) async throws {
        guard let type = ids.first?.type, let table = catalog[type] else { return }
        let access = AccessScope(caller: caller, level: .write, database: database)
        let result = try await runner.write(
            """
            DELETE FROM \(table.qualifiedName) AS "r" \
            WHERE "r"."_id" = ANY(\(ids.map { StoredID($0.id, in: database).text })) \
            AND \(access.condition(on: "r", variables: variables)) RETURNING "r"."_id"
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
                guard let table = catalog[type] else { continue }
                let question = JudgeStatement(
                    ids: ids,
                    table: table,
                    database: database,
                    caller: caller,
                    variables: variables
                )
                let findings = try question.findings(try await runner.read(question.sql))
                var again: [RecordID] = []
                for id in ids {
                    guard let finding = findings[TextKey(id.id)], finding.isReadable else {
                        failures[id] = .recordNotFound
                        continue
                    }
                    if finding.isWritable, attempt < Self.attempts {
                        again.append(id)
                    } else {
                        failures[id] = finding.isWritable ? .conflict : .writeDenied
                    }
                }
                if !again.isEmpty { try await delete(again, on: runner) }
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
