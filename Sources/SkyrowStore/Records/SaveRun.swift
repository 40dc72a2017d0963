internal import SkyrowModel
internal import SkyrowPostgres

/// One request to save, carried out: statement after statement of the plan, then the questions about what was refused.
struct SaveRun {
    let context: WriteContext
    let plan: BatchPlan

    /// What became of each write.
    private var saved: [Int: StoredRow] = [:]
    private var failures: [Int: SkyrowError] = [:]
    private var refused: [Int] = []
    /// The time of the request, which its first statement settles for the others.
    private var instant: PostgresTimestamp?
    /// The failure of the database itself that everything met, if nothing else happened.
    private var outage: SkyrowError?

    init(_ context: WriteContext, plan: BatchPlan) {
        self.context = context
        self.plan = plan
    }

    /// Writes everything and tells what became of each item of the request, in order.
    ///
    /// Throws what the database failed with when that is all that happened.
    mutating func outcomes() async throws -> [RecordOutcome] {
        for unit in plan.units { try await write(unit, on: context.runner) }
        try await settleRefusals()
        if let outage {
            // A transaction that lost its connection, or its place to others, is over as a whole.
            if case .transaction = context.runner { throw outage }
            if saved.isEmpty, failures.values.allSatisfy({ $0 == outage }) { throw outage }
        }
        var outcomes: [RecordOutcome] = plan.ids.indices.map { index in
            let failure = plan.failures[index]
            return .failure(failure?.error ?? .unexpected, id: failure?.id)
        }
        for (position, write) in plan.writes.enumerated() {
            if let row = saved[position] {
                outcomes[write.index] = .record(row)
            } else {
                outcomes[write.index] = .failure(failures[position] ?? .unexpected, id: write.id.description)
            }
        }
        return outcomes
    }

    // MARK: Writing

    /// Writes a unit; when PostgreSQL refuses a value of it, its parts, down to the record that is to blame.
    private mutating func write(_ unit: [BatchPlan.Group], on runner: StatementRunner) async throws {
        let positions = unit.flatMap(\.members)
        do {
            try await run(unit, on: runner)
        } catch let error as PostgresError {
            if error.isAboutSchema, saved.isEmpty { throw error }
            guard error.isAboutValues else { return fail(positions, error, unit) }
            let components = positions.count == 1 ? [positions] : plan.components(of: positions)
            guard components.count > 1 else { return fail(positions, error, unit) }
            let middle = components.count / 2
            for half in [components[..<middle], components[middle...]] {
                for part in plan.units(writing: half.flatMap { $0 }.sorted()) { try await write(part, on: runner) }
            }
        }
    }

    private mutating func run(_ unit: [BatchPlan.Group], on runner: StatementRunner) async throws {
        guard unit.count > 1 else { return try await run(unit[0], on: runner) }
        // What a transaction that is rolled back, and perhaps tried again, has done counts only after its commit.
        let before = self
        var after = self
        try await runner.deferringReferences { inner in
            var attempt = before
            for group in unit { try await attempt.run(group, on: inner) }
            after = attempt
        }
        self = after
    }

    private mutating func run(_ group: BatchPlan.Group, on runner: StatementRunner) async throws {
        let statement = SaveStatement(
            plan: plan,
            catalog: context.catalog,
            database: context.database,
            caller: context.caller,
            variables: context.variables,
            instant: instant
        )
        // Two versions of a row in one commit would have the same revision.
        let sharing: PostgresCommitSharing =
            group.members.count == 1 ? .allowedExcept(key: plan.writes[group.members[0]].id.hashValue) : .never
        let result = try await runner.write(statement.sql(for: group), sharing: sharing)
        if plan.writes.count == 1 {
            if result.isEmpty {
                refused = group.members
            } else {
                saved[group.members[0]] = StoredRows(result, plan: group.table.wholeRow.plan, for: context.caller)[0]
            }
            return
        }
        let rows = StoredRows(result, plan: group.table.wholeRow.plan, for: context.caller).byWireID()
        for member in group.members {
            if let row = rows[TextKey(plan.writes[member].id.id)] {
                saved[member] = row
            } else {
                refused.append(member)
            }
        }
        if instant == nil { instant = rows.values.first?.updatedAt }
    }

    private mutating func fail(_ positions: [Int], _ error: PostgresError, _ unit: [BatchPlan.Group]) {
        let reported = context.store.report(error, table: unit[0].table)
        if !error.isAboutValues { outage = reported }
        for position in positions { failures[position] = reported }
    }

    // MARK: Refusals

    /// Asks why records were refused: one question a type, and another write where the answer is out of date.
    private mutating func settleRefusals() async throws {
        for attempt in 1... {
            let open = refused
            refused = []
            if open.isEmpty { return }
            var again: [Int] = []
            for (_, positions) in Dictionary(grouping: open, by: { plan.writes[$0].table.name }) {
                do {
                    again += try await judge(positions)
                } catch let error as PostgresError {
                    for position in positions { failures[position] = context.store.report(error) }
                }
            }
            again.sort()
            guard attempt < WriteContext.attempts else {
                for position in again { failures[position] = .conflict }
                return
            }
            for unit in plan.units(writing: again) { try await write(unit, on: context.runner) }
        }
    }

    /// Tells why these records of one type were refused; returns those that would not be refused now.
    private mutating func judge(_ positions: [Int]) async throws -> [Int] {
        let ids = positions.map { plan.writes[$0].id }
        let findings = try await context.findings(on: ids, in: plan.writes[positions[0]].table)
        var again: [Int] = []
        for position in positions {
            let write = plan.writes[position]
            switch SaveVerdict(write, findings[TextKey(write.id.id)], caller: context.caller) {
            case .refused(let error): failures[position] = error
            case .tryAgain: again.append(position)
            }
        }
        return again
    }
}

extension PostgresError {
    /// True when a value or a rule about values is to blame, so that other records of the statement may be saved.
    var isAboutValues: Bool {
        switch code {
        case .invalidValue: return true
        case .server:
            switch sqlState?.conditionClass {
            case "22", "23", "54": return true
            default: return sqlState == .raiseException
            }
        case .statementTimeout, .acquireTimeout, .overloaded, .connectionLost, .unknownFate, .cannotConnect, .shutDown,
            .undecodable, .misuse:
            return false
        }
    }
}
