package import SkyrowModel
package import SkyrowPostgres
import SkyrowStore

/// The result of comparing a schema file with the database.
package struct SchemaReport: Hashable, Sendable {
    /// The number of records that lose data, and the total.
    package struct Loss: Hashable, Sendable {
        package var lost: Int
        package var records: Int
    }

    package var difference: SchemaDifference
    package var losses: [SchemaLoss: Loss]
    /// What cannot be done during reads and writes, a sentence each.
    package var obstacles: [String]

    package init(_ difference: SchemaDifference, losses: [SchemaLoss: Loss] = [:], obstacles: [String] = []) {
        self.difference = difference
        self.losses = losses
        self.obstacles = obstacles
    }

    /// Whether data is lost. A type conversion loses data only if some value does not fit.
    package var losesData: Bool { difference.changes.contains { isLossy($0) } }

    package func isLossy(_ change: SchemaDifference.Change) -> Bool {
        guard let loss = change.loss else { return false }
        if case .misfits = loss { return (losses[loss]?.lost ?? 1) > 0 }
        return true
    }
}

extension RecordStore {
    /// Returns the schema file of the database. Only the reserved tables must exist.
    package func schemaDocument() async throws(SkyrowError) -> SchemaDocument {
        try await changingSchema {
            try await client.withTransaction(isolation: .repeatableRead) { transaction in
                try await inventory(in: transaction).document
            }
        }
    }

    /// Compares a schema file with the database, read-only, and counts the records that the changes would cost.
    package func compareSchema(with document: SchemaDocument) async throws(SkyrowError) -> SchemaReport {
        try await changingSchema {
            try await client.withTransaction(isolation: .repeatableRead) { transaction in
                let inventory = try await inventory(in: transaction)
                var report = SchemaReport(SchemaDifference(document, inventory))
                let schedule = try await makeSchedule(of: report.difference, repairing: true, in: transaction)
                report.obstacles = try await obstacles(to: schedule, in: transaction)
                for loss in report.difference.changes.compactMap(\.loss) {
                    let counts = try await transaction.query(loss.count(in: schema))
                    report.losses[loss] = SchemaReport.Loss(
                        lost: Int(try counts.decode(row: 0, column: 0, as: Int64.self)),
                        records: Int(try counts.decode(row: 0, column: 1, as: Int64.self))
                    )
                }
                return report
            }
        }
    }

    /// Makes the changes of a comparison, or none if the database has changed since.
    ///
    /// They are made in one transaction, or in several if one would hold locks too long. Steps for which PostgreSQL
    /// reads or writes all rows of a large table follow one by one.
    ///
    /// Notifies every process. Throws `114 IncompatibleSchema` if the comparison has refusals or is out of date, before
    /// any change if something cannot be done during reads and writes, and with PostgreSQL's reason if rows do not
    /// allow a change. If a step fails after others are done, the error says how many; another comparison has the rest.
    ///
    /// - Parameters:
    ///   - repairing: Whether repairable drift is repaired.
    ///   - allowingLoss: Whether values that do not fit a field's new type may be lost.
    ///   - lockingTables: Whether tables may stay locked for the whole change, which is then one transaction.
    package func applySchema(
        _ document: SchemaDocument,
        expecting expected: SchemaDifference,
        repairing: Bool,
        allowingLoss: Bool,
        lockingTables: Bool = false
    ) async throws(SkyrowError) {
        if let refusal = expected.refusals.first { throw SkyrowError(.incompatibleSchema, refusal) }
        let schedule = try await changingSchema {
            try await client.withTransaction { transaction in
                if lockingTables { return SchemaSchedule(expected.plan(repairing: repairing), large: []) }
                let schedule = try await makeSchedule(of: expected, repairing: repairing, in: transaction)
                if let obstacle = try await obstacles(to: schedule, in: transaction).first {
                    throw SkyrowError(.incompatibleSchema, obstacle)
                }
                return schedule
            }
        }
        let pieces = lockingTables ? [schedule.atOnce] : schedule.pieces
        var done = 0
        do throws(SkyrowError) {
            try await changingSchema {
                for (number, piece) in pieces.enumerated() {
                    try await patiently {
                        try await client.withTransaction(isTimed: !lockingTables) { transaction in
                            try await transaction.lockSchema(schema)
                            if number == 0 {
                                let inventory = try await inventory(in: transaction)
                                guard SchemaDifference(document, inventory) == expected else {
                                    throw SkyrowError(
                                        .incompatibleSchema,
                                        "The schema has changed in the meantime; review the changes again."
                                    )
                                }
                            }
                            _ = try await transaction.query(
                                """
                                SELECT set_config('search_path', 'pg_catalog', true),
                                    -- The notice is below.
                                    set_config('skyrow.announced', 'on', true)
                                """
                            )
                            if lockingTables {
                                try await transaction.limitLockWaits()
                                try await transaction.requireLocks(piece.reduce(0) { $0 + $1.locks })
                            } else {
                                try await transaction.lock(piece.flatMap(\.tableLocks), in: schema)
                            }
                            if !allowingLoss { try await requireFits(expected, piece, in: transaction) }
                            if number == 0, schedule.atOnce.contains(where: \.needsPostGIS) {
                                _ = try await transaction.query(PostGIS.requirement)
                            }
                            for statement in try SchemaFileChange.statements(
                                ofPlan: piece,
                                in: schema,
                                large: schedule.large,
                                deletedLater: pieces.dropFirst(number + 1).joined().compactMap(\.deletedType)
                            ) {
                                _ = try await transaction.query(statement)
                            }
                            _ = try await transaction.query("SELECT \(schema)._notify('schema', '')")
                        }
                    }
                    done += piece.count
                }
                try await perform(schedule.later, allowingLoss: allowingLoss) { done += 1 }
                try await cache.reload()
            }
        } catch {
            guard done > 0 else { throw error }
            throw error.stopped(after: done, of: schedule.atOnce.count + schedule.later.count)
        }
    }

    private func makeSchedule(
        of difference: SchemaDifference,
        repairing: Bool,
        in transaction: PostgresTransaction
    ) async throws -> SchemaSchedule {
        let plan = difference.plan(repairing: repairing)
        // A renamed type is looked up by both names.
        let types = plan.flatMap { change -> [String] in
            if case .renameType(let former, _) = change { [former.rawValue] } else { [change.type] }
        }
        let large = try await LargeTables.types(
            among: Set(types.compactMap { try? RecordTypeName($0) }),
            in: schema,
            beyond: largeTableBound,
            in: transaction
        )
        return SchemaSchedule(plan, large: large)
    }

    /// Throws `114 IncompatibleSchema` if values written since the comparison do not fit their field's new type. Writes
    /// are blocked until the transaction ends.
    private func requireFits(
        _ difference: SchemaDifference,
        _ piece: [SchemaFileChange],
        in transaction: PostgresTransaction
    ) async throws {
        for change in difference.changes where piece.contains(change.change) {
            guard case .misfits(let field, _, let type)? = change.loss, let loss = change.loss else { continue }
            _ = try await transaction.query(
                "LOCK TABLE \(try SchemaChange.table(type, schema)) IN ACCESS EXCLUSIVE MODE"
            )
            let lost = try await transaction.query(loss.count(in: schema)).decode(row: 0, column: 0, as: Int64.self)
            guard lost == 0 else {
                throw SkyrowError(
                    .incompatibleSchema,
                    "\(type).\(field) has \(lost) values that would be lost; add --allow-data-loss to allow that."
                )
            }
        }
    }

    private func inventory(in transaction: PostgresTransaction) async throws -> SchemaInventory {
        var inventory = try await SchemaInventory.load(of: schema, in: transaction)
        try await inventory.readAccess(of: schema, in: transaction)
        try await inventory.readFollowed(of: schema, in: transaction)
        return inventory
    }

    private func changingSchema<Success>(_ body: () async throws -> Success) async throws(SkyrowError) -> Success {
        try await reporting(special: SkyrowError.schemaFileFailure, body)
    }
}

extension SchemaFileChange {
    fileprivate var needsPostGIS: Bool {
        if case .common(let change) = self { change.needsPostGIS } else { false }
    }

    fileprivate var deletedType: RecordTypeName? {
        if case .deleteType(let type) = self { type } else { nil }
    }
}

extension SkyrowError {
    /// Returns the error of a plan that was partly carried out.
    fileprivate func stopped(after done: Int, of all: Int) -> SkyrowError {
        SkyrowError(
            code,
            "\(message) Before that, \(done) of \(all) steps were done; run the command again for the others.",
            info: info
        )
    }

    /// Returns the error for a change that existing rows prevent. The reader is an operator, so it has names of constraints.
    fileprivate static func schemaFileFailure(_ error: PostgresError) -> SkyrowError? {
        let detail = [error.message, error.detail].compactMap(\.self).joined(separator: " ")
        switch error.sqlState {
        case .some(.uniqueViolation):
            return SkyrowError(.incompatibleSchema, "Records have duplicate values in a unique field: \(detail)")
        case .some(.notNullViolation), .some(.checkViolation), .some(.foreignKeyViolation):
            return SkyrowError(
                .incompatibleSchema,
                "Rows violate a constraint that would be restored; 'skyrow doctor' lists them: \(detail)"
            )
        case .some(.lockNotAvailable):
            return SkyrowError(.incompatibleSchema, "Another session keeps a table locked; try again when it is free.")
        case .some(.undefinedTable)
        where ["_tombstone", "_class_rule", "_class_option", "_field_rule", "_index"].contains(where: {
            error.message?.contains($0) == true
        }),
            .some(.undefinedFunction):
            return SkyrowError(
                .incompatibleSchema,
                "The reserved tables are missing or outdated; run 'skyrow migrate' first."
            )
        case .some(let state) where ["42", "0A", "2B", "55"].contains(state.conditionClass):
            return schemaFailure(error) ?? SkyrowError(.incompatibleSchema, "PostgreSQL rejected the change: \(detail)")
        default:
            return schemaFailure(error)
        }
    }
}

extension SchemaLoss {
    /// Returns the statement that counts the lost records or values, and the records of the type.
    package func count(in schema: SQLIdentifier) throws -> SQL {
        switch self {
        case .records(let type):
            return "SELECT count(*), count(*) FROM \(try SchemaChange.table(type, schema))"
        case .values(let field, let type):
            let column = try SQLIdentifier(field.rawValue)
            return "SELECT count(\(column)), count(*) FROM \(try SchemaChange.table(type, schema))"
        case .misfits(let field, let conversion, let type):
            let column: SQL = "record.\(try SQLIdentifier(field.rawValue))"
            return """
                SELECT count(*) FILTER (
                    WHERE \(column) IS NOT NULL AND NOT \(try conversion.fits(column, in: schema))
                ), count(*)
                FROM \(try SchemaChange.table(type, schema)) AS record
                """
        }
    }
}
