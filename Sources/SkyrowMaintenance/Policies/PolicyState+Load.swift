import SkyrowModel
package import SkyrowPostgres
import SkyrowStore

extension PolicyState {
    /// Loads what a transaction sees. The only write is a setting of the transaction.
    package static func load(
        of schema: SQLIdentifier,
        tables names: [String],
        in transaction: PostgresTransaction
    ) async throws -> PolicyState {
        // PostgreSQL prints schema-qualified names for objects outside the search path.
        _ = try await transaction.query("SELECT set_config('search_path', 'pg_catalog', true)")
        var state = PolicyState()
        state.logins = try await logins(of: schema, in: transaction)
        state.tables = try await tables(names, of: schema, in: transaction)
        try await state.readObjects(of: schema, in: transaction)
        try await state.readRights(of: schema, in: transaction)
        return state
    }

    /// Returns the roles with the reasons why policies do not restrict them: their attributes, and those of roles they
    /// may become.
    package static func logins(
        _ given: [DatabaseLogin] = [],
        of schema: SQLIdentifier,
        in transaction: PostgresTransaction
    ) async throws -> [LoginRole] {
        let known = try await transaction.query(
            """
            WITH login AS (
                SELECT role, user_id FROM \(schema.internal)._database_login
                WHERE role <> ALL (\(given.map { PostgresName($0.role.name) }))
                UNION ALL
                SELECT * FROM unnest(\(given.map { PostgresName($0.role.name) }), \(given.map(\.user.rawValue))) AS item
            ), owner AS (
                SELECT nspowner AS oid FROM pg_namespace WHERE nspname IN \(schema.bothNames)
                UNION SELECT relowner FROM pg_class
                WHERE relnamespace IN (SELECT oid FROM pg_namespace WHERE nspname IN \(schema.bothNames))
                UNION SELECT datdba FROM pg_database WHERE datname = current_database()
            )
            SELECT login.role::text, login.user_id, held.oid IS NOT NULL, other.rolname::text, CASE
                WHEN other.rolsuper THEN 'is a superuser'
                WHEN other.rolbypassrls THEN 'passes row security (BYPASSRLS)'
                WHEN other.oid IN (SELECT oid FROM owner) THEN 'owns tables of the application'
                WHEN other.rolreplication THEN 'may replicate the whole server (REPLICATION)'
                WHEN other.rolcreaterole THEN 'may make itself a member of other roles (CREATEROLE)'
                WHEN other.rolname IN (
                    'pg_read_all_data', 'pg_write_all_data', 'pg_read_server_files', 'pg_write_server_files',
                    'pg_execute_server_program'
                ) THEN 'passes all rights of tables'
            END
            FROM login
            LEFT JOIN pg_roles AS held ON held.rolname = login.role
            LEFT JOIN pg_roles AS other ON held.rolsuper AND other.oid = held.oid
                OR NOT held.rolsuper AND pg_has_role(held.oid, other.oid, 'MEMBER')
            ORDER BY login.role, other.rolname
            """
        )
        var logins: [LoginRole] = []
        for row in 0..<known.rowCount {
            let role = try known.decode(row: row, column: 0, as: String.self)
            if logins.last?.role != role {
                logins.append(
                    LoginRole(
                        role: role,
                        user: try known.decode(row: row, column: 1),
                        exists: try known.decode(row: row, column: 2)
                    )
                )
            }
            guard let other = try known.decode(row: row, column: 3, as: String?.self),
                let reason = try known.decode(row: row, column: 4, as: String?.self)
            else { continue }
            logins[logins.count - 1].powers[other] = reason
        }
        return logins
    }

    private static func tables(
        _ names: [String],
        of schema: SQLIdentifier,
        in transaction: PostgresTransaction
    ) async throws -> [Table] {
        let found = try await transaction.query(
            """
            SELECT relname::text, relrowsecurity, relforcerowsecurity, \(schema)._rules_digest(relname::text)
            FROM pg_class
            WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = \(PostgresName(schema.name)))
                AND relname = ANY (\(names.map { PostgresName($0) }))
            ORDER BY relname
            """
        )
        return try (0..<found.rowCount).map { row in
            Table(
                type: try found.decode(row: row, column: 0),
                isClosed: try found.decode(row: row, column: 1),
                isForced: try found.decode(row: row, column: 2),
                rules: try found.decode(row: row, column: 3)
            )
        }
    }

    /// Loads the recorded objects, and those that exist.
    ///
    /// - Parameter types: The types to load; nil for all.
    package mutating func readObjects(
        of schema: SQLIdentifier,
        types: [String]? = nil,
        in transaction: PostgresTransaction
    ) async throws {
        let visible = try SQLIdentifier(visible: schema)
        let selection: SQL =
            types.map { names -> SQL in " AND relname = ANY (\(names.map { PostgresName($0) }))" } ?? ""
        let madeSelection: SQL = types.map { names -> SQL in " WHERE type = ANY (\(names))" } ?? ""
        let rows = try await transaction.query(
            "SELECT type, kind, name, source, stored FROM \(schema.internal)._policy\(madeSelection)"
        )
        made = [:]
        for row in 0..<rows.rowCount {
            let object = Object(
                type: try rows.decode(row: row, column: 0),
                kind: try rows.decode(row: row, column: 1),
                name: try rows.decode(row: row, column: 2)
            )
            made[object] = Made(
                source: try rows.decode(row: row, column: 3),
                stored: try rows.decode(row: row, column: 4)
            )
        }
        let objects = try await transaction.query(
            """
            WITH app AS (SELECT oid FROM pg_namespace WHERE nspname = \(PostgresName(schema.name)))
            SELECT relname::text, 'policy', polname::text, concat_ws(
                ' ', polcmd, polpermissive, polroles::text, pg_get_expr(polqual, polrelid), 'CHECK',
                pg_get_expr(polwithcheck, polrelid)
            )
            FROM pg_policy JOIN pg_class ON pg_class.oid = polrelid WHERE relnamespace = (SELECT oid FROM app)\(selection)
            UNION ALL
            SELECT relname::text, 'trigger', tgname::text, concat_ws(' ', tgenabled, pg_get_triggerdef(pg_trigger.oid))
            FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
            WHERE relnamespace = (SELECT oid FROM app) AND NOT tgisinternal
                AND (starts_with(tgname, '_sign_') OR starts_with(tgname, '_guard_'))\(selection)
            UNION ALL
            SELECT relname::text, 'view', relname::text, concat_ws(
                ' ', reloptions::text, relowner = (SELECT nspowner FROM pg_namespace WHERE nspname = \(PostgresName(schema.name))),
                pg_get_viewdef(oid)
            )
            FROM pg_class
            WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = \(PostgresName(visible.name)))
                AND relkind IN ('r', 'p', 'v', 'm', 'f')\(selection)
            """
        )
        present = [:]
        for row in 0..<objects.rowCount {
            let object = Object(
                type: try objects.decode(row: row, column: 0),
                kind: try objects.decode(row: row, column: 1),
                name: try objects.decode(row: row, column: 2)
            )
            present[object] = try objects.decode(row: row, column: 3)
        }
    }

    /// Loads the effective privileges of the roles, however granted.
    private mutating func readRights(of schema: SQLIdentifier, in transaction: PostgresTransaction) async throws {
        let visible = try SQLIdentifier(visible: schema)
        let rows = try await transaction.query(
            """
            WITH login AS (
                SELECT rolname, pg_roles.oid FROM \(schema.internal)._database_login JOIN pg_roles ON rolname = role
                WHERE NOT rolsuper
            ), home AS (
                SELECT oid FROM pg_namespace WHERE nspname IN \(schema.bothNames)
            ), relation AS (
                SELECT pg_class.oid, relname, false AS is_view FROM pg_class JOIN home ON relnamespace = home.oid
                WHERE relkind IN ('r', 'p', 'v', 'm', 'f')
                UNION ALL
                SELECT oid, relname, true FROM pg_class
                WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = \(PostgresName(visible.name)))
                    AND relkind IN ('r', 'p', 'v', 'm', 'f')
            )
            SELECT login.rolname::text, format('%s %s.%s', action, relname, attname)
            FROM login CROSS JOIN relation CROSS JOIN unnest('{SELECT,INSERT,UPDATE,REFERENCES}'::text[]) AS action
            JOIN pg_attribute ON attrelid = relation.oid AND attnum > 0 AND NOT attisdropped
            WHERE NOT is_view AND has_column_privilege(login.oid, relation.oid, attnum, action)
            UNION ALL
            SELECT login.rolname::text, format('%s %s%s', action, CASE WHEN is_view THEN 'view ' ELSE '' END, relname)
            FROM login CROSS JOIN relation
            CROSS JOIN unnest('{SELECT,INSERT,UPDATE,REFERENCES,DELETE,TRUNCATE,TRIGGER}'::text[]) AS action
            WHERE has_table_privilege(login.oid, relation.oid, action)
            UNION ALL
            SELECT login.rolname::text, 'CREATE in the schema'
            FROM login CROSS JOIN home WHERE has_schema_privilege(login.oid, home.oid, 'CREATE')
            """
        )
        for row in 0..<rows.rowCount {
            rights[try rows.decode(row: row, column: 0), default: []].insert(try rows.decode(row: row, column: 1))
        }
        let functions = try await transaction.query(
            """
            SELECT rolname::text, proname::text
            FROM \(schema.internal)._database_login JOIN pg_roles ON rolname = role
            CROSS JOIN (\(Self.guardedFunctions(of: schema))) AS guarded
            WHERE NOT rolsuper AND has_function_privilege(pg_roles.oid, guarded.oid, 'EXECUTE')
            """
        )
        for row in 0..<functions.rowCount {
            powers[try functions.decode(row: row, column: 0), default: []].insert(
                try functions.decode(row: row, column: 1)
            )
        }
    }

    /// Selects the reserved functions that run with their owner's privileges and that no other role may call. They
    /// include trigger functions, which a role could otherwise fire from its own table.
    static func guardedFunctions(of schema: SQLIdentifier) -> SQL {
        """
        SELECT oid, proname, oid::regprocedure::text AS signature FROM pg_proc
        WHERE pronamespace = (SELECT oid FROM pg_namespace WHERE nspname = \(PostgresName(schema.name)))
            AND prosecdef AND starts_with(proname, '_')
            AND proname NOT IN ('_me', '_audience', '_is_related', '_may_ask', '_may_look', '_may_use_file')
        """
    }
}
