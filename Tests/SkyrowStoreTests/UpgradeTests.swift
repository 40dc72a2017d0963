import SkyrowModel
import SkyrowPostgres
import SkyrowProtocol
import SkyrowTestSupport
import Synchronization
import Testing

@testable import SkyrowStore

/// A new version of Skyrow on the database of an older one, whose processes still answer.
@Suite(.timeLimit(.minutes(60))) struct UpgradeTests {
    /// What the users of a version of Skyrow have saved.
    private static let saved = """
        SET search_path = app, app_internal, pg_temp;
        SELECT _create_type('note'), _create_type('writer');
        ALTER TABLE note ADD title text, ADD stars bigint, ADD writer text REFERENCES writer (_id) DEFERRABLE;
        INSERT INTO "user" (_id, username, _owner) VALUES ('ann', 'ann', 'ann');
        INSERT INTO writer (_id, _owner) VALUES ('w', 'ann');
        INSERT INTO note (_id, _owner, title, stars, writer) SELECT 'n' || i, 'ann', 'Note ' || i, i, 'w'
            FROM generate_series(1, 500) AS i;
        DELETE FROM note WHERE stars > 490;
        """

    private static let content = """
        SET search_path = app, app_internal;
        SELECT to_jsonb(r) FROM note AS r WHERE _id LIKE 'n%' ORDER BY _id;
        SELECT to_jsonb(r) FROM writer AS r;
        SELECT to_jsonb(r) FROM "user" AS r;
        """

    /// What a later version brings: a column, a function that saves call, and an index.
    private static let later = [
        Migration(
            version: Migrator().latestVersion + 1,
            name: "columns",
            script: "ALTER TABLE _role ADD COLUMN shoe_size bigint; CREATE INDEX ON _role (shoe_size)"
        ),
        Migration(
            version: Migrator().latestVersion + 2,
            name: "stamps",
            script: """
                DO $do$
                BEGIN
                    EXECUTE replace(pg_get_functiondef('_id_fits(text, text)'::regprocedure), 'BEGIN', 'BEGIN NULL;');
                END $do$
                """
        ),
    ]

    /// What the older process has done so far.
    private final class Progress: Sendable {
        private let state = Mutex((saved: 0, isUpgraded: false))

        var saved: Int {
            get { state.withLock { $0.saved } }
            set { state.withLock { $0.saved = newValue } }
        }
        var isUpgraded: Bool {
            get { state.withLock { $0.isUpgraded } }
            set { state.withLock { $0.isUpgraded = newValue } }
        }
    }

    @Test func aDatabaseIsBroughtUpWhileOthersUseIt() async throws {
        try await withTemporaryDatabaseAndPsql(template: .migrated) { database in
            try await database.psql(Self.saved)
            let before = try await database.psql(Self.content)
            let ann = Caller(kind: .user("ann"))
            let progress = Progress()
            try await withPostgresClient(database.url) { client in
                // A process of the version before.
                let old = RecordStore(
                    client: client,
                    schema: "app",
                    mode: .development,
                    rulesPatience: testPatience,
                    logger: .quiet
                )
                try await old.prepare()
                try await withRunning {
                    await old.run()
                } while: {
                    let work = Task {
                        var left = 50
                        while left > 0 {
                            if progress.isUpgraded { left -= 1 }
                            let item = SaveRequest.Item.draft(
                                draft("note/old\(progress.saved)", ["stars": .integer(7)])
                            )
                            for outcome in try await old.save([item], in: .everyone, caller: ann, atomic: false) {
                                _ = try outcome.record
                            }
                            progress.saved += 1
                        }
                    }
                    try await until { progress.saved > 10 }
                    try await withPostgresClient(database.url) { client in
                        let migrator = Migrator(migrations: Migration.all + Self.later)
                        let run = MigrationRun(client: client, schema: "app", migrator: migrator, logger: .quiet)
                        #expect(try await run() == Self.later.map { .migrate($0) })
                        progress.isUpgraded = true
                        try await work.value
                        #expect(try await run().isEmpty)
                    }
                }
            }
            #expect(try await database.psql(Self.content) == before)
            let count = try await database.psql("SELECT count(*) FROM app.note WHERE _id LIKE 'old%'")
            #expect(count == "\(progress.saved)")
        }
    }

    @Test func aTableThatOthersLockIsAskedForInShortAttempts() async throws {
        let next = Migration(
            version: Migrator().latestVersion + 1,
            name: "next",
            script: "ALTER TABLE _role ADD COLUMN extra text"
        )
        try await withTemporaryDatabaseAndPsql(template: .migrated) { database in
            func waiting() async throws -> Int? {
                try await database.locks(where: "relation = 'app_internal._role'::regclass AND NOT granted")
            }
            try await withPostgresClient(database.url) { client in
                let migrator = Migrator(migrations: Migration.all + [next])
                let run = MigrationRun(client: client, schema: "app", migrator: migrator, logger: .quiet)
                let steps = try await client.withTransaction { holder in
                    try await holder.execute("LOCK TABLE app_internal._role IN ACCESS SHARE MODE")
                    let steps = Task { try await run() }
                    // It queues up, leaves the queue to those behind it, and queues up again.
                    try await until { try await waiting() == 1 }
                    try await until { try await waiting() == 0 }
                    try await until { try await waiting() == 1 }
                    return steps
                }
                #expect(try await steps.value == [.migrate(next)])
            }
        }
    }
}
