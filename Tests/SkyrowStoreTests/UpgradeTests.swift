import SkyrowModel
import SkyrowPostgres
import SkyrowTestSupport
import Synchronization
import Testing

@testable import SkyrowStore

/// A new version of Skyrow on the database of an older one, whose processes still answer.
@Suite(.timeLimit(.minutes(10))) struct UpgradeTests {
    /// The reserved tables as a version of Skyrow left them, and what its users had saved by then.
    private static func release(_ version: Int) -> String {
        let scripts = Migration.all.filter { $0.version <= version }
        let versions = scripts.map { "(\($0.version), '\($0.name)')" }.joined(separator: ", ")
        return """
            CREATE SCHEMA app; SET search_path = app, pg_temp;
            \(scripts.map(\.script).joined(separator: ";\n"));
            INSERT INTO _migration (version, name) VALUES \(versions);
            SELECT _create_type('note'), _create_type('writer');
            ALTER TABLE note ADD title text, ADD stars bigint, ADD writer text REFERENCES writer (_id) DEFERRABLE;
            CREATE INDEX ON note (stars);
            INSERT INTO _role (name) VALUES ('editor');
            INSERT INTO "user" (_id, username, _owner) VALUES ('ann', 'ann', 'ann');
            INSERT INTO _user (id, password_hash) VALUES ('ann', 'scrypt$x');
            INSERT INTO _session (token_hash, user_id, created_at) VALUES ('revoked', 'ann', now() - interval '2 hours');
            UPDATE _user SET token_valid_since = now() - interval '1 hour';
            INSERT INTO _session (token_hash, user_id, created_at) VALUES ('valid', 'ann', now());
            INSERT INTO _user_role (user_id, role) VALUES ('ann', 'editor');
            INSERT INTO writer (_id, _owner) VALUES ('w', 'ann');
            INSERT INTO note (_id, _owner, title, stars, writer) SELECT 'n' || i, 'ann', 'Note ' || i, i, 'w'
                FROM generate_series(1, 500) AS i;
            DELETE FROM note WHERE stars > 490;
            """
    }

    /// Everything there is, but what a running service adds.
    private static let content = """
        SET search_path = app;
        SELECT to_jsonb(r) FROM note AS r WHERE _id LIKE 'n%' ORDER BY _id;
        SELECT to_jsonb(r) FROM writer AS r;
        SELECT to_jsonb(r) FROM "user" AS r;
        SELECT to_jsonb(r) - 'epoch' - 'default_access' - 'verified_email' - 'second_factor' - 'password_changed_at'
            FROM _user AS r;
        SELECT name, by_default, is_admin FROM _role AS r ORDER BY name;
        SELECT to_jsonb(r) FROM _user_role AS r;
        SELECT to_jsonb(r) - 'kind' - 'members' FROM _tombstone AS r ORDER BY id;
        """

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

    @Test(arguments: Migration.all.map(\.version))
    func aDatabaseOfAnyVersionIsBroughtUpWhileOthersUseIt(from version: Int) async throws {
        try await withTemporaryDatabaseAndPsql { database in
            try await database.psql(Self.release(version))
            let before = try await database.psql(Self.content)
            let ann = Caller(kind: .user("ann"))
            let progress = Progress()
            try await withPostgresClient(database.url) { client in
                // A process that was there before: it makes no steps of its own.
                let old = RecordStore(
                    client: client,
                    schema: "app",
                    mode: .development,
                    rulesCheckInterval: nil,
                    logger: .quiet
                )
                try await old.cache.reload()
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
                        let new = RecordStore(client: client, schema: "app", mode: .development, logger: .quiet)
                        try await new.prepare()
                        progress.isUpgraded = true
                        try await work.value
                        #expect(new.cache.current[type("note")]?.columns.count == 3)
                        #expect(try await new.sessions.session(tokenHash: Array("valid".utf8)) != nil)
                        #expect(try await new.sessions.session(tokenHash: Array("revoked".utf8)) == nil)
                        #expect(try await MigrationRun(client: client, schema: "app", logger: .quiet)().isEmpty)
                    }
                }
            }
            #expect(try await database.psql(Self.content) == before)
            let count = try await database.psql("SELECT count(*) FROM app.note WHERE _id LIKE 'old%'")
            #expect(count == "\(progress.saved)")
            let versions = try await database.psql("SELECT version FROM app._migration ORDER BY 1")
            #expect(versions == Migration.all.map { "\($0.version)" }.joined(separator: "\n"))
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
                try await database.locks(where: "relation = 'app._role'::regclass AND NOT granted")
            }
            try await withPostgresClient(database.url) { client in
                let migrator = Migrator(migrations: Migration.all + [next])
                let run = MigrationRun(client: client, schema: "app", migrator: migrator, logger: .quiet)
                let steps = try await client.withTransaction { holder in
                    try await holder.execute("LOCK TABLE app._role IN ACCESS SHARE MODE")
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
