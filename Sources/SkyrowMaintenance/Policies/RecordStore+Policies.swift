package import SkyrowModel
package import SkyrowPostgres
package import SkyrowStore

/// The result of applying policies.
package struct PolicyOutcome: Hashable, Sendable {
    /// The types whose policies were made or remade.
    package var changed: [RecordTypeName]
    package var types: Int
    /// The roles that act as users.
    package var roles: [String]
}

/// Row-level security for PostgreSQL roles that act as users (Documentation/Decisions/database-logins.md).
extension RecordStore {
    /// Makes policies, triggers, views and grants by the rules of types, for these roles and the existing ones. Objects
    /// that are up to date stay.
    ///
    /// Each transaction handles a few types, so table locks are short. A type being remade is closed to these roles
    /// until the last transaction, which grants the privileges.
    ///
    /// Throws `108 InvalidArgument` for a role that policies do not restrict, or an unknown user; and PostgreSQL's
    /// errors. Work done before an error stays, and the next call resumes.
    package func applyPolicies(for logins: [DatabaseLogin] = []) async throws -> PolicyOutcome {
        var changed: Set<RecordTypeName> = []
        var rounds = 0
        while true {
            let (lacking, outcome) = try await patiently {
                // After two rounds, types that others keep changing are left as they are.
                try await applyRights(for: logins, leavingLacks: rounds == 2)
            }
            if var outcome {
                outcome.changed = changed.sorted()
                return outcome
            }
            for some in SchemaPieces.cut(lacking, cost: { _ in Self.policyCost }) {
                try await patiently { try await makePolicies(some) }
                changed.formUnion(some.map { $0.policies.type })
            }
            rounds += 1
        }
    }

    /// The approximate duration in milliseconds of making a type's policies, triggers and view on a slow core.
    private static let policyCost = 15

    /// A type with missing policies, and the rules they follow.
    private typealias Lack = (policies: TypePolicies, rules: String)

    /// Grants the privileges if all types have their policies; otherwise returns the types that do not.
    private func applyRights(
        for logins: [DatabaseLogin],
        leavingLacks: Bool
    ) async throws -> (lacking: [Lack], outcome: PolicyOutcome?) {
        try await client.withTransaction { transaction in
            try await transaction.lockSchema(schema)
            try await require(logins, in: transaction)
            for login in logins {
                _ = try await transaction.query(
                    """
                    INSERT INTO \(schema.internal)._database_login (role, user_id)
                    VALUES (\(PostgresName(login.role.name)), \(login.user))
                    ON CONFLICT (role) DO UPDATE SET user_id = EXCLUDED.user_id
                    """
                )
            }
            try await transaction.limitLockWaits()
            let policies = try await policies(in: transaction)
            let lacking = try await lacks(of: policies, in: transaction)
            guard lacking.isEmpty || leavingLacks else { return (lacking, nil) }
            let roles = try await databaseRoles(in: transaction)
            for role in roles { try await grant(policies, to: role, in: transaction) }
            return ([], PolicyOutcome(changed: [], types: policies.count, roles: roles.map(\.name)))
        }
    }

    /// Returns the differences between the database and the rules, a sentence each; read-only.
    package func policyDifferences() async throws -> (isApplied: Bool, differences: [String]) {
        try await client.withTransaction(isolation: .repeatableRead) { transaction in
            let policies = try await policies(in: transaction)
            let state = try await PolicyState.load(of: schema, tables: policies.map(\.type.rawValue), in: transaction)
            return (!state.isEmpty, state.differences(from: policies))
        }
    }

    /// Revokes the privileges of these roles, or drops all policies if there are no roles given.
    ///
    /// Throws `110 ResourceNotFound` for a role that does not act as a user.
    package func dropPolicies(for roles: [SQLIdentifier] = []) async throws {
        let types = try await patiently { try await dropRights(of: roles) }
        guard roles.isEmpty else { return }
        // From here on, only the service has privileges.
        for some in SchemaPieces.cut(types, cost: { _ in Self.policyCost }) {
            try await patiently {
                try await client.withTransaction { transaction in
                    try await transaction.lockSchema(schema)
                    let locks = some.compactMap { try? RecordTypeName($0) }.map { TableLock(.changed, $0) }
                    try await transaction.lock(locks, in: schema)
                    for type in some {
                        _ = try await transaction.query("SELECT \(schema)._close_type(\(type))")
                        let table = try SQLIdentifier(type)
                        _ = try await transaction.query(
                            "ALTER TABLE IF EXISTS \(schema).\(table) DISABLE ROW LEVEL SECURITY"
                        )
                    }
                }
            }
        }
        try await patiently {
            try await client.withTransaction { transaction in
                try await transaction.lockSchema(schema)
                try await transaction.limitLockWaits()
                // Without CASCADE, objects that others made in the schema are not dropped.
                _ = try await transaction.query("DROP SCHEMA IF EXISTS \(try SQLIdentifier(visible: schema))")
                _ = try await transaction.query("DELETE FROM \(schema.internal)._database_login")
            }
        }
    }

    /// Revokes privileges, and returns the types whose policies are no longer needed.
    private func dropRights(of roles: [SQLIdentifier]) async throws -> [String] {
        try await client.withTransaction { transaction in
            try await transaction.lockSchema(schema)
            try await transaction.limitLockWaits()
            let known = Set(
                try await transaction.query("SELECT role FROM \(schema.internal)._database_login").decodeColumn(
                    0,
                    as: PostgresName.self
                ).map(\.text)
            )
            for role in roles where !known.contains(role.name) {
                throw SkyrowError(.resourceNotFound, "The role \(role.name) does not represent a user.")
            }
            let present = try await databaseRoles(in: transaction)
            for role in present where roles.isEmpty || roles.contains(role) {
                try await revoke(from: role, in: transaction)
            }
            guard roles.isEmpty else {
                _ = try await transaction.query(
                    "DELETE FROM \(schema.internal)._database_login WHERE role = ANY (\(roles.map { PostgresName($0.name) }))"
                )
                return []
            }
            let types = try await madeTypes(in: transaction) + policies(in: transaction).map(\.type.rawValue)
            return Set(types).sorted()
        }
    }

    /// Returns the policies of each type, by the rules that the transaction sees.
    private func policies(in transaction: PostgresTransaction) async throws -> [TypePolicies] {
        try await SchemaCatalog.load(of: schema, in: transaction, rules: rules).policies
    }

    private func madeTypes(in transaction: PostgresTransaction) async throws -> [String] {
        try await transaction.query("SELECT DISTINCT type FROM \(schema.internal)._policy ORDER BY type").decodeColumn(
            0,
            as: String.self
        )
    }

    /// Returns the existing roles that act as users.
    private func databaseRoles(in transaction: PostgresTransaction) async throws -> [SQLIdentifier] {
        try await transaction.query(
            "SELECT role FROM \(schema.internal)._database_login JOIN pg_catalog.pg_roles ON rolname = role ORDER BY role"
        ).decodeColumn(0, as: PostgresName.self).map { try SQLIdentifier($0.text) }
    }

    private func require(_ logins: [DatabaseLogin], in transaction: PostgresTransaction) async throws {
        for role in try await PolicyState.logins(logins, of: schema, in: transaction) {
            if let refusal = role.refusal { throw SkyrowError(.invalidArgument, refusal) }
        }
        for login in logins {
            let account = try await transaction.query("SELECT FROM \(schema.internal)._user WHERE id = \(login.user)")
            if account.isEmpty { throw SkyrowError(.invalidArgument, "The user '\(login.user)' does not exist.") }
        }
    }

    // MARK: Policies

    private func lacks(of policies: [TypePolicies], in transaction: PostgresTransaction) async throws -> [Lack] {
        if let (type, field) = policies.lazy.compactMap({ one in one.fieldBeyondPolicies.map { (one.type, $0) } }).first
        {
            throw SkyrowError(
                .invalidArgument,
                "The rules of the field \(field.rawValue) of \(type.rawValue) deny it to some subjects, or restrict compare or "
                    + "discover, which policies cannot express."
            )
        }
        let visible = try SQLIdentifier(visible: schema)
        var state = PolicyState()
        try await state.readObjects(of: schema, in: transaction)
        if let stranger = state.present.keys.filter({ $0.kind == "view" && state.made[$0] == nil }).min() {
            throw SkyrowError(
                .invalidArgument,
                "The schema \(visible.name) contains \(stranger.name), which was not created by skyrow."
            )
        }
        _ = try await transaction.query("CREATE SCHEMA IF NOT EXISTS \(visible)")
        let types = policies.map(\.type.rawValue)
        state = try await PolicyState.load(of: schema, tables: types, in: transaction)
        // The tables of these types no longer exist.
        for type in try await madeTypes(in: transaction) where !types.contains(type) {
            _ = try await transaction.query("SELECT \(schema)._close_type(\(type))")
        }
        let rules = Dictionary(state.tables.map { ($0.type, $0.rules) }) { first, _ in first }
        return policies.filter { !state.hasAll(of: $0) }.map { ($0, rules[$0.type.rawValue] ?? "") }
    }

    private func makePolicies(_ lacks: [Lack]) async throws {
        try await client.withTransaction { transaction in
            try await transaction.lockSchema(schema)
            // PostgreSQL prints schema-qualified names for objects outside the search path.
            _ = try await transaction.query("SELECT set_config('search_path', 'pg_catalog', true)")
            try await transaction.lock(lacks.map { TableLock(.changed, $0.policies.type) }, in: schema)
            for lack in lacks { try await make(lack.policies, in: transaction) }
            try await note(lacks, in: transaction)
        }
    }

    private func make(_ policies: TypePolicies, in transaction: PostgresTransaction) async throws {
        let table = try SQLIdentifier(policies.type.rawValue)
        _ = try await transaction.query("SELECT \(schema)._close_type(\(policies.type.rawValue))")
        _ = try await transaction.query(
            "ALTER TABLE \(schema).\(table) ENABLE ROW LEVEL SECURITY, NO FORCE ROW LEVEL SECURITY"
        )
        for object in policies.objects { _ = try await transaction.query(object.statement) }
    }

    /// Records the objects made, with the text that PostgreSQL stored.
    private func note(_ lacks: [Lack], in transaction: PostgresTransaction) async throws {
        var state = PolicyState()
        try await state.readObjects(of: schema, types: lacks.map { $0.policies.type.rawValue }, in: transaction)
        for (policies, rules) in lacks {
            let type = policies.type.rawValue
            for object in policies.objects {
                let kind = object.kind.rawValue
                let stored = state.present[PolicyState.Object(type: type, kind: kind, name: object.name)] ?? ""
                try await note(type, kind, object.name, object.statement.text, stored, in: transaction)
            }
            try await note(type, "rights", "", policies.rights, "", in: transaction)
            _ = try await transaction.query(
                """
                INSERT INTO \(schema.internal)._policy (type, kind, name, source, stored)
                VALUES (\(type), 'rules', '', \(rules), '')
                """
            )
        }
    }

    private func note(
        _ type: String,
        _ kind: String,
        _ name: String,
        _ source: String,
        _ stored: String,
        in transaction: PostgresTransaction
    ) async throws {
        _ = try await transaction.query(
            """
            INSERT INTO \(schema.internal)._policy (type, kind, name, source, stored)
            VALUES (\(type), \(kind), \(name), \(source), \(stored))
            """
        )
    }

    // MARK: Rights

    private func revoke(from role: SQLIdentifier, in transaction: PostgresTransaction) async throws {
        let visible = try SQLIdentifier(visible: schema)
        var homes = [schema, schema.internal.identifier]
        let hasViews = try await transaction.query(
            "SELECT FROM pg_catalog.pg_namespace WHERE nspname = \(PostgresName(visible.name))"
        )
        if !hasViews.isEmpty { homes.append(visible) }
        for home in homes {
            for kind in ["TABLES", "SEQUENCES", "FUNCTIONS"] as [SQL] {
                _ = try await transaction.query("REVOKE ALL ON ALL \(kind) IN SCHEMA \(home) FROM \(role)")
            }
            _ = try await transaction.query("REVOKE ALL ON SCHEMA \(home) FROM \(role)")
        }
    }

    private func grant(
        _ policies: [TypePolicies],
        to role: SQLIdentifier,
        in transaction: PostgresTransaction
    ) async throws {
        try await revoke(from: role, in: transaction)
        let visible = try SQLIdentifier(visible: schema)
        for home in [schema, visible] { _ = try await transaction.query("GRANT USAGE ON SCHEMA \(home) TO \(role)") }
        for function in try await transaction.query(PolicyState.guardedFunctions(of: schema)).decodeColumn(
            2,
            as: String.self
        ) {
            // The text is PostgreSQL's own form of a function's name and arguments.
            _ = try await transaction.query("REVOKE EXECUTE ON FUNCTION \(SQL(trustedText: function)) FROM PUBLIC")
        }
        for policies in policies {
            let table = try SQLIdentifier(policies.type.rawValue)
            let columns: [(SQL, [String])] = [
                ("SELECT", policies.grants.select), ("INSERT", policies.grants.insert),
                ("UPDATE", policies.grants.update),
            ]
            for (action, columns) in columns where !columns.isEmpty {
                let names = try columns.map { "\(try SQLIdentifier($0))" as SQL }.joined(separator: ", ")
                _ = try await transaction.query("GRANT \(action) (\(names)) ON \(schema).\(table) TO \(role)")
            }
            if policies.grants.deletes {
                _ = try await transaction.query("GRANT DELETE ON \(schema).\(table) TO \(role)")
            }
            if policies.view != nil {
                _ = try await transaction.query("GRANT SELECT ON \(visible).\(table) TO \(role)")
            }
            if policies.grants.insert.isEmpty { continue }
            // New rows need the sequences owned by the table's columns.
            for sequence in try await transaction.query(
                """
                SELECT relname::text FROM pg_catalog.pg_depend JOIN pg_catalog.pg_class ON pg_class.oid = objid
                WHERE relkind = 'S' AND deptype = 'a' AND classid = 'pg_class'::regclass
                    AND refclassid = 'pg_class'::regclass AND refobjid = (
                        SELECT oid FROM pg_catalog.pg_class WHERE relname = \(PostgresName(table.name)) AND relnamespace = (
                            SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = \(PostgresName(schema.name))
                        )
                    ) AND relnamespace = (
                        SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = \(PostgresName(schema.name))
                    )
                ORDER BY relname
                """
            ).decodeColumn(0, as: String.self) {
                _ = try await transaction.query(
                    "GRANT USAGE ON SEQUENCE \(schema).\(try SQLIdentifier(sequence)) TO \(role)"
                )
            }
        }
    }
}

extension PolicyState {
    /// Returns whether all objects of a type are up to date, so that its table need not be locked.
    package func hasAll(of policies: TypePolicies) -> Bool {
        var state = self
        let type = policies.type.rawValue
        state.logins = []
        state.tables = tables.filter { $0.type == type }
        state.made = made.filter { $0.key.type == type }
        state.present = present.filter { $0.key.type == type }
        return !state.isEmpty && state.differences(from: [policies]).isEmpty
    }
}
