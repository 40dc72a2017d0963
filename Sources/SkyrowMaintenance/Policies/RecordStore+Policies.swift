package import SkyrowModel
package import SkyrowPostgres
package import SkyrowStore

/// What applying policies did.
package struct PolicyOutcome: Hashable, Sendable {
    /// The types whose policies were made, or made anew.
    package var changed: [RecordTypeName]
    /// The types that have policies now.
    package var types: Int
    /// The roles that stand for users now.
    package var roles: [String]
}

/// Row-level security for roles of PostgreSQL that stand for users (Documentation/Decisions/0067-policies.md).
extension RecordStore {
    /// Makes policies, triggers, views and rights as the rules of types say, for these roles and those that there are; what is
    /// as it should be is left alone.
    ///
    /// Each transaction takes some types, so that others wait for their tables for a moment only. A type that is made anew is closed to
    /// these roles until the last one, which gives the rights.
    ///
    /// Throws `108 InvalidArgument` for a role that policies would not hold for, and for a user that there is not; and what
    /// PostgreSQL throws. What was done until then stays, and the next call goes on.
    package func applyPolicies(for logins: [DatabaseLogin] = []) async throws -> PolicyOutcome {
        var changed: Set<RecordTypeName> = []
        var rounds = 0
        while true {
            let (lacking, outcome) = try await patiently {
                // What others change again and again is left as it is.
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

    /// About how many milliseconds the policies, triggers and the view of a type take on a slow core.
    private static let policyCost = 15

    /// A type without the policies that it should have, and the rules that these are of.
    private typealias Lack = (policies: TypePolicies, rules: String)

    /// Gives the rights where all types have their policies; returns those that lack some otherwise.
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

    /// The differences between what there is and what the rules say, a sentence for each; changes nothing.
    package func policyDifferences() async throws -> (isApplied: Bool, differences: [String]) {
        try await client.withTransaction(isolation: .repeatableRead) { transaction in
            let policies = try await policies(in: transaction)
            let state = try await PolicyState.load(
                of: schema,
                tables: policies.map(\.type.rawValue),
                in: transaction
            )
            return (!state.isEmpty, state.differences(from: policies))
        }
    }

    /// Takes rights from these roles, or everything that was made for all of them.
    ///
    /// Throws `110 ResourceNotFound` for a role that is none of those that stand for users.
    package func dropPolicies(for roles: [SQLIdentifier] = []) async throws {
        let types = try await patiently { try await dropRights(of: roles) }
        guard roles.isEmpty else { return }
        // The service alone has rights from here on.
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
                // Without what others have made in it.
                _ = try await transaction.query("DROP SCHEMA IF EXISTS \(try SQLIdentifier(visible: schema))")
                _ = try await transaction.query("DELETE FROM \(schema.internal)._database_login")
            }
        }
    }

    /// Takes rights away; returns the types whose policies no login needs then.
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
                throw SkyrowError(.resourceNotFound, "The role \(role.name) stands for no user.")
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

    /// What each type needs, by the rules that the transaction sees.
    private func policies(in transaction: PostgresTransaction) async throws -> [TypePolicies] {
        try await SchemaCatalog.load(of: schema, in: transaction, rules: rules).policies
    }

    private func madeTypes(in transaction: PostgresTransaction) async throws -> [String] {
        try await transaction.query("SELECT DISTINCT type FROM \(schema.internal)._policy ORDER BY type").decodeColumn(
            0,
            as: String.self
        )
    }

    /// The roles that stand for users, as far as there are such roles.
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
            if account.isEmpty { throw SkyrowError(.invalidArgument, "There is no user '\(login.user)'.") }
        }
    }

    // MARK: Policies

    private func lacks(of policies: [TypePolicies], in transaction: PostgresTransaction) async throws -> [Lack] {
        if let (type, field) = policies.lazy.compactMap({ one in one.fieldBeyondPolicies.map { (one.type, $0) } }).first
        {
            throw SkyrowError(
                .invalidArgument,
                "The rules of the field \(field.rawValue) of \(type.rawValue) deny it to some, or are about compare or discover, which "
                    + "policies cannot hold."
            )
        }
        let visible = try SQLIdentifier(visible: schema)
        var state = PolicyState()
        try await state.readObjects(of: schema, in: transaction)
        if let stranger = state.present.keys.filter({ $0.kind == "view" && state.made[$0] == nil }).min() {
            throw SkyrowError(
                .invalidArgument,
                "The schema \(visible.name) holds \(stranger.name), which skyrow did not make."
            )
        }
        _ = try await transaction.query("CREATE SCHEMA IF NOT EXISTS \(visible)")
        let types = policies.map(\.type.rawValue)
        state = try await PolicyState.load(of: schema, tables: types, in: transaction)
        // Their tables are gone.
        for type in try await madeTypes(in: transaction) where !types.contains(type) {
            _ = try await transaction.query("SELECT \(schema)._close_type(\(type))")
        }
        let rules = Dictionary(state.tables.map { ($0.type, $0.rules) }) { first, _ in first }
        return policies.filter { !state.hasAll(of: $0) }.map { ($0, rules[$0.type.rawValue] ?? "") }
    }

    private func makePolicies(_ lacks: [Lack]) async throws {
        try await client.withTransaction { transaction in
            try await transaction.lockSchema(schema)
            // PostgreSQL prints a name with its schema where the path does not lead to it.
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

    /// Stores what was made, and what PostgreSQL made of it.
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
            // PostgreSQL's own text of a function's name and arguments.
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
            // The numbers of new rows come from sequences that belong to columns.
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
    /// Whether all of a type is there as it should be, so that its table need not be locked.
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
