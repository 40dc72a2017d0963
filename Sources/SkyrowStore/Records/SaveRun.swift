internal import SkyrowModel
internal import SkyrowPostgres
internal import SkyrowQuery

/// Executes one save request: the statements of the plan, then queries for the reasons of refusals.
struct SaveRun {
    let context: WriteContext
    private(set) var plan: BatchPlan

    private var progress = SaveProgress()
    /// The indexes of the records whose statements met a changed schema.
    private(set) var overtaken: (places: [Int], error: PostgresError)?
    /// The time of the request, which its first statement sets for the others.
    private(set) var instant: PostgresTimestamp?
    /// How many more statements may be refused because of one of several records.
    private var attemptsLeft = WriteContext.refusedStatements
    /// The errors of new records' rows, by position; these records are tried as changes.
    private var refusedRows: [Int: PostgresError] = [:]
    /// The budget for evaluating operators on stored elements, to explain refusals.
    private var budget = StepBudget.operators
    /// The database failure that affected every record, if nothing else happened.
    private var outage: SkyrowError?

    /// Whether any record of the request was not saved.
    var hasFailures: Bool { !plan.failures.isEmpty || !progress.failures.isEmpty }

    init(_ context: WriteContext, plan: BatchPlan, instant: PostgresTimestamp? = nil) {
        self.context = context
        self.plan = plan
        self.instant = instant
    }

    /// Writes all records and returns the outcome of each item of the request, in order.
    ///
    /// Throws a database failure if it affected every record.
    mutating func outcomes() async throws -> [RecordOutcome] {
        for unit in plan.units { try await write(unit, on: context.runner) }
        try await settleRefusals()
        if let outage {
            // A transaction that lost its connection, or that was aborted in favor of another, has failed as a whole.
            if case .transaction = context.runner { throw outage }
            if progress.isEmpty, progress.failures.values.allSatisfy({ $0 == outage }) { throw outage }
        }
        // The writes are in the order of the request.
        var position = 0
        return plan.ids.indices.map { index -> RecordOutcome in
            guard position < plan.writes.count, plan.writes[position].index == index else {
                let failure = plan.failures[index]
                return .failure(failure?.error ?? .unexpected, id: failure?.id)
            }
            defer { position += 1 }
            return outcome(of: position)
        }
    }

    private func outcome(of position: Int) -> RecordOutcome {
        if let row = progress.row(of: position) { return .record(row) }
        return .failure(progress.failures[position] ?? .unexpected, id: plan.writes[position].id.description)
    }

    // MARK: Writing

    /// Writes a unit; if PostgreSQL refuses a value, writes the remaining records without the offending ones.
    private mutating func write(_ unit: [BatchPlan.Group], on runner: StatementRunner) async throws {
        do {
            try await run(unit, on: runner)
        } catch let refusal as RefusedTargets {
            let positions = unit.flatMap(\.members)
            // Records that refer to them are judged again, now that these are not in the statement.
            progress.refused.formUnion(refusal.positions)
            let others = positions.filter { !refusal.positions.contains($0) }
            for part in plan.units(writing: others) { try await write(part, on: runner) }
        } catch let error as PostgresError {
            let positions = unit.flatMap(\.members)
            if error.isAboutSchema { return overtake(positions, error) }
            if error.isRuleOfTable {
                let changes = positions.filter { plan.writes[$0].mayBeTriedAsChange }
                if !changes.isEmpty {
                    try await tryAsChanges(changes, after: error)
                    for part in plan.units(writing: positions) { try await write(part, on: runner) }
                    return
                }
            }
            if positions.count == 1, error.sqlState?.conditionClass == "22",
                let refusal = await operatorRefusal(of: positions[0])
            {
                progress.failures[positions[0]] = refusal
                return
            }
            guard error.isAboutValues, positions.count > 1 else { return await fail(positions, error, unit) }
            guard attemptsLeft > 0 else { return giveUp(positions) }
            attemptsLeft -= 1
            if error.sqlState == .foreignKeyViolation {
                let remaining = try await refuseDangling(in: unit, on: runner)
                if remaining.count < positions.count {
                    for part in plan.units(writing: remaining) { try await write(part, on: runner) }
                    return
                }
            }
            // One of these records is at fault; bisects down to it.
            let components = plan.components(of: positions)
            guard components.count > 1 else { return await fail(positions, error, unit) }
            let middle = components.count / 2
            for half in [components[..<middle], components[middle...]] {
                for part in plan.units(writing: half.flatMap { $0 }.sorted()) { try await write(part, on: runner) }
            }
        }
    }

    /// Retries records whose new rows a rule of their table refused as updates: a single record in any case, since the update
    /// itself shows whether it exists; of several, those that exist.
    private mutating func tryAsChanges(_ positions: [Int], after error: PostgresError) async throws {
        if positions.count == 1 {
            refusedRows[positions[0]] = error
            return plan.tryAsChanges(positions)
        }
        var existing: Set<Int> = []
        for (_, members) in Dictionary(grouping: positions, by: { plan.writes[$0].table.name }) {
            let ids = members.map { plan.writes[$0].id }
            let findings = try await context.findings(on: ids, in: plan.writes[members[0]].table, for: .update)
            existing.formUnion(
                // An earlier write of the request may have created it by then.
                members.filter { plan.writes[$0].round > 0 || findings[TextKey(plan.writes[$0].id.id)] != nil }
            )
        }
        plan.tryAsChanges(positions.filter { existing.contains($0) })
        for position in positions where !existing.contains(position) { plan.tryAsUpsert(position) }
    }

    /// Returns the error of the operator that failed in the database, as far as the stored record shows; nil if none did.
    private mutating func operatorRefusal(of position: Int) async -> SkyrowError? {
        let write = plan.writes[position]
        guard !write.operators.isEmpty else { return nil }
        let findings = try? await context.findings(on: [write.id], in: write.table, for: .update)
        if let finding = findings?[TextKey(write.id.id)], finding.isWritable, let record = finding.row.collected(),
            let refusal = write.operators.refusal(on: record, unreadable: finding.row.unreadableFields, within: &budget)
        {
            return refusal
        }
        // A column that psql created has a narrower range than the field's type.
        let arithmetic = write.operators.filter { $0.form.isArithmetic }
        return arithmetic.count == 1 ? OperatorRefusal.range.error(on: arithmetic[0].field) : nil
    }

    private mutating func run(_ unit: [BatchPlan.Group], on runner: StatementRunner) async throws {
        guard unit.count > 1 || refersWithin(unit[0].members) else { return try await run(unit[0], on: runner) }
        let positions = unit.flatMap(\.members)
        // The effects of a transaction that may be rolled back and retried count only after its commit.
        let before = self
        var after = self
        try await runner.deferringReferences { inner in
            var attempt = before
            for group in unit { try await attempt.run(group, on: inner) }
            try attempt.requireWrittenTargets(of: positions, refusedBefore: before.progress.refused)
            after = attempt
        }
        self = after
    }

    /// Whether one statement writes both a record and its reference's target, which may be hidden from the caller.
    private func refersWithin(_ positions: [Int]) -> Bool {
        positions.count > 1 && context.access.hidesRecords && plan.hasReferences(among: positions)
    }

    /// Throws ``RefusedTargets`` if a written record refers to one of the same unit that was not written.
    ///
    /// The statement treats a missing record as one that it is about to write. Another caller may have created it meanwhile,
    /// with access rules that hide it from this caller.
    private func requireWrittenTargets(of positions: [Int], refusedBefore: Set<Int>) throws(RefusedTargets) {
        let refused = progress.refused.subtracting(refusedBefore)
        guard context.access.hidesRecords, !refused.isEmpty else { return }
        let written = positions.filter { progress.row(of: $0) != nil }
        if plan.hasReferences(from: written, to: refused) { throw RefusedTargets(positions: refused) }
    }

    private mutating func run(_ group: BatchPlan.Group, on runner: StatementRunner) async throws {
        let statement = SaveStatement(
            plan: plan,
            catalog: context.catalog,
            access: context.access,
            instant: instant,
            progress: progress,
            hasDefaultLists: context.store.rulesWatch.hasDefaultLists
        )
        // Two versions of a row in one commit would have the same revision.
        var contention = group.table.contention
        if group.members.count == 1 { contention.row = plan.writes[group.members[0]].id.hashValue }
        let groupCommit = contention.row.map { PostgresGroupCommit.allowedExcept(key: $0) } ?? .never
        // Small results need no row limit.
        let limit = group.members.count > 4 ? PostgresRowLimit.writing(group.table.wholeRow) : nil
        let result = try await runner.write(
            statement.sql(for: group),
            groupCommit: groupCommit,
            limit: limit,
            contention: contention
        )
        let reader = context.access.fields
        let stored = StoredRows(result, of: group.table, for: reader)
        let isOnlyOne = plan.writes.count == 1
        // A trigger may have changed the id, so the only row belongs to the only record.
        let rows =
            isOnlyOne
            ? [result.isEmpty ? nil : stored[0]]
            : stored.rows(of: group.members.count) { plan.writes[group.members[$0]].id.id }
        for (member, row) in zip(group.members, rows) {
            if let row {
                progress.note(row, of: member)
            } else {
                progress.refused.insert(member)
            }
        }
        if instant == nil, !isOnlyOne, !result.isEmpty { instant = stored[0].updatedAt }
    }

    /// Refuses the records of a unit with dangling references; returns the others.
    private mutating func refuseDangling(in unit: [BatchPlan.Group], on runner: StatementRunner) async throws -> [Int] {
        let positions = unit.flatMap(\.members)
        do {
            let dangling = try await ReferenceLookup(context: context).dangling(in: unit, of: plan, on: runner)
            let unsavable = plan.unsavable(dangling) { progress.standing(of: $0) != .failed }
            for (position, field) in unsavable { progress.failures[position] = .missingTarget(of: field) }
            return positions.filter { unsavable[$0] == nil }.sorted()
        } catch let error as PostgresError {
            await fail(positions, error, unit)
            return []
        }
    }

    private mutating func overtake(_ positions: [Int], _ error: PostgresError) {
        overtaken = ((overtaken?.places ?? []) + positions.map { plan.writes[$0].index }, error)
        for position in positions { progress.failures[position] = context.store.report(error) }
    }

    private mutating func giveUp(_ positions: [Int]) {
        for position in positions { progress.failures[position] = .tooManyRefused }
    }

    private mutating func fail(_ positions: [Int], _ error: PostgresError, _ unit: [BatchPlan.Group]) async {
        let table = unit.first { $0.table.name.rawValue == error.table }?.table ?? unit[0].table
        let reported = context.store.report(
            error,
            table: await context.store.table(table, namedBy: error).visible(to: context.access.fields)
        )
        if !error.isAboutValues { outage = reported }
        for position in positions { progress.failures[position] = reported }
    }

    // MARK: Refusals

    /// Determines why records were refused: one query a type, and another write if the result is out of date.
    private mutating func settleRefusals() async throws {
        for attempt in 1... {
            let open = progress.refused.sorted()
            progress.refused = []
            if open.isEmpty { return }
            var again: [Int] = []
            for (_, positions) in Dictionary(grouping: open, by: { plan.writes[$0].table.name }) {
                do {
                    again += try await judge(positions)
                } catch let error as PostgresError where error.isAboutSchema {
                    overtake(positions, error)
                } catch let error as PostgresError {
                    for position in positions { progress.failures[position] = context.store.report(error) }
                }
            }
            again.sort()
            guard attempt < WriteContext.attempts else {
                for position in again { progress.failures[position] = .conflict }
                return
            }
            for unit in plan.units(writing: again) { try await write(unit, on: context.runner) }
        }
    }

    /// Determines why these records of one type were refused; returns those that would now be accepted.
    private mutating func judge(_ positions: [Int]) async throws -> [Int] {
        let ids = positions.map { plan.writes[$0].id }
        let findings = try await context.findings(on: ids, in: plan.writes[positions[0]].table, for: .update)
        var again: [Int] = []
        for position in positions {
            let write = plan.writes[position]
            if write.isTriedAsChange, findings[TextKey(write.id.id)] == nil {
                if let error = refusedRows[position] {
                    for unit in plan.units(writing: [position]) { await fail([position], error, unit) }
                    continue
                }
                plan.tryAsUpsert(position)
                again.append(position)
                continue
            }
            let verdict = SaveVerdict(
                SaveIntent(write),
                findings[TextKey(write.id.id)],
                by: context.access.fields,
                within: &budget
            )
            switch verdict {
            case .refused(let error): progress.failures[position] = error
            case .tryAgain where write.condition != nil:
                // Only the condition can still refuse it.
                progress.failures[position] =
                    findings[TextKey(write.id.id)].map { .conflict(with: $0.row) } ?? .conflict
            case .tryAgain: again.append(position)
            case .tryAgainKeepingAccess:
                plan.keepAccess(of: position)
                again.append(position)
            }
        }
        return again
    }
}

/// Records that a transaction did not write although it wrote others that refer to them.
private struct RefusedTargets: Error {
    var positions: Set<Int>
}

extension SkyrowError {
    /// For records of which only is known that the statements containing them were refused.
    static let tooManyRefused = SkyrowError(
        .overloaded,
        "Too many records of this request failed, so this one was not retried on its own; send it in a smaller request."
    )
}

extension PostgresError {
    /// True for a violation of a rule that psql gave a table: a check, a not-null constraint, or a trigger.
    fileprivate var isRuleOfTable: Bool {
        switch sqlState {
        case .some(.checkViolation), .some(.notNullViolation): true
        default: sqlState?.isRaised ?? false
        }
    }

    /// True if a value or a constraint on values caused the error, so that other records of the statement may be saved.
    package var isAboutValues: Bool {
        switch code {
        case .invalidValue: return true
        case .server:
            switch sqlState?.conditionClass {
            case "22", "23", "54": return true
            default: return sqlState?.isRaised ?? false
            }
        case .statementTimeout, .acquireTimeout, .overloaded, .connectionLost, .indeterminateCommit, .cannotConnect,
            .shutDown,
            .resultTooLarge, .resultMemoryExhausted, .undecodable, .misuse:
            return false
        }
    }
}
