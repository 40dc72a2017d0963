import SkyrowPostgres
import SkyrowStore
import SkyrowTestSupport
import Testing

/// What `sql/schema.sql` promises to those who use psql, with psql as the only witness.
@Suite struct SchemaLayoutTests {
    /// A type `movie` with a `title` and a `director`, in a fresh schema.
    private func withMovies(test: String = #function, _ body: (Psql) async throws -> Void) async throws {
        try await withTemporaryDatabaseAndPsql(template: Self.movies, test: test) { database in
            try await body(Psql(database: database))
        }
    }

    private static let movies = DatabaseTemplate(key: "movies") { url in
        try await withPostgresClient(url) { client in
            for script in [
                "CREATE SCHEMA app; CREATE SCHEMA app_internal; \(searchPath); \(Migration.present)",
                """
                \(searchPath);
                SELECT _create_type('director'), _create_type('movie');
                ALTER TABLE director ADD COLUMN name text;
                ALTER TABLE movie ADD COLUMN title text, ADD COLUMN director text REFERENCES director (_id);
                """,
            ] {
                try await client.withTransaction { try await $0.executeScript(SQL(trustedText: script)) }
            }
        }
    }

    private static let searchPath = "SET LOCAL search_path = app, app_internal, pg_temp"

    struct Psql {
        let database: TemporaryDatabase

        @discardableResult
        func callAsFunction(_ statements: String) async throws -> String {
            try await database.psql("SET search_path = app, app_internal;\n\(statements)")
        }
    }

    @Test func aPlainInsertIsAPublicRecord() async throws {
        try await withMovies { psql in
            try await psql("INSERT INTO movie (title) VALUES ('Alien')")
            let row = try await psql(
                """
                SELECT _id ~ '^[0-9a-f-]{36}$', _database, _owner IS NULL, _access IS NULL,
                    _created_at = _updated_at, _created_by IS NULL, _revision > 0, title FROM movie
                """
            )
            #expect(row == "t|_public|t|t|t|t|t|Alien")
        }
    }

    struct Row: Sendable, CustomTestStringConvertible {
        var id: String
        var database: String
        var fits: Bool

        init(_ id: String, _ database: String, fits: Bool) {
            self.id = id
            self.database = database
            self.fits = fits
        }

        var testDescription: String { "\(id) in \(database)" }
    }

    @Test func idsFitTheirDatabase() async throws {
        try await withMovies { psql in
            for row in [
                Row("9", "_public", fits: true), Row("a/b", "_public", fits: true),
                Row(String(repeating: "x", count: 255), "_public", fits: true),
                Row(String(repeating: "x", count: 256), "_public", fits: false),
                Row("", "_public", fits: false), Row("~9", "_public", fits: false),
                Row("~u1/9", "_public", fits: false),
                Row("~u1/9", "u1", fits: true), Row("~u1/a/b", "u1", fits: true), Row("~a%/9", "a%", fits: true),
                Row("~u1/" + String(repeating: "x", count: 255), "u1", fits: true),
                Row("~u1/" + String(repeating: "x", count: 256), "u1", fits: false),
                Row("9", "u1", fits: false), Row("~u2/9", "u1", fits: false), Row("~u1/", "u1", fits: false),
                Row("~u1", "u1", fits: false), Row("~a/b/9", "a/b", fits: false),
                Row("~a%2Fb/9", "a/b", fits: false),
                Row("~_x/9", "_x", fits: false), Row("~/9", "", fits: false),
            ] {
                let insert = "INSERT INTO movie (_id, _database) VALUES ('\(row.id)', '\(row.database)')"
                if row.fits {
                    try await psql(insert)
                } else {
                    let error = await #expect(throws: (any Error).self) { try await psql(insert) }
                    #expect(
                        error.map { "\($0)".contains("_id_fits") || "\($0)".contains("_database_fits") } ?? false,
                        "\(row)"
                    )
                }
            }
        }
    }

    @Test func anAccessListIsAnObjectOfLevels() async throws {
        try await withMovies { psql in
            for list in [
                "{}", #"{"public": "read"}"#,
                #"{"role:a": "write", "user:b": "update", "group:c": "delete", "odd": "read"}"#,
            ] {
                try await psql("INSERT INTO movie (_access) VALUES ('\(list)')")
            }
            for value in [
                "[]", "null", #""public""#, "5", #"["public"]"#, #"[{"public": true, "level": "read"}]"#,
                #"{"public": true}"#, #"{"public": null}"#, #"{"public": ["read"]}"#, #"{"public": {"a": "read"}}"#,
                #"{"public": "Read"}"#, #"{"public": "create"}"#, #"{"public": ""}"#, #"{"public": 1}"#,
                #"{"role:a": "read", "public": "admin"}"#,
            ] {
                await #expect(throws: (any Error).self, "\(value)") {
                    try await psql("INSERT INTO movie (_access) VALUES ('\(value)')")
                }
            }
        }
    }

    @Test func anUpdateByHandIsStamped() async throws {
        try await withMovies { psql in
            try await psql("INSERT INTO movie (_id, title) VALUES ('1', 'Alien')")
            let before = try await psql("SELECT _revision, _updated_at FROM movie")
            try await psql("UPDATE movie SET title = 'Aliens'")
            let check = try await psql(
                """
                SELECT _revision > \(before.prefix { $0 != "|" }), _updated_at > _created_at,
                    _updated_at = '2000-01-01' FROM movie
                """
            )
            #expect(check == "t|t|f")
            try await psql("UPDATE movie SET _updated_at = '2000-01-01'")
            #expect(try await psql("SELECT _updated_at = '2000-01-01' FROM movie") == "t")
        }
    }

    @Test func anUpdateThatSetsTheRevisionCallsNoTrigger() async throws {
        try await withMovies { psql in
            try await psql("INSERT INTO movie (_id) VALUES ('1')")
            let plan = try await psql(
                """
                EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF)
                UPDATE movie SET title = 'x', _revision = _revision()
                """
            )
            #expect(!plan.contains("_stamp"))
            let byHand = try await psql("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) UPDATE movie SET title = 'y'")
            #expect(byHand.contains("_stamp"))
        }
    }

    @Test func everyWayToDeleteLeavesATombstone() async throws {
        try await withMovies { psql in
            try await psql(
                """
                INSERT INTO movie (_id, _database, _owner, _access) VALUES
                    ('1', '_public', 'ann', '{}'), ('2', '_public', NULL, NULL), ('~ann/3', 'ann', 'ann', NULL),
                    ('4', '_public', NULL, NULL), ('5', '_public', NULL, NULL);
                DELETE FROM movie WHERE _id IN ('1', '2');
                UPDATE movie SET _id = '6' WHERE _id = '5';
                WITH gone AS (DELETE FROM movie WHERE _id = '6' RETURNING _id) SELECT FROM gone;
                TRUNCATE movie;
                """
            )
            let tombstones = try await psql(
                "SELECT type, id, database, owner, access, revision > 0 FROM _tombstone ORDER BY id"
            )
            let expected = """
                movie|1|_public|ann|{}|t
                movie|2|_public|||t
                movie|4|_public|||t
                movie|5|_public|||t
                movie|6|_public|||t
                movie|~ann/3|ann|ann||t
                """
            #expect(tombstones == expected)
        }
    }

    @Test func aTombstoneIsNewerThanItsRecord() async throws {
        try await withMovies { psql in
            try await psql("INSERT INTO movie (_id) VALUES ('1')")
            let written = try await psql("SELECT _revision FROM movie")
            try await psql("DELETE FROM movie")
            #expect(try await psql("SELECT revision > \(written) FROM _tombstone") == "t")
        }
    }

    @Test func aRecordDeletedTwiceInOneTransactionHasOneTombstone() async throws {
        try await withMovies { psql in
            try await psql(
                """
                BEGIN;
                INSERT INTO movie (_id) VALUES ('1'); DELETE FROM movie;
                INSERT INTO movie (_id) VALUES ('1'); DELETE FROM movie;
                COMMIT;
                """
            )
            #expect(try await psql("SELECT count(*) FROM _tombstone") == "1")
        }
    }

    @Test func revisionsGrowAfterARestoreIntoAnotherCluster() async throws {
        try await withMovies { psql in
            try await psql("INSERT INTO movie (_id) VALUES ('1')")
            let old = try await psql("SELECT _revision FROM movie")
            // A cluster whose transaction ids have just begun: the highest stored revision is far ahead of them.
            try await psql("UPDATE movie SET _revision = 5000000000; SELECT _rebase_revisions()")
            try await psql("INSERT INTO movie (_id) VALUES ('2')")
            // What the database it is a copy of has stamped since is not stamped again, and doubles hold it.
            let check = try await psql(
                """
                SELECT _revision > 5000000000, _revision > \(old), _revision < 1::bigint << 53,
                    _revision >= (extract(epoch FROM now()) * 1000)::bigint - 1577836860000 << 11
                FROM movie WHERE _id = '2'
                """
            )
            #expect(check == "t|t|t|t")
        }
    }

    @Test func everythingHasAComment() async throws {
        try await withMovies { psql in
            try await psql("DROP TABLE movie, director")
            let bare = try await psql(
                """
                SELECT relname, attname FROM pg_class LEFT JOIN pg_attribute ON attrelid = pg_class.oid
                    AND attnum > 0 AND NOT attisdropped AND col_description(attrelid, attnum) IS NULL
                WHERE relnamespace IN ('app'::regnamespace, 'app_internal'::regnamespace) AND relkind IN ('r', 'v')
                    AND (attname IS NOT NULL OR obj_description(pg_class.oid, 'pg_class') IS NULL)
                UNION ALL
                SELECT proname, NULL FROM pg_proc
                WHERE pronamespace = 'app'::regnamespace AND obj_description(oid, 'pg_proc') IS NULL
                """
            )
            #expect(bare == "")
        }
    }

    /// Each row: what a client asks for, as the store compiles it, and the index that must answer it.
    @Test func thePrimaryQueriesHaveAnIndex() async throws {
        try await withMovies { psql in
            try await psql(
                """
                INSERT INTO movie (_id, _database, _owner)
                SELECT CASE WHEN i % 2 = 0 THEN i::text ELSE '~u' || i % 100 || '/' || i END,
                    CASE WHEN i % 2 = 0 THEN '_public' ELSE 'u' || i % 100 END, 'u' || i % 100
                FROM generate_series(1, 20000) AS i;
                ANALYZE movie;
                """
            )
            for (condition, index) in [
                ("_id = '1' AND _database = '_public'", "movie_pkey"),
                ("_database = '_public' ORDER BY _created_at DESC LIMIT 20", "movie__database__created_at_idx"),
                ("_database = 'u7' ORDER BY _created_at DESC LIMIT 20", "movie__database__created_at_idx"),
                (
                    "_database = '_public' AND _owner = 'u8' ORDER BY _created_at DESC LIMIT 20",
                    "movie__owner__created_at_idx"
                ),
            ] {
                let plan = try await psql("EXPLAIN (COSTS OFF) SELECT * FROM movie WHERE \(condition)")
                #expect(plan.contains(index), "\(condition)")
            }
        }
    }

    @Test func aRoleThatMayDeleteLeavesTombstonesToo() async throws {
        try await withMovies { psql in
            let role = "clerk_\(psql.database.name)".prefix(63)
            try await psql(
                """
                INSERT INTO movie (_id) VALUES ('1');
                CREATE ROLE \(role);
                GRANT USAGE ON SCHEMA app TO \(role);
                GRANT SELECT, DELETE ON movie TO \(role);
                SET ROLE \(role);
                DELETE FROM movie;
                RESET ROLE;
                DROP OWNED BY \(role);
                DROP ROLE \(role);
                """
            )
            #expect(try await psql("SELECT id FROM _tombstone") == "1")
        }
    }

    @Test func namesThatAreNoTypeAreRefused() async throws {
        try await withMovies { psql in
            for name in [
                "_auth", "1note", "no te", "", "note\"; DROP TABLE movie; --", String(repeating: "x", count: 64),
            ] {
                let error = await #expect(throws: (any Error).self) {
                    try await psql("SELECT _create_type($name$\(name)$name$)")
                }
                #expect(error.map { "\($0)".contains("A record type name must be") } ?? false, "\(name)")
            }
        }
    }

    @Test func deletingAProfileEndsTheAccount() async throws {
        try await withMovies { psql in
            try await psql(
                """
                INSERT INTO "user" (_id, username) VALUES ('ann', 'Ann');
                INSERT INTO _user (id) VALUES ('ann');
                INSERT INTO _session (token_hash, user_id) VALUES ('x', 'ann');
                INSERT INTO _user_role (user_id, role) VALUES ('ann', 'Admin');
                DELETE FROM "user";
                """
            )
            let left = try await psql("SELECT (SELECT count(*) FROM _user), (SELECT count(*) FROM _session)")
            #expect(left == "0|0")
        }
    }

    @Test(arguments: [("Ann", "ANN"), ("J\u{f6}rg", "jo\u{308}rg")])
    func loginKeysAreUniqueWhateverTheirCase(_ first: String, _ second: String) async throws {
        try await withMovies { psql in
            try await psql("INSERT INTO \"user\" (username, email) VALUES ('\(first)', '\(first)@example.org')")
            await #expect(throws: (any Error).self) {
                try await psql("INSERT INTO \"user\" (username) VALUES ('\(second)')")
            }
            await #expect(throws: (any Error).self) {
                try await psql("INSERT INTO \"user\" (email) VALUES ('\(second)@EXAMPLE.org')")
            }
        }
    }
}
