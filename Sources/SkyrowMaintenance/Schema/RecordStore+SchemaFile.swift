package import SkyrowModel
package import SkyrowPostgres
import SkyrowStore

/// What comparing a schema file with the database found.
package struct SchemaReport: Hashable, Sendable {
    /// How many records something costs, and of how many.
    package struct Loss: Hashable, Sendable {
        package var lost: Int
        package var records: Int

        package init(lost: Int, records: Int) {
            self.lost = lost
            self.records = records
        }
    }

    package var difference: SchemaDifference
    package var losses: [SchemaLoss: Loss]

    package init(_ difference: SchemaDifference, losses: [SchemaLoss: Loss] = [:]) {
        self.difference = difference
        self.losses = losses
    }
}

extension RecordStore {
    /// The file that says what there is; nothing but the reserved tables need be prepared.
    package func schemaDocument() async throws(SkyrowError) -> SchemaDocument {
        try await changingSchema {
            try await client.withTransaction(isolation: .repeatableRead) { transaction in
                try await inventory(in: transaction).document
            }
        }
    }

    /// Compares a schema file with the database, which stays as it is, and counts what the changes would cost.
    package func compareSchema(with document: SchemaDocument) async throws(SkyrowError) -> SchemaReport {
        try await changingSchema {
            try await client.withTransaction(isolation: .repeatableRead) { transaction in
                let inventory = try await inventory(in: transaction)
                var report = SchemaReport(SchemaDifference(document, inventory))
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

    /// Makes the changes that a comparison showed: all of them or none, and none when the database has changed since.
    ///
    /// Every process learns of it. Throws `114 IncompatibleSchema` when the comparison has refusals or is out of date, and
    /// with PostgreSQL's reason when rows do not allow a change.
    ///
    /// - Parameter repairing: whether drift is repaired that can be.
    package func applySchema(
        _ document: SchemaDocument,
        expecting expected: SchemaDifference,
        repairing: Bool
    ) async throws(SkyrowError) {
        if let refusal = expected.refusals.first { throw SkyrowError(.incompatibleSchema, refusal) }
        try await changingSchema {
            try await patiently {
                try await client.withTransaction { transaction in
                    try await transaction.lockSchema(schema)
                    let inventory = try await inventory(in: transaction)
                    guard SchemaDifference(document, inventory) == expected else {
                        throw SkyrowError(.incompatibleSchema, "The schema was changed meanwhile; look at it again.")
                    }
                    _ = try await transaction.query(
                        "SELECT set_config('lock_timeout', '1s', true), set_config('search_path', 'pg_catalog', true)"
                    )
                    let changes = expected.plan(repairing: repairing)
                    try await transaction.requireLocks(changes.reduce(0) { $0 + $1.locks })
                    for statement in try SchemaFileChange.statements(ofPlan: changes, in: schema) {
                        _ = try await transaction.query(statement)
                    }
                    _ = try await transaction.query("SELECT pg_notify('skyrow_schema', \(schema.name))")
                }
            }
            try await cache.reload()
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

extension SkyrowError {
    /// What keeps PostgreSQL from changing tables that have rows. The reader is an operator, so names of constraints help.
    fileprivate static func schemaFileFailure(_ error: PostgresError) -> SkyrowError? {
        let detail = [error.message, error.detail].compactMap(\.self).joined(separator: " ")
        switch error.sqlState {
        case .some(.uniqueViolation):
            return SkyrowError(.incompatibleSchema, "Records have the same value where it must be unique: \(detail)")
        case .some(.notNullViolation), .some(.checkViolation), .some(.foreignKeyViolation):
            return SkyrowError(
                .incompatibleSchema,
                "Rows break a rule that is to be put back; 'skyrow doctor' names them: \(detail)"
            )
        case .some(.lockNotAvailable):
            return SkyrowError(.incompatibleSchema, "Somebody keeps a table locked; try again when it is free.")
        case .some(.undefinedTable)
        where ["_tombstone", "_class_rule", "_class_option", "_field_rule", "_index"].contains(where: {
            error.message?.contains($0) == true
        }),
            .some(.undefinedFunction):
            return SkyrowError(
                .incompatibleSchema,
                "The reserved tables are missing or old; run 'skyrow migrate' first."
            )
        case .some(let state) where ["42", "0A", "2B", "55"].contains(state.conditionClass):
            return schemaFailure(error) ?? SkyrowError(.incompatibleSchema, "PostgreSQL refuses: \(detail)")
        default:
            return schemaFailure(error)
        }
    }
}

extension SchemaLoss {
    /// Counts what is lost, and the records of the type.
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
