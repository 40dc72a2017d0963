import SkyrowModel
import SkyrowPostgres
import Testing

@testable import SkyrowStore
@testable import SkyrowTestSupport

@Suite struct MigrationRunTests {
    private func run(
        _ client: PostgresClient,
        schema: SQLIdentifier = "app",
        migrator: Migrator = Migrator()
    ) async throws -> [Migrator.Step] {
        try await MigrationRun(client: client, schema: schema, migrator: migrator, logger: .quiet)()
    }

    @Test func aNewDatabaseIsInstalledOnce() async throws {
        try await withTemporaryDatabaseAndPsql { database in
            try await withPostgresClient(database.url) { client in
                let steps = try await run(client)
                #expect(steps == [.install])
                #expect(try await run(client) == [])
            }
            let versions = try await database.psql("SELECT version, name FROM app_internal._migration ORDER BY 1")
            #expect(versions == Migration.all.map { "\($0.version)|\($0.name)" }.joined(separator: "\n"))
        }
    }

    @Test(arguments: ["my \"app\"; --", "Ünïcode", "select", "_"])
    func anySchemaNameWillDo(_ name: String) async throws {
        try await withTemporaryDatabaseAndPsql { database in
            let schema = try SQLIdentifier(name)
            try await withPostgresClient(database.url) { client in
                let steps = try await run(client, schema: schema)
                #expect(steps == [.install])
                #expect(try await run(client, schema: schema) == [])
            }
            try await database.psql(
                """
                SET search_path = \(schema.quoted);
                SELECT _create_type('movie');
                INSERT INTO movie (_id) VALUES ('1');
                DELETE FROM movie;
                """
            )
            #expect(try await database.psql("SELECT id FROM \(schema.internal.quoted)._tombstone") == "1")
        }
    }

    @Test func aSchemaThatExistsIsUsed() async throws {
        try await withTemporaryDatabaseAndPsql { database in
            try await database.psql("CREATE SCHEMA app; CREATE SCHEMA app_internal; CREATE TABLE app.mine (a text)")
            try await withPostgresClient(database.url) { client in
                let steps = try await run(client)
                #expect(steps == [.install])
            }
        }
    }

    @Test func eightMigratorsAtOnceDoItOnce() async throws {
        try await withTemporaryDatabaseAndPsql { database in
            let steps = try await withThrowingTaskGroup(of: [Migrator.Step].self) { group in
                for _ in 0..<8 {
                    group.addTask { try await withPostgresClient(database.url) { try await run($0) } }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            #expect(steps == [.install])
        }
    }

    @Test func stepsAreAppliedOnceEachInOrder() async throws {
        let latest = Migrator().latestVersion
        let second = Migration(version: latest + 1, name: "next", script: "CREATE TABLE _second (a text)")
        let third = Migration(
            version: latest + 2,
            name: "the one after",
            script: "ALTER TABLE _second ADD b text; INSERT INTO _second VALUES ('x')"
        )
        try await withTemporaryDatabaseAndPsql(template: .migrated) { database in
            let newer = Migrator(migrations: Migration.all + [second, third])
            let steps = try await withThrowingTaskGroup(of: [Migrator.Step].self) { group in
                for _ in 0..<4 {
                    group.addTask { try await withPostgresClient(database.url) { try await run($0, migrator: newer) } }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            #expect(Set(steps) == [.migrate(second), .migrate(third)] && steps.count == 2)
            #expect(try await database.psql("SELECT a FROM app._second") == "x")
        }
    }

    @Test func aStepThatFailsLeavesNothing() async throws {
        let broken = Migration(
            version: Migrator().latestVersion + 1,
            name: "broken",
            script: "CREATE TABLE _half (a text); SELECT 1 / 0"
        )
        try await withTemporaryDatabaseAndPsql(template: .migrated) { database in
            _ = try await withPostgresClient(database.url) { client in
                await #expect(throws: PostgresError.self) {
                    try await run(client, migrator: Migrator(migrations: Migration.all + [broken]))
                }
            }
            let left = try await database.psql(
                "SELECT to_regclass('app._half') IS NULL, max(version) FROM app_internal._migration"
            )
            #expect(left == "t|\(Migrator().latestVersion)")
        }
    }

    @Test func aStepMayTakeLongerThanTheStatementsOfRequests() async throws {
        let long = Migration(
            version: Migrator().latestVersion + 1,
            name: "long",
            script: "SELECT pg_sleep(7); CREATE TABLE _late (a text)"
        )
        try await withTemporaryDatabaseAndPsql(template: .migrated) { database in
            let configure = { (configuration: inout PostgresConfiguration) in
                // Together less than the step takes, and long enough for all others on a busy machine.
                configuration.statementTimeout = .seconds(5)
                configuration.cancellationTimeout = .seconds(1)
            }
            try await withPostgresClient(database.url, configure: configure) { client in
                let steps = try await run(client, migrator: Migrator(migrations: Migration.all + [long]))
                #expect(steps == [.migrate(long)])
                // The limit is back for the next one.
                let error = await #expect(throws: PostgresError.self) {
                    try await client.withTransaction(retries: 0) { transaction in
                        _ = try await transaction.query("SELECT pg_sleep(600)")
                    }
                }
                #expect(error?.code == .statementTimeout)
            }
            #expect(try await database.psql("SELECT to_regclass('app._late') IS NOT NULL") == "t")
        }
    }

    @Test func aNewerDatabaseIsRefusedAndLeftAlone() async throws {
        try await withTemporaryDatabaseAndPsql(template: .migrated) { database in
            try await database.psql("INSERT INTO app_internal._migration (version, name) VALUES (9999, '9999_future')")
            try await withPostgresClient(database.url) { client in
                let expected = MigrationError.databaseIsNewer(version: 9999, supported: Migrator().latestVersion)
                await #expect(throws: expected) { try await run(client) }
                let store = RecordStore(client: client, schema: "app", mode: .development, logger: .quiet)
                await #expect(throws: expected) { try await store.prepare() }
            }
        }
    }

    @Test(arguments: ["SQL_ASCII", "LATIN1"])
    func aDatabaseThatCannotHoldEveryTextIsRefusedAndLeftAlone(encoding: String) async throws {
        let cluster = try await TemporaryCluster.shared()
        let name = "encoded_\(encoding.lowercased())"
        try await cluster.psql("CREATE DATABASE \(name) ENCODING '\(encoding)' LOCALE 'C' TEMPLATE template0")
        try await withPostgresClient(cluster.url(database: name)) { client in
            let expected = MigrationError.databaseIsNotUTF8(encoding: encoding)
            await #expect(throws: expected) { try await run(client) }
            let found = try await client.read("SELECT to_regnamespace('app') IS NULL")
            #expect(try found.decode(row: 0, column: 0, as: Bool.self))
        }
        try await cluster.psql("DROP DATABASE \(name) WITH (FORCE)")
    }

    @Test func anOwnerWhoIsNoSuperuserIsEnough() async throws {
        try await withTemporaryDatabaseAndPsql { database in
            try await withOwner(of: database) { url in
                try await withPostgresClient(url) { client in
                    let steps = try await run(client)
                    #expect(steps == [.install])
                    #expect(try await run(client) == [])
                }
                let watching = try await database.psql("SELECT count(*) FROM pg_event_trigger")
                #expect(watching == "0")
            }
        }
    }

    @Test func eventTriggersAreMadeWhenTheyAreMissing() async throws {
        try await withTemporaryDatabaseAndPsql { database in
            try await withOwner(of: database) { url in
                _ = try await withPostgresClient(url) { try await run($0) }
            }
            try await withPostgresClient(database.url) { client in
                let steps = try await run(client)
                #expect(steps == [.installEventTriggers])
                #expect(try await run(client) == [])
            }
            #expect(try await database.psql("SELECT count(*) FROM pg_event_trigger") == "2")
        }
    }

    @Test func revisionsAreRebasedInAnotherCluster() async throws {
        try await withTemporaryDatabaseAndPsql(template: .migrated) { database in
            try await database.psql(
                """
                SET search_path = app, app_internal;
                INSERT INTO "user" (_id, _revision) VALUES ('ann', 70000000000);
                UPDATE _meta SET system_identifier = 1;
                """
            )
            try await withPostgresClient(database.url) { client in
                let steps = try await run(client)
                #expect(steps == [.rebaseRevisions])
                #expect(try await run(client) == [])
            }
            #expect(try await database.psql("SELECT app._revision() > 70000000000") == "t")
        }
    }

    @Test func aDumpRestoredIntoAnotherClusterGrowsOn() async throws {
        try await withStore { fixture in
            try await fixture.store.createMissingSchema(for: [
                draft("hen/1", ["egg": .reference(id("egg/1"))]), draft("egg/1", ["hen": .reference(id("hen/1"))]),
            ])
            try await fixture.psql(
                """
                INSERT INTO egg (_id) VALUES ('1'), ('2'); INSERT INTO hen (_id, egg) VALUES ('1', '1');
                UPDATE egg SET hen = '1' WHERE _id = '1'; DELETE FROM egg WHERE _id = '2';
                """
            )
            let highest = try await fixture.psql("SELECT max(revision) FROM _tombstone")
            let cluster = fixture.database.cluster
            let dump = try await cluster.installation.run("pg_dump", ["-d", fixture.database.url])
            let other = try await TemporaryCluster.start(identity: .own)
            try await other.psql(dump)
            try await withPostgresClient(other.url()) { client in
                let store = RecordStore(client: client, schema: "app", mode: .development, logger: .quiet)
                try await store.prepare()
                #expect(store.cache.current[type("hen")]?.recordType.fields == [field("egg"): .reference(type("egg"))])
            }
            let check = try await other.psql(
                """
                SET search_path = app, app_internal;
                INSERT INTO egg (_id) VALUES ('3');
                SELECT count(*), max(_revision) > \(highest), max(_revision) < 1::bigint << 53 FROM egg;
                """
            )
            #expect(check == "2|t|t")
        }
    }

    /// `schema.sql` shows the present, the migrations are the way: both must end in the same catalogue.
    @Test func thePresentIsWhereTheWayEnds() async throws {
        let present = try await description(of: [Migration.present])
        let way = try await description(of: Migration.all.map(\.script))
        #expect(present == way)
        #expect(present.contains("_tombstone"))
        let other = try await description(of: [Migration.present, "ALTER TABLE _role ADD COLUMN extra text"])
        #expect(present != other)
    }

    /// Everything `pg_catalog` says of a schema that these scripts made.
    private func description(of scripts: [String]) async throws -> String {
        try await withTemporaryDatabaseAndPsql(test: "description") { database in
            try await database.psql(
                """
                CREATE SCHEMA app; CREATE SCHEMA app_internal; SET search_path = app, app_internal, pg_temp;
                \(scripts.joined(separator: ";\n"))
                """
            )
            return try await database.psql(
                """
                SET search_path = pg_catalog;
                SELECT 'relation', c.oid::regclass, relkind, relpersistence, reloptions, relacl,
                    obj_description(c.oid, 'pg_class')
                FROM pg_class c WHERE relnamespace IN ('app'::regnamespace, 'app_internal'::regnamespace) ORDER BY relname;
                SELECT 'view', c.oid::regclass, pg_get_viewdef(c.oid) FROM pg_class c
                WHERE relnamespace = 'app'::regnamespace AND relkind = 'v' ORDER BY relname;
                SELECT 'column', attrelid::regclass, attname, format_type(atttypid, atttypmod), attnotnull, attidentity,
                    attgenerated, attcollation, pg_get_expr(adbin, adrelid), col_description(attrelid, attnum)
                FROM pg_attribute JOIN pg_class c ON c.oid = attrelid
                LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
                WHERE relnamespace IN ('app'::regnamespace, 'app_internal'::regnamespace) AND attnum > 0 AND NOT attisdropped
                ORDER BY relname, attname;
                SELECT 'constraint', conrelid::regclass, conname, pg_get_constraintdef(oid)
                FROM pg_constraint WHERE connamespace IN ('app'::regnamespace, 'app_internal'::regnamespace)
                ORDER BY conrelid::regclass::text, conname;
                SELECT 'index', pg_get_indexdef(c.oid) FROM pg_class c
                WHERE relnamespace IN ('app'::regnamespace, 'app_internal'::regnamespace) AND relkind = 'i' ORDER BY 2;
                SELECT 'trigger', pg_get_triggerdef(t.oid) FROM pg_trigger t JOIN pg_class c ON c.oid = tgrelid
                WHERE relnamespace IN ('app'::regnamespace, 'app_internal'::regnamespace) AND NOT tgisinternal ORDER BY 2;
                SELECT 'function', pg_get_functiondef(oid), obj_description(oid, 'pg_proc') FROM pg_proc
                WHERE pronamespace IN ('app'::regnamespace, 'app_internal'::regnamespace) ORDER BY 2;
                SELECT 'event', evtname, evtevent, evtfoid::regprocedure FROM pg_event_trigger ORDER BY 2;
                SELECT 'role', name, by_default, is_admin FROM app_internal._role ORDER BY 2;
                SELECT 'meta', revision_offset FROM app_internal._meta;
                """
            )
        }
    }

    /// Lends the URL of a role that owns the database and nothing else.
    private func withOwner(of database: TemporaryDatabase, _ body: (_ url: String) async throws -> Void) async throws {
        let role = "owner_\(database.name)".prefix(63)
        try await database.psql("CREATE ROLE \(role) LOGIN; ALTER DATABASE \(database.name) OWNER TO \(role)")
        try await body(database.url.replacing("user=postgres", with: "user=\(role)"))
        try await database.psql("REASSIGN OWNED BY \(role) TO postgres; DROP OWNED BY \(role); DROP ROLE \(role)")
    }
}
