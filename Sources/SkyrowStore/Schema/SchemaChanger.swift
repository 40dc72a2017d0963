internal import SkyrowConcurrency
internal import SkyrowModel
package import SkyrowPostgres

/// Changes the schema in short transactions.
package final class SchemaChanger: Sendable {
    private let client: PostgresClient
    private let cache: SchemaCache
    private let schema: SQLIdentifier
    private let gate = TaskGate()
    /// The largest size in bytes of a table whose rows are written or read while it is locked.
    private let largeTableBound: Int64

    init(client: PostgresClient, cache: SchemaCache, schema: SQLIdentifier, largeTableBound: Int64) {
        self.client = client
        self.cache = cache
        self.schema = schema
        self.largeTableBound = largeTableBound
    }

    /// Makes the changes that the request still requires, and returns when ``SchemaCache/current`` shows them.
    ///
    /// It uses one transaction if others wait only briefly meanwhile (``SchemaPieces``), and several otherwise. If one of these
    /// fails, the earlier ones are committed, and the same request does the rest.
    ///
    /// Throws the errors of ``SchemaPlan``, and `PostgresError`, whose state is `lockNotAvailable` if a table stays locked for
    /// longer than a few seconds.
    func apply(_ request: SchemaRequest, mode: SchemaMode) async throws {
        try await gate.pass {
            try Task.checkCancellation()
            var hasBegun = false
            do {
                try await again(after: \.isOvertakenChange) {
                    var rest: [[SchemaChange]]?
                    repeat {
                        rest = try await patiently { [rest] in
                            try await client.withTransaction {
                                try await change(request, mode: mode, rest: rest, in: $0)
                            }
                        }
                        hasBegun = true
                    } while rest?.isEmpty == false
                }
            } catch {
                if hasBegun { try? await cache.reload(.types(request.types)) }
                throw error
            }
            try await cache.reload(.types(request.types))
        }
    }

    /// Makes the changes of the first part of a plan, and returns the other parts.
    ///
    /// The plan is made under a lock that other processes respect, so that what one of them has done meanwhile is not done twice.
    /// The lock is held until the transaction ends.
    ///
    /// - Parameter rest: the rest of the plan; nil if there is no plan yet.
    private func change(
        _ request: SchemaRequest,
        mode: SchemaMode,
        rest: [[SchemaChange]]?,
        in transaction: PostgresTransaction
    ) async throws -> [[SchemaChange]] {
        try await transaction.lockSchema(schema)
        var pieces: [[SchemaChange]]
        if let rest {
            pieces = rest
        } else {
            let catalog = try await SchemaCatalog.load(.types(request.types), of: schema, in: transaction)
            let plan = try SchemaPlan(request, in: catalog, mode: mode)
            _ = try await requireTime(for: plan.changes, in: transaction)
            let new = Set(plan.changes.lazy.compactMap { if case .createType(let type) = $0 { type } else { nil } })
            pieces = SchemaPieces.cut(plan.changes) { $0.cost(isOfNewType: new.contains($0.type)) }
            // Without the extension nothing is changed.
            if plan.changes.contains(where: \.needsPostGIS) { _ = try await transaction.query(PostGIS.requirement) }
        }
        guard !pieces.isEmpty else { return [] }
        let changes = pieces.removeFirst()
        // The event trigger, which has less information, leaves the announcement to the notification below.
        _ = try await transaction.query("SELECT set_config('skyrow.announced', 'on', true)")
        try await transaction.lock(changes.flatMap(\.tableLocks), in: schema)
        let large = try await requireTime(for: changes, in: transaction)
        try await requireDigits(for: changes, in: transaction)
        for statement in try SchemaChange.statements(for: changes, in: schema, large: large) {
            _ = try await transaction.query(statement)
        }
        _ = try await transaction.query("SET LOCAL lock_timeout TO DEFAULT")
        let notice = CatalogPart.types(request.types).notice
        _ = try await transaction.query(
            "SELECT set_config('skyrow.announced', 'off', true), \(schema)._notify('schema', \(notice))"
        )
        return pieces
    }

    /// Returns the types with large tables.
    ///
    /// Throws `114 IncompatibleSchema` for a change that would keep one of these tables locked.
    private func requireTime(
        for changes: [SchemaChange],
        in transaction: PostgresTransaction
    ) async throws -> Set<RecordTypeName> {
        let large = try await LargeTables.types(
            among: Set(changes.lazy.filter { $0.rowWork != nil }.map(\.type)),
            in: schema,
            beyond: largeTableBound,
            in: transaction
        )
        if let refusal = changes.lazy.filter({ large.contains($0.type) }).compactMap(\.refusalOfLargeTable).first {
            throw refusal
        }
        return large
    }

    /// Throws `114 IncompatibleSchema` for a change that would alter a stored value. The tables are locked, so that no concurrent
    /// write is missed.
    private func requireDigits(for changes: [SchemaChange], in transaction: PostgresTransaction) async throws {
        for case .widenField(let field, let type) in changes {
            let table = try SchemaChange.table(type, schema)
            let column = try SQLIdentifier(field.rawValue)
            let losing = try await transaction.query(
                "SELECT FROM \(table) WHERE NOT \(NumberColumn.keepsDigits("\(column)")) LIMIT 1"
            )
            guard losing.isEmpty else {
                throw SkyrowError(
                    .incompatibleSchema,
                    "The field \(field) of \(type) holds integers that would lose digits as numbers; save fractions in another field.",
                    info: ["arguments": .list([.string(field.rawValue)])]
                )
            }
        }
    }

    /// Plans again if psql, which does not take the lock, has created or dropped the same object meanwhile.
    private func again(
        after isTransient: (PostgresError) -> Bool,
        attempts: Int = 5,
        _ body: () async throws -> Void
    ) async throws {
        for _ in 1..<attempts {
            do {
                return try await body()
            } catch let error as PostgresError where isTransient(error) {
                continue
            }
        }
        try await body()
    }
}

extension PostgresTransaction {
    /// The number of locks that every server has.
    private static let certainLocks: Int64 = 500

    /// Returns how many locks one transaction may take and leave most of PostgreSQL's lock table to others.
    package func lockRoom() async throws -> Int {
        Int(max(try await lockCount() / 4, Self.certainLocks))
    }

    private func lockCount() async throws -> Int64 {
        try await query(
            """
            SELECT current_setting('max_locks_per_transaction')::bigint * current_setting('max_connections')::bigint
            """
        ).decode(row: 0, column: 0, as: Int64.self)
    }

    /// Throws `114 IncompatibleSchema` for changes that would exhaust PostgreSQL's lock table, which all sessions share.
    package func requireLocks(_ locks: Int64) async throws {
        guard locks > Self.certainLocks else { return }
        // The rest is for other sessions.
        let room = try await lockCount() / 4 * 3
        guard locks > room else { return }
        throw SkyrowError(
            .incompatibleSchema,
            """
            These are too many types at once: PostgreSQL's lock table has room for about \
            \(room / SchemaChange.locksPerType) new ones. Create fewer at a time, or raise max_locks_per_transaction.
            """
        )
    }
}

extension PostgresError {
    /// Whether a schema change conflicted with another one that was committed after it was planned.
    fileprivate var isOvertakenChange: Bool {
        switch sqlState {
        case .some(.duplicateColumn), .some(.duplicateTable), .some(.undefinedColumn), .some(.undefinedTable): true
        default: false
        }
    }
}
