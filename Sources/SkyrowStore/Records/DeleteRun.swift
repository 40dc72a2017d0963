internal import SkyrowModel
internal import SkyrowPostgres

/// Executes one delete request: one statement for each type, then a query for the reasons of what was not deleted.
struct DeleteRun {
    let context: WriteContext

    private var deleted: Set<RecordID> = []
    /// The dependents that were deleted or changed with each requested record.
    private var dependents: [RecordID: DeletedDependents] = [:]
    /// All deleted records, including hidden ones.
    private var gone: Set<RecordID> = []
    /// How many more records may be deleted or changed with others.
    private var budget = CascadeStatement.maximumDependents
    private var failures: [RecordID: SkyrowError] = [:]
    /// How many more statements may be refused because of one of several records.
    private var attemptsLeft = WriteContext.refusedStatements

    init(_ context: WriteContext) {
        self.context = context
    }

    /// Deletes each record independently.
    mutating func outcomes(_ ids: [RecordID]) async throws -> [RecordOutcome] {
        var open = unfailed(ids)
        // A record that others of the request refer to can be deleted after them, in any order of the request.
        while true {
            let before = deleted.count
            for (_, ids) in byType(open) { try await delete(ids, on: context.runner) }
            let blocked = open.filter { failures[$0] == .referredTo }
            guard !blocked.isEmpty, deleted.count > before, attemptsLeft > 0 else { break }
            for id in blocked { failures[id] = nil }
            open = blocked
        }
        return try await settled(ids)
    }

    /// Deletes all records together, so that they may refer to each other in any way; reports why some were not deleted.
    mutating func outcomesTogether(_ ids: [RecordID]) async throws -> [RecordOutcome] {
        let open = unfailed(ids)
        guard try await deleteTogether(open, releasing: false) else {
            guard try await deleteTogether(open, releasing: true) else { return try await outcomes(ids) }
            return try await settled(ids)
        }
        return try await settled(ids)
    }

    /// Deletes records in one transaction with deferred foreign keys; when `releasing`, clears the references to them from
    /// private databases. Returns false if other references prevent it, or too many.
    private mutating func deleteTogether(_ ids: [RecordID], releasing: Bool) async throws -> Bool {
        let before = self
        var after = self
        do {
            try await context.runner.deferringReferences { inner in
                var attempt = before
                for (_, ids) in before.byType(ids) { try await attempt.deleteAll(ids, on: inner) }
                if releasing { try await attempt.release(attempt.gone.subtracting(before.gone), on: inner) }
                after = attempt
            }
        } catch let error as PostgresError where error.sqlState == .foreignKeyViolation {
            return false
        } catch is TooManyReferences {
            return false
        } catch is TooManyDependents {
            return false
        }
        self = after
        return true
    }

    /// Returns the ids that may be deletable; the others have their failure recorded.
    private mutating func unfailed(_ ids: [RecordID]) -> [RecordID] {
        var seen: Set<RecordID> = []
        return ids.filter { id in
            guard seen.insert(id).inserted else { return false }
            if let table = context.catalog[id.type] {
                if let refusal = table.rules.refusalOfDeleting { failures[id] = refusal }
            } else {
                failures[id] = .recordNotFound
            }
            return failures[id] == nil
        }
    }

    private func byType(_ ids: [RecordID]) -> [(key: RecordTypeName, value: [RecordID])] {
        Dictionary(grouping: ids, by: \.type).sorted { $0.key < $1.key }
    }

    /// Deletes records of one type; if a foreign key prevents it, bisects them down to the records that it holds.
    private mutating func delete(_ ids: [RecordID], on runner: StatementRunner) async throws {
        do {
            try await deleteAll(ids, on: runner)
        } catch let error as PostgresError where error.isAboutValues {
            if error.sqlState == .foreignKeyViolation { try await deleteReleasing(ids) }
            let others = ids.filter { !deleted.contains($0) }
            if !others.isEmpty { try await deleteParts(others, error, on: runner) }
        } catch is TooManyDependents {
            // Smaller parts would have as many dependents in total.
            for id in ids { failures[id] = .tooManyDependents }
        }
    }

    /// Bisects records that could not be deleted together, down to those that are refused.
    private mutating func deleteParts(_ ids: [RecordID], _ error: PostgresError, on runner: StatementRunner)
        async throws
    {
        guard ids.count > 1 else {
            if error.sqlState == .foreignKeyViolation, isReferredTo(ids[0].type),
                case .everyone = context.access.database,
                try await deleteTogether(ids, releasing: true)
            {
                return
            }
            failures[ids[0]] = error.sqlState == .foreignKeyViolation ? .referredTo : context.store.report(error)
            return
        }
        guard attemptsLeft > 0 else {
            for id in ids { failures[id] = .tooManyRefused }
            return
        }
        attemptsLeft -= 1
        let middle = ids.count / 2
        for half in [Array(ids[..<middle]), Array(ids[middle...])] {
            do {
                try await deleteAll(half, on: runner)
            } catch let error as PostgresError where error.isAboutValues {
                try await deleteParts(half, error, on: runner)
            } catch is TooManyDependents {
                for id in half { failures[id] = .tooManyDependents }
            }
        }
    }

    // MARK: References from private databases

    /// Deletes those of some records of one type that only private records refer to.
    private mutating func deleteReleasing(_ ids: [RecordID]) async throws {
        guard case .everyone = context.access.database, let references = references(to: ids) else { return }
        // Private records may also refer to dependents of these, which only the delete itself finds.
        if isReferredTo(references.target.name) {
            _ = try await deleteTogether(ids, releasing: true)
            return
        }
        let question = references.releasable(ids.map(\.id), writeCondition(of: references.target))
        let found = Set(try await context.runner.read(question).decodeColumn(0, as: String.self).map { TextKey($0) })
        let releasable = ids.filter { found.contains(TextKey($0.id)) }
        guard !releasable.isEmpty else { return }
        if try await deleteTogether(releasable, releasing: true) { return }
        // Too many references for one transaction; without a surrounding one, they are cleared in several.
        guard case .client = context.runner else { return }
        for statement in references.releases(releasable.map(\.id)) {
            while try await context.runner.write(statement).affectedRows > PrivateReferences.maximumRows {}
        }
        _ = try await deleteTogether(releasable, releasing: true)
    }

    /// Sets the references of private records to these to NULL; throws ``TooManyReferences`` above the bound.
    private func release(_ ids: Set<RecordID>, on runner: StatementRunner) async throws {
        guard case .everyone = context.access.database else { return }
        var count = 0
        for (_, ids) in byType(Array(ids)) {
            guard let references = references(to: ids) else { continue }
            for statement in references.releases(ids.map(\.id)) {
                count += try await runner.write(statement).affectedRows
                if count > PrivateReferences.maximumRows { throw TooManyReferences() }
            }
        }
    }

    private func references(to ids: [RecordID]) -> PrivateReferences? {
        guard let type = ids.first?.type, let table = context.catalog[type] else { return nil }
        return PrivateReferences(to: table, in: context.catalog)
    }

    private func writeCondition(of table: RecordTable) -> SQL {
        context.access.of(table.rules).delete.condition(on: "r")
    }

    private mutating func deleteAll(_ ids: [RecordID], on runner: StatementRunner) async throws {
        guard let type = ids.first?.type, let table = context.catalog[type] else { return }
        if let graph = DeleteGraph(of: table, in: context.catalog) {
            return try await deleteWithDependents(ids, graph, on: runner)
        }
        let statement = DeleteStatement.make(ids: ids, table: table, access: context.access)
        let result = try await runner.write(statement, contention: table.contention)
        let gone = Set(try result.decodeColumn(0, as: String.self).map { TextKey(StoredID.wireID(of: $0)) })
        for id in ids where gone.contains(TextKey(id.id)) {
            deleted.insert(id)
            self.gone.insert(id)
        }
    }

    // MARK: Dependents

    /// Whether deleting a record of this type may change others.
    private func isReferredTo(_ type: RecordTypeName) -> Bool {
        context.catalog.deleteRules[type] != nil
    }

    /// Deletes records of one type with their dependents; throws ``TooManyDependents`` above the bound and deletes nothing.
    private mutating func deleteWithDependents(
        _ ids: [RecordID],
        _ graph: DeleteGraph,
        on runner: StatementRunner
    ) async throws {
        let statement = CascadeStatement(graph: graph, ids: ids, access: context.access, budget: budget)
        let result = try await runner.write(statement.sql, contention: graph.types[0].contention)
        var count = 0
        for row in 0..<result.rowCount {
            count = Int(try result.decode(row: row, column: 4, as: Int64.self))
            guard let root = try result.decode(row: row, column: 0, as: String?.self) else { throw TooManyDependents() }
            let place = Int(try result.decode(row: row, column: 1, as: Int64.self))
            let stored = try result.decode(row: row, column: 2, as: String.self)
            let isRoot = place == 0 && stored.isSameText(as: root)
            // psql may have created an id that clients cannot name.
            let id = try? RecordID(type: graph.types[place].name, id: StoredID.wireID(of: stored))
            if let id { gone.insert(id) }
            guard let rootID = try? RecordID(type: graph.types[0].name, id: StoredID.wireID(of: root)) else { continue }
            if isRoot {
                deleted.insert(rootID)
            } else if let id, try result.decode(row: row, column: 3, as: Bool.self) {
                dependents[rootID, default: .none].ids.append(id)
                // The request may contain this record too; hidden dependents are only counted.
                deleted.insert(id)
            } else {
                dependents[rootID, default: .none].hidden += 1
            }
        }
        budget -= count
    }

    /// Determines why records were not deleted: those that the caller may read are refused, the others reported as missing.
    private mutating func settled(_ ids: [RecordID]) async throws -> [RecordOutcome] {
        for attempt in 1... {
            let open = unfailed(ids).filter { !deleted.contains($0) }
            if open.isEmpty { break }
            for (type, ids) in byType(open) {
                guard let table = context.catalog[type] else { continue }
                let findings = try await context.findings(on: ids, in: table, for: .delete)
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
            guard deleted.contains(id) else { return .failure(failures[id] ?? .unexpected, id: id.description) }
            var others = dependents[id, default: .none]
            others.ids.sort { ($0.type, $0.id) < ($1.type, $1.id) }
            return .deleted(id, with: others)
        }
    }
}

/// More private records refer to the records to delete than one transaction changes.
private struct TooManyReferences: Error {}

/// More records would be deleted or changed with the records to delete than one request allows.
private struct TooManyDependents: Error {}

extension SkyrowError {
    fileprivate static let tooManyDependents = SkyrowError.invalidArgument(
        """
        More than \(CascadeStatement.maximumDependents) other records would be deleted or changed with these; delete some of \
        them first.
        """,
        "ids"
    )
    fileprivate static let referredTo = SkyrowError(.constraintViolated, "Other records refer to this record.")
}
