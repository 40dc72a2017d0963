import SkyrowModel
import SkyrowPostgres
import SkyrowTestSupport
import Testing

@testable import SkyrowStore

/// Access lists of a version that stored them as arrays of entries.
@Suite(.timeLimit(.minutes(10))) struct AccessListUpgradeTests {
    /// The migrations before 0017_access_lists.
    private static let older = Migration.all.filter { $0.version < 17 }

    private static let before = """
        CREATE SCHEMA app; SET search_path = app, pg_temp;
        \(older.map(\.script).joined(separator: ";\n"));
        INSERT INTO _migration (version, name) VALUES
            \(older.map { "(\($0.version), '\($0.name)')" }.joined(separator: ", "));
        SELECT _create_type('note');
        ALTER TABLE note ADD next text COLLATE "C" REFERENCES note (_id) DEFERRABLE INITIALLY DEFERRED;

        """

    /// What was stored, and what it is now.
    private static let lists: [(String?, String?)] = [
        (nil, nil), ("[]", "{}"),
        (#"[{"public": true, "level": "read"}]"#, #"{"public": "read"}"#),
        (
            #"[{"role": "a", "level": "write"}, {"user_id": "u\"1", "level": "read"}, {"owner": true, "level": "write"}]"#,
            #"{"owner": "write", "role:a": "write", "user:u\"1": "read"}"#
        ),
        (
            #"[{"role": "a", "level": "read"}, {"role": "a", "level": "write"}, {"role": "a", "level": "read"}]"#,
            #"{"role:a": "write"}"#
        ),
        (#"[{"role": "ann", "user_id": "bob", "level": "write"}]"#, #"{"role:ann": "write", "user:bob": "write"}"#),
        (#"["public", "users", 1, null, true, ["public"], {"a": 1}]"#, "{}"),
        (
            #"[{"public": "true", "level": "read"}, {"public": false, "level": "read"}, {"role": 7, "level": "read"}]"#,
            "{}"
        ),
        (
            #"[{"role": null, "level": "read"}, {"role": ["a"], "level": "read"}, {"role": "a", "level": ["read"]}]"#,
            "{}"
        ),
        (
            #"[{"role": "a"}, {"level": "read"}, {"role": "a", "level": "create"}, {"users": true, "level": "read"}]"#,
            "{}"
        ),
        (
            #"[{"role": "", "level": "read"}, {"role": "a:b", "level": "read"}]"#,
            #"{"role:": "read", "role:a:b": "read"}"#
        ),
    ]

    /// A row of each list, and a record that was deleted.
    private static let rows =
        lists.enumerated().map { place, list in
            let text = list.0.map { "'\($0)'" } ?? "NULL"
            return "INSERT INTO note (_id, _owner, _access, next) VALUES ('\(place)', 'ann', \(text), '0');"
        }.joined(separator: "\n") + """

            INSERT INTO note (_id, _access) SELECT 'gone', '[{"role": "a", "level": "read"}]';
            DELETE FROM note WHERE _id = 'gone';
            """

    private static let question = """
        SELECT string_agg(format('%s %s', _id, coalesce(_access::text, '-')), E'\\n' ORDER BY _id::int)
        FROM app.note WHERE _id <> 'long'
        """

    private static var expected: String {
        lists.enumerated().map { "\($0) \($1.1 ?? "-")" }.joined(separator: "\n")
    }

    @Test func listsBecomeObjectsAndNothingElseChanges() async throws {
        try await withTemporaryDatabaseAndPsql { database in
            try await database.psql(Self.before + Self.rows)
            try await database.psql(
                """
                ALTER TABLE app.note DROP CONSTRAINT _reserved_columns_fit;
                INSERT INTO app.note (_id, _access) SELECT 'long',
                    jsonb_agg(jsonb_build_object('user_id', 'u' || i, 'level', 'read')) FROM generate_series(1, 10001) AS i;
                ALTER TABLE app.note ADD CONSTRAINT _reserved_columns_fit
                    CHECK (app._reserved_columns_fit(_id, _database, _access)) NOT VALID;
                CREATE TABLE before AS SELECT _id, _revision, _updated_at FROM app.note
                """
            )
            try await withPostgresClient(database.url) { client in
                let store = RecordStore(client: client, schema: "app", mode: .development, logger: .quiet)
                try await store.prepare()
                #expect(try await database.psql(Self.question) == Self.expected)
                let state = try await database.psql(
                    """
                    SELECT
                        (SELECT count(*) FROM app.note JOIN before USING (_id, _revision, _updated_at)) = count(*),
                        (SELECT access FROM app._tombstone WHERE id = 'gone'),
                        (SELECT count(*) FROM app.note, jsonb_object_keys(_access) WHERE _id = 'long'),
                        (SELECT tgenabled FROM pg_trigger WHERE tgname = '_stamp' AND tgrelid = 'app.note'::regclass),
                        col_description('app.note'::regclass, 4) LIKE '%"role:editor"%'
                    FROM before
                    """
                )
                #expect(state == #"t|{"role:a": "read"}|10001|O|t"#)
                await #expect(throws: (any Error).self) {
                    try await database.psql("INSERT INTO app.note (_access) VALUES ('[]')")
                }
                // The rights are what they were.
                let reader = Caller(kind: .user("u7"), roles: ["a"])
                let ids = (0..<Self.lists.count).map { id("note/\($0)") } + [id("note/long")]
                let outcomes = try await store.fetch(ids, in: .everyone, caller: reader)
                let found = zip(ids, outcomes).filter { $1.error == nil }.map(\.0.id)
                #expect(found == ["0", "2", "3", "4", "long"])
            }
        }
    }

    @Test func aRestoreWithChecksStillToComeTakesTheSameWay() async throws {
        try await withTemporaryDatabaseAndPsql { database in
            try await database.psql(Self.before)
            let script = try #require(Migration.all.first { $0.version == 17 }).script
            try await database.psql(
                """
                BEGIN;
                SET search_path = app, pg_temp;
                SET CONSTRAINTS ALL DEFERRED;
                \(Self.rows)
                \(script);
                COMMIT
                """
            )
            #expect(try await database.psql(Self.question) == Self.expected)
        }
    }

    @Test func aTriggerThatWasSwitchedOffStaysSo() async throws {
        try await withTemporaryDatabaseAndPsql { database in
            try await database.psql(Self.before + Self.rows + "ALTER TABLE note DISABLE TRIGGER _stamp;")
            try await withPostgresClient(database.url) { client in
                try await RecordStore(client: client, schema: "app", mode: .development, logger: .quiet).prepare()
            }
            #expect(try await database.psql(Self.question) == Self.expected)
            let state = try await database.psql(
                "SELECT tgenabled FROM pg_trigger WHERE tgname = '_stamp' AND tgrelid = 'app.note'::regclass"
            )
            #expect(state == "D")
        }
    }
}
