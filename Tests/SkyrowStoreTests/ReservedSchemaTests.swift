import SkyrowModel
import SkyrowPostgres
import Testing

@testable import SkyrowStore
@testable import SkyrowTestSupport

/// The reserved tables are in a schema of their own, and views of some are where the records are.
@Suite struct ReservedSchemaTests {
    /// How many reserved tables there are.
    private static let tableCount = Migration.present.matches(of: /(?m)^CREATE TABLE _/).count

    /// What psql prints.
    private func shown(_ database: TemporaryDatabase, path: String = "app", _ command: String) async throws -> String {
        let arguments = ["-X", "-d", database.url, "-c", "SET search_path = \(path), public, postgis", "-c", command]
        return try await database.cluster.installation.run("psql", arguments)
    }

    private func install(_ schema: SQLIdentifier, in database: TemporaryDatabase) async throws {
        try await withPostgresClient(database.url) { client in
            let store = RecordStore(client: client, schema: schema, mode: .development, logger: .quiet)
            try await store.prepare()
        }
    }

    @Test func psqlListsTheTablesOfRecordsAlone() async throws {
        try await withTemporaryDatabaseAndPsql(template: .migrated) { database in
            #expect(
                try await shown(database, #"\dt"#).split(separator: "\n") == [
                    "SET", "        List of relations", " Schema | Name | Type  |  Owner   ",
                    "--------+------+-------+----------", " app    | user | table | postgres", "(1 row)",
                ]
            )
            let reserved = try await shown(database, #"\dt app_internal.*"#)
            for table in ["_user", "_session", "_meta", "_tombstone", "_migration", "_policy"] {
                #expect(reserved.contains(" app_internal | \(table) "), "\(reserved)")
            }
            #expect(reserved.contains("(\(Self.tableCount) rows)"), "\(reserved)")
        }
    }

    /// A relation of a reserved name that is none of the views, and a view that has the name of a table, which functions would find in
    /// its place.
    private static let misplaced = """
        SELECT relname FROM pg_class AS here
        WHERE relnamespace = 'app'::regnamespace AND starts_with(relname, '_') AND (
            relkind NOT IN ('v', 'i')
            OR EXISTS (SELECT FROM pg_class WHERE relnamespace = 'app_internal'::regnamespace AND relname = here.relname)
        )
        """

    @Test func nothingReservedIsATableBesideTheRecords() async throws {
        try await withTemporaryDatabaseAndPsql(template: .migrated) { database in
            #expect(try await database.psql(Self.misplaced) == "")
            // Sequences, indexes and constraints are where their tables are.
            let apart = try await database.psql(
                """
                SELECT part.relname FROM pg_class AS part JOIN pg_depend ON classid = 'pg_class'::regclass AND objid = part.oid
                JOIN pg_class AS home ON refclassid = 'pg_class'::regclass AND home.oid = refobjid
                WHERE home.relkind = 'r' AND part.relkind IN ('i', 'S') AND part.relnamespace <> home.relnamespace
                """
            )
            #expect(apart == "")
            #expect(
                try await database.psql(
                    "SELECT count(*) FROM pg_class WHERE relnamespace = 'app_internal'::regnamespace AND relkind NOT IN ('r', 'i', 'S')"
                )
                    == "0"
            )
            // The wall stands where there is something to see.
            try await database.psql("CREATE TABLE app._new (a int); CREATE VIEW app._user AS SELECT 1")
            #expect(try await database.psql(Self.misplaced) == "_new\n_user")
        }
    }

    /// The columns of each view: none is a secret, a hash or a code.
    private static let views = """
        _assets: name filename content_type size state storage owner created_at stored_at expires_at unreferenced_since
        _audits: id at event outcome user_id actor session_id key_id address request_id data
        _class_options: type default_access list_by list_read_by transfer_by creator private aggregate relations
        _class_rules: type action allow mode
        _deletions: user_id began_at next_at finished_at swept_at
        _field_rules: type field action allow
        _functions: name signature need roles timeout exposed_at exposed_by
        _identities: provider subject user_id profile created_at last_used_at
        _indexes: name type kind fields is_unique nulls_equal state attempts has_begun reason duplicates sql_state changed_at
        _keys: id name kind scopes networks created_at expires_at revoked_at last_used_at previous_until
        _mails: id kind user_id target language state attempts created_at next_at failure
        _merges: user_id target records began_at next_at finished_at
        _role_roles: role member
        _roles: name by_default is_admin access owner created_at updated_at
        _sessions: id user_id created_at created_with last_used_at expires_at rotated_at device_id device_name address user_agent level \
        elevated_until epoch
        _tombstones: type id database owner access members kind revision deleted_at
        _user_groups: user_id name
        _user_roles: user_id role
        _users: id has_password verified_email second_factor disabled disabled_message disabled_until default_access created_at \
        last_login_at last_seen_at password_changed_at token_valid_since epoch
        """

    @Test func viewsHaveNoSecrets() async throws {
        try await withTemporaryDatabaseAndPsql(template: .migrated) { database in
            let found = try await database.psql(
                """
                SELECT relname || ': ' || string_agg(attname, ' ' ORDER BY attnum) FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid
                WHERE relnamespace = 'app'::regnamespace AND relkind = 'v' AND attnum > 0 GROUP BY relname ORDER BY relname
                """
            )
            #expect(found == Self.views)
            // A column of such a name is a secret; a password that there is says nothing.
            #expect(found.firstMatch(of: /hash|secret|sealed|digits|code|token(?!_valid_since)/) == nil)
            let undescribed = try await database.psql(
                """
                SELECT relname, attname FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid
                WHERE relnamespace = 'app'::regnamespace AND relkind = 'v' AND attnum > 0
                    AND col_description(attrelid, attnum) IS NULL
                """
            )
            #expect(undescribed == "")
        }
    }

    @Test func viewsShowWhatTheTablesHaveAndAreNotWritten() async throws {
        try await withStore { f in
            try await f.psql(
                """
                INSERT INTO "user" (_id) VALUES ('ann'); INSERT INTO _user (id, password_hash) VALUES ('ann', 'hashed');
                INSERT INTO _session (token_hash, user_id, device_name) VALUES ('\\x01', 'ann', 'Pad');
                INSERT INTO _user_role VALUES ('ann', 'Admin')
                """
            )
            let database = f.database
            func psql(_ statement: String) async throws -> String {
                try await database.psql("SET search_path = app, public, postgis; \(statement)")
            }
            let joined = try await psql(
                """
                SELECT user_id, has_password, device_name, role FROM _users JOIN _sessions ON user_id = _users.id
                JOIN _user_roles USING (user_id)
                """
            )
            #expect(joined == "ann|t|Pad|Admin")
            let views = Self.views.split(separator: "\n").map { String($0.prefix { $0 != ":" }) }
            for view in views {
                let column = try await psql(
                    "SELECT attname FROM pg_attribute WHERE attrelid = '\(view)'::regclass AND attnum = 1"
                )
                let isFilled = try await psql("SELECT count(*) > 0 FROM \(view)") == "t"
                let writes =
                    ["INSERT INTO \(view) DEFAULT VALUES"]
                    + (isFilled ? ["UPDATE \(view) SET \(column) = NULL", "DELETE FROM \(view)"] : [])
                for statement in writes {
                    let error = await #expect(throws: (any Error).self, "\(statement)") { try await psql(statement) }
                    #expect(
                        "\(error ?? CancellationError())".contains("The view \(view) is read-only."),
                        "\(statement)"
                    )
                }
            }
            // It says where one writes.
            let error = await #expect(throws: (any Error).self) { try await shown(database, "DELETE FROM _sessions") }
            #expect("\(error ?? CancellationError())".contains("Write to the table app_internal._session."))
            #expect(try await f.psql("SELECT count(*) FROM _session") == "1")
        }
    }

    /// A view is no record type, is in no stream of changes, and stands in the way of no type that is named like it.
    @Test func viewsAreNoTypes() async throws {
        try await withStore { f in
            try await f.store.cache.reload()
            #expect(f.store.cache.current.tables.keys.map(\.rawValue) == ["user"])
            #expect(
                try await f.psql("SELECT string_agg(table_name::text, ' ') FROM _unpublished() AS table_name") == ""
            )
            let published = try await f.psql(
                "SELECT schemaname || '.' || tablename FROM pg_publication_tables WHERE pubname = 'skyrow_app' ORDER BY 1"
            )
            #expect(published == "app.user\napp_internal._tombstone")
            // The type of arrays of such a table has the name that a view has.
            for name in ["users", "sessions", "roles"] {
                try await f.store.createMissingSchema(for: [draft("\(name)/1", ["n": .integer(1)])])
            }
            #expect(try await f.psql("SELECT count(*) FROM users JOIN _users ON true") == "0")
        }
    }

    @Test(arguments: [
        String(repeating: "x", count: 63), String(repeating: "ü", count: 31), "my \"app\"; --",
    ])
    func anyNameHasASchemaBesideIt(_ name: String) async throws {
        try await withTemporaryDatabaseAndPsql { database in
            let schema = try SQLIdentifier(name)
            try await install(schema, in: database)
            let tables = try await database.psql(
                """
                SELECT nspname, count(*) FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
                WHERE relkind = 'r' AND nspname NOT IN ('pg_catalog', 'information_schema') GROUP BY 1 ORDER BY count(*)
                """
            )
            #expect(tables == "\(name)|1\n\(schema.internal.name)|\(Self.tableCount)")
        }
    }

    @Test func applicationsWhoseNamesShareSixtyBytesAreApart() async throws {
        try await withTemporaryDatabaseAndPsql { database in
            let schemas = try ["abc", "abd"].map { try SQLIdentifier(String(repeating: "x", count: 60) + $0) }
            for schema in schemas { try await install(schema, in: database) }
            try await database.psql("INSERT INTO \(schemas[0].internal.quoted)._role (name) VALUES ('editor')")
            for (schema, count) in zip(schemas, ["2", "1"]) {
                #expect(try await database.psql("SELECT count(*) FROM \(schema.quoted)._roles") == count)
                #expect(try await database.psql("SELECT count(*) FROM \(schema.internal.quoted)._role") == count)
            }
            // One is deleted, with both of its schemas, and the other stays.
            try await withPostgresClient(database.url) { client in
                let registry = ApplicationRegistry(client: client, defaultSchema: schemas[0], logger: .quiet)
                try await registry.create(
                    try ApplicationName("other"),
                    schema: schemas[1],
                    adoptsSchema: true,
                    keys: []
                )
                try await registry.delete(try ApplicationName("other"), dropsSchema: true)
            }
            let left = try await database.psql(
                "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'xx%' ORDER BY 1 DESC"
            )
            #expect(left == [schemas[0].name, schemas[0].internal.name].sorted(by: >).joined(separator: "\n"))
            #expect(try await database.psql("SELECT count(*) FROM pg_publication") == "1")
        }
    }

    /// A build from before the first release had its tables among those of the records.
    @Test func anOldDatabaseIsRefusedAndLeftAlone() async throws {
        try await withTemporaryDatabaseAndPsql { database in
            try await database.psql(
                """
                CREATE SCHEMA app; CREATE TABLE app._migration (version integer PRIMARY KEY, name text);
                INSERT INTO app._migration VALUES (50, '0050_valid_constraints'); CREATE TABLE app._user (id text); CREATE TABLE app.note (_id text)
                """
            )
            try await withPostgresClient(database.url) { client in
                let run = MigrationRun(client: client, schema: "app", logger: .quiet)
                await #expect(throws: MigrationError.databaseIsOld) { try await run() }
                await #expect(throws: MigrationError.databaseIsOld) { try await run.pendingSteps() }
                let store = RecordStore(client: client, schema: "app", mode: .development, logger: .quiet)
                await #expect(throws: MigrationError.databaseIsOld) { try await store.prepare() }
            }
            #expect(
                try await database.psql("SELECT to_regnamespace('app_internal') IS NULL, count(*) FROM app._migration")
                    == "t|1"
            )
        }
    }

    @Test(arguments: [
        ("CREATE SCHEMA app; CREATE TABLE app._mine (a int)", ["_mine"]),
        ("CREATE SCHEMA app; CREATE VIEW app._users AS SELECT 1", ["_users"]),
        ("CREATE SCHEMA app_internal; CREATE TABLE app_internal.theirs (a int)", ["theirs"]),
    ])
    func whatHasReservedNamesIsLeftAlone(made: String, names: [String]) async throws {
        try await withTemporaryDatabaseAndPsql { database in
            try await database.psql(made)
            try await withPostgresClient(database.url) { client in
                let run = MigrationRun(client: client, schema: "app", logger: .quiet)
                await #expect(throws: MigrationError.schemaIsTaken(names)) { try await run() }
            }
        }
    }

    /// What is left of an application whose records were dropped is no place for another one.
    @Test func oneSchemaWithoutTheOtherIsLeftAlone() async throws {
        try await withTemporaryDatabaseAndPsql(template: .migrated) { database in
            try await database.psql("DROP SCHEMA app CASCADE")
            try await withPostgresClient(database.url) { client in
                let run = MigrationRun(client: client, schema: "app", logger: .quiet)
                let error = await #expect(throws: MigrationError.self) { try await run() }
                if case .schemaIsTaken(let names)? = error {
                    #expect(names.count == Self.tableCount)
                } else {
                    Issue.record("\(String(describing: error))")
                }
            }
            #expect(try await database.psql("SELECT to_regnamespace('app') IS NULL") == "t")
        }
    }

    /// A role that may make no schemas has the service's made for it.
    @Test func bothSchemasMayBeMadeBefore() async throws {
        try await withTemporaryDatabaseAndPsql { database in
            let role = "small_\(database.name)".prefix(63)
            try await database.psql(
                """
                CREATE ROLE \(role) LOGIN; REVOKE CREATE ON DATABASE \(database.name) FROM PUBLIC;
                CREATE SCHEMA app AUTHORIZATION \(role); CREATE SCHEMA app_internal AUTHORIZATION \(role)
                """
            )
            try await withPostgresClient(database.url.replacing("user=postgres", with: "user=\(role)")) { client in
                let run = MigrationRun(client: client, schema: "app", logger: .quiet)
                let steps = try await run()
                #expect(steps == [.install])
            }
            try await database.psql("REASSIGN OWNED BY \(role) TO postgres; DROP OWNED BY \(role); DROP ROLE \(role)")
        }
    }
}
