import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowPostgres
@testable import SkyrowStore

@Suite(.timeLimit(.minutes(10))) struct BackupTests {
    private func restore(
        _ database: TemporaryDatabase,
        replacing: Bool = false,
        keepingSessions: Bool = false,
        _ script: String = ""
    ) async throws -> [Migrator.Step] {
        try await withPostgresClient(database.url) { client in
            try await SchemaRestore.restore(
                "app",
                client: client,
                replacing: replacing,
                keepingSessions: keepingSessions,
                logger: .quiet
            ) { restore in
                try await restore.run("SET search_path = app, pg_temp")
                try await restore.run(Migration.present)
                let versions = Migration.all.map { "(\($0.version), '\($0.name)')" }.joined(separator: ", ")
                try await restore.run("INSERT INTO _migration (version, name) VALUES \(versions); \(script)")
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
        ("CREATE SCHEMA app; CREATE TABLE app.mine (a text)", BackupRefusal.isNotEmpty(["mine"])),
        ("CREATE SCHEMA app; CREATE VIEW app.seen AS SELECT 1", .isNotEmpty(["seen"])),
        ("CREATE SCHEMA app; CREATE TABLE app._old (a text); INSERT INTO app._old VALUES ('x')", .isNotEmpty(["_old"])),
    ])
    func onlyAnEmptyPlaceIsFilledUnasked(statements: String, refusal: BackupRefusal?) async throws {
        try await withTemporaryDatabaseAndPsql { database in
            try await database.psql(statements)
            if let refusal {
                await #expect(throws: refusal) { try await restore(database) }
                #expect(try await database.psql("SELECT to_regclass('app._user') IS NULL") == "t")
                _ = try await restore(database, replacing: true)
            } else {
                _ = try await restore(database)
            }
            #expect(try await database.psql("SELECT count(*) FROM app._role") == "1")
        }
    }

    @Test func whatAFirstStartLeavesCountsAsNothing() async throws {
        try await withTemporaryDatabaseAndPsql(template: .migrated) { database in
            _ = try await restore(database)
            try await database.psql("INSERT INTO app.\"user\" (_id) VALUES ('ann')")
            await #expect(throws: BackupRefusal.isNotEmpty(["user"])) { try await restore(database) }
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
                try await database.psql("SELECT id, epoch FROM app._user ORDER BY id")
                    == (isKept ? "ann|7\nbob|0" : "ann|8\nbob|1")
            )
            #expect(try await database.psql("SELECT count(*) FROM app._session") == (isKept ? "1" : "0"))
            // Later changes of accounts are announced as ever.
            #expect(
                try await database.psql(
                    "SELECT tgenabled FROM pg_trigger WHERE tgrelid = 'app._user'::regclass AND tgname = '_announce'"
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
            let states = try await database.psql("SELECT name, state FROM app._index ORDER BY name")
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
        }
    }
}
