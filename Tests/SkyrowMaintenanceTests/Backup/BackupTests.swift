import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowPostgres
@testable import SkyrowStore

@Suite(.timeLimit(.minutes(60))) struct BackupTests {
    /// What an archive has of the reserved tables: not the event triggers, which belong to the database.
    private static let present = Migration.present.replacing("SELECT _install_event_triggers();", with: "")

    private func restore(
        _ database: TemporaryDatabase,
        replacing: Bool = false,
        keepingSessions: Bool = false,
        _ scripts: String...
    ) async throws -> [Migrator.Step] {
        try await withPostgresClient(database.url) { client in
            try await SchemaRestore.restore(
                "app",
                client: client,
                replacing: replacing,
                keepingSessions: keepingSessions,
                logger: .quiet
            ) { restore in
                try await restore.piece { piece in
                    try await piece.run("SET LOCAL search_path = app, app_internal, pg_temp")
                    try await piece.run(Self.present)
                    let versions = Migration.all.map { "(\($0.version), '\($0.name)')" }.joined(separator: ", ")
                    try await piece.run("INSERT INTO _migration (version, name) VALUES \(versions)")
                }
                for script in scripts {
                    try await restore.piece { piece in
                        try await piece.run("SET LOCAL search_path = app, app_internal, pg_temp; \(script)")
                    }
                }
            }
        }
    }

    @Test func theSourceTellsVersionsAndTheExtensionsItNeeds() async throws {
        try await withTemporaryDatabaseAndPsql(template: .migrated) { database in
            try await withPostgresClient(database.url) { client in
                try await database.psql("CREATE EXTENSION pg_trgm; CREATE EXTENSION citext; CREATE EXTENSION hstore")
                let plain = try await BackupSource(of: "app", client: client)
                #expect(plain.extensions == [])
                #expect(plain.schemaVersion == Migrator().latestVersion)
                #expect(plain.serverVersion > 12)
                try await database.psql(
                    """
                    CREATE INDEX ON app."user" USING gin (username gin_trgm_ops);
                    ALTER TABLE app."user" ADD nick citext;
                    """
                )
                #expect(try await BackupSource(of: "app", client: client).extensions == ["citext", "pg_trgm"])
                await #expect(throws: BackupRefusal.nothing) { try await BackupSource(of: "other", client: client) }
                await #expect(throws: MigrationError.self) {
                    try await BackupSource(of: "app", client: client, migrator: Migrator(migrations: []))
                }
            }
        }
    }

    @Test(arguments: [
        ("", nil),
        ("CREATE SCHEMA app", nil),
        (
            "CREATE SCHEMA app; CREATE TABLE app.mine (a text)",
            BackupRefusal.isNotEmpty(["mine"])
        ),
        ("CREATE SCHEMA app; CREATE SCHEMA app_internal; CREATE VIEW app.seen AS SELECT 1", .isNotEmpty(["seen"])),
        (
            "CREATE SCHEMA app; CREATE SCHEMA app_internal; CREATE TABLE app._old (a text); INSERT INTO app._old VALUES ('x')",
            .isNotEmpty(["_old"])
        ),
    ])
    func onlyAnEmptyPlaceIsFilledUnasked(statements: String, refusal: BackupRefusal?) async throws {
        try await withTemporaryDatabaseAndPsql { database in
            try await database.psql(statements)
            if let refusal {
                await #expect(throws: refusal) { try await restore(database) }
                #expect(try await database.psql("SELECT to_regclass('app_internal._user') IS NULL") == "t")
                _ = try await restore(database, replacing: true)
            } else {
                _ = try await restore(database)
            }
            #expect(try await database.psql("SELECT count(*) FROM app_internal._role") == "1")
        }
    }

    @Test func whatAFirstStartLeavesCountsAsNothing() async throws {
        try await withTemporaryDatabaseAndPsql(template: .migrated) { database in
            _ = try await restore(database)
            try await database.psql("INSERT INTO app.\"user\" (_id) VALUES ('ann')")
            await #expect(throws: BackupRefusal.isNotEmpty(["user"])) { try await restore(database) }
        }
    }

    /// A schema alone is in the way as much as both are, and neither is left of what was replaced.
    @Test(arguments: ["", "DROP SCHEMA app CASCADE", "DROP SCHEMA app_internal CASCADE"])
    func bothSchemasAreReplaced(_ damage: String) async throws {
        try await withTemporaryDatabaseAndPsql { database in
            _ = try await restore(database, "SELECT _create_type('film')")
            try await database.psql("INSERT INTO app_internal._role (name) VALUES ('old')")
            try await database.psql(damage)
            _ = try await restore(database, replacing: true, "INSERT INTO _role (name) VALUES ('new')")
            #expect(
                try await database.psql("SELECT string_agg(name, ' ' ORDER BY name) FROM app._roles") == "Admin new"
            )
            let homes = try await database.psql(
                """
                SELECT nspname, relname FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
                WHERE relkind = 'r' AND nspname NOT IN ('pg_catalog', 'information_schema') AND relname IN ('user', 'film', '_user', '_role')
                ORDER BY 1, 2
                """
            )
            #expect(homes == "app|user\napp_internal|_role\napp_internal|_user")
            #expect(try await database.psql(Self.leftovers) == "0")
        }
    }

    @Test func revisionsGoOnBeyondAllThatWereRestored() async throws {
        try await withTemporaryDatabaseAndPsql { database in
            let high = Int64(1) << 40
            _ = try await restore(
                database,
                "SELECT _create_type('film'); INSERT INTO film (_id, _revision) VALUES ('1', \(high))"
            )
            let next = try await database.psql("INSERT INTO app.film (_id) VALUES ('2') RETURNING _revision")
            #expect(try #require(Int64(next)) > high)
        }
    }

    /// A token that was given up after the backup must not be good again.
    @Test(arguments: [false, true])
    func sessionsOfABackupEndUnlessTheyAreToBeKept(isKept: Bool) async throws {
        try await withTemporaryDatabaseAndPsql { database in
            _ = try await restore(
                database,
                keepingSessions: isKept,
                """
                INSERT INTO "user" (_id) VALUES ('ann'), ('bob');
                INSERT INTO _user (id, epoch) VALUES ('ann', 7), ('bob', 0);
                INSERT INTO _session (token_hash, user_id, epoch) VALUES ('\\x01', 'ann', 7)
                """
            )
            #expect(
                try await database.psql("SELECT id, epoch FROM app_internal._user ORDER BY id")
                    == (isKept ? "ann|7\nbob|0" : "ann|8\nbob|1")
            )
            #expect(try await database.psql("SELECT count(*) FROM app_internal._session") == (isKept ? "1" : "0"))
            // Later changes of accounts are announced as ever.
            #expect(
                try await database.psql(
                    "SELECT tgenabled FROM pg_trigger WHERE tgrelid = 'app_internal._user'::regclass AND tgname = '_announce'"
                ) == "O"
            )
        }
    }

    /// A dump makes the extension of trigrams, but not the schema that the service has made for it.
    @Test func theSchemaOfTheTrigramsIsMadeBeforeTheDumpNeedsIt() async throws {
        try await withTemporaryDatabaseAndPsql { database in
            _ = try await restore(
                database,
                """
                CREATE EXTENSION IF NOT EXISTS "pg_trgm" WITH SCHEMA "trigrams";
                SELECT _create_type('film'); ALTER TABLE film ADD title text;
                CREATE INDEX film_title_trigram ON film USING gin (title trigrams.gin_trgm_ops);
                INSERT INTO _index (name, type, kind, fields, state, has_begun)
                VALUES ('film_title_trigram', 'film', 'trigram', '{title}', 'ready', true),
                    ('film_title_idx', 'film', 'order', '{title}', 'building', true)
                """
            )
            // What was not finished is taken up where the backup is restored.
            try await withPostgresClient(database.url) { client in
                let isDone = try await IndexBuilder(client: client, logger: .quiet) { ["app"] }.pass()
                #expect(isDone)
            }
            let states = try await database.psql("SELECT name, state FROM app_internal._index ORDER BY name")
            #expect(states == "film_title_idx|ready\nfilm_title_trigram|ready")
        }
    }

    @Test func aFailureInTheMiddleLeavesWhatWasThere() async throws {
        try await withTemporaryDatabaseAndPsql(template: .migrated) { database in
            try await database.psql("INSERT INTO app.\"user\" (_id) VALUES ('ann')")
            await #expect(throws: PostgresError.self) {
                try await restore(database, replacing: true, "SELECT 1 / 0")
            }
            #expect(try await database.psql("SELECT _id FROM app.\"user\"") == "ann")
            #expect(try await database.psql(Self.leftovers) == "0")
        }
    }

    /// A database has an extension once, so that of the archive takes the place of one in the schema.
    @Test func anExtensionInTheSchemaIsReplaced() async throws {
        try await withTemporaryDatabaseAndPsql(template: .migrated) { database in
            try await database.psql("CREATE EXTENSION pg_trgm SCHEMA app; CREATE TABLE app.mine (a text)")
            _ = try await restore(
                database,
                replacing: true,
                """
                CREATE EXTENSION IF NOT EXISTS "pg_trgm" WITH SCHEMA "app";
                SELECT _create_type('film'); ALTER TABLE film ADD title text;
                CREATE INDEX ON film USING gin (title app.gin_trgm_ops)
                """
            )
            #expect(
                try await database.psql("SELECT to_regclass('app.mine') IS NULL, to_regclass('app.film') IS NULL")
                    == "t|f"
            )
        }
    }

    private static let leftovers = "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'skyrow\\_re%'"

    /// What an archive without sessions leaves out is complete: nothing in it refers to a row that is not.
    @Test func whateverRefersToWhatIsLeftOutIsLeftOutToo() async throws {
        try await withTemporaryDatabaseAndPsql(template: .migrated) { database in
            try await withPostgresClient(database.url) { client in
                let own = ["_code", "_flow", "_live_ticket", "_mail", "_pending_login", "_session", "_upload"]
                #expect(try await BackupSource(of: "app", client: client).momentary == own)
                try await database.psql(
                    """
                    SET search_path = app, app_internal;
                    CREATE TABLE visit (id int PRIMARY KEY, session_id uuid REFERENCES _session);
                    CREATE TABLE page (visit int REFERENCES visit);
                    CREATE TABLE other (account text REFERENCES _user);
                    """
                )
                let leftOut = try await BackupSource(of: "app", client: client).momentary
                #expect(leftOut == (own + ["page", "visit"]).sorted())
                let list = leftOut.map { "'\($0)'" }.joined(separator: ", ")
                let dangling = try await database.psql(
                    """
                    SELECT here.relname, there.relname FROM pg_constraint
                    JOIN pg_class AS here ON here.oid = conrelid JOIN pg_class AS there ON there.oid = confrelid
                    WHERE contype = 'f' AND connamespace IN ('app'::regnamespace, 'app_internal'::regnamespace)
                        AND here.relname NOT IN (\(list)) AND there.relname IN (\(list))
                    """
                )
                #expect(dangling == "")
            }
        }
    }

    /// A schema has more objects than one transaction may lock, and others see the old one until the new one is complete.
    @Test func aSchemaOfManyTypesIsReplacedAndDroppedInPieces() async throws {
        let cluster = try await TemporaryCluster.start(
            settings: ["max_locks_per_transaction": "10", "max_connections": "60", "max_prepared_transactions": "0"]
        )
        let many = (0..<10).map { part in
            "SELECT count(_create_type('part\(part)_' || n)) FROM generate_series(1, 30) AS n"
        }
        func restore(_ database: TemporaryDatabase, replacing: Bool, _ last: String) async throws {
            try await withPostgresClient(database.url) { client in
                _ = try await SchemaRestore.restore("app", client: client, replacing: replacing, logger: .quiet) {
                    restore in
                    #expect(restore.pieceLength >= 100)
                    try await restore.piece { piece in
                        try await piece.run("SET LOCAL search_path = app, app_internal, pg_temp; \(Self.present)")
                        let versions = Migration.all.map { "(\($0.version), '\($0.name)')" }.joined(separator: ", ")
                        try await piece.run("INSERT INTO _migration (version, name) VALUES \(versions)")
                    }
                    for script in many + [last] {
                        try await restore.piece { piece in
                            try await piece.run("SET LOCAL search_path = app, app_internal, pg_temp; \(script)")
                        }
                    }
                }
            }
        }
        try await withTemporaryDatabaseAndPsql(on: cluster) { database in
            let names =
                "SELECT count(*), bool_or(relname = 'first'), bool_or(relname = 'second') FROM pg_class "
                + "WHERE relkind = 'r' AND relnamespace = 'app'::regnamespace AND relname NOT LIKE '\\_%'"
            try await restore(database, replacing: false, "SELECT _create_type('first')")
            #expect(try await database.psql(names) == "302|t|f")
            // In one transaction it cannot be done.
            await #expect(throws: (any Error).self) { try await database.psql("DROP SCHEMA app, app_internal CASCADE") }

            // What an interrupted restore has left is in nobody's way.
            try await database.psql("CREATE SCHEMA skyrow_restoring CREATE TABLE half (id int)")
            await #expect(throws: PostgresError.self) { try await restore(database, replacing: true, "SELECT 1 / 0") }
            #expect(try await database.psql(names) == "302|t|f")
            try await restore(database, replacing: true, "SELECT _create_type('second')")
            #expect(try await database.psql(names) == "302|f|t")
            #expect(try await database.psql(Self.leftovers) == "0")

            try await withPostgresClient(database.url) { client in
                let registry = ApplicationRegistry(client: client, defaultSchema: "other", logger: .quiet)
                let shop = try ApplicationName("shop")
                try await registry.create(shop, schema: "app", adoptsSchema: true, keys: [], hosts: [], settings: [:])
                try await registry.delete(shop, dropsSchema: true)
            }
            #expect(try await database.psql("SELECT to_regnamespace('app') IS NULL") == "t")
        }
    }
}
