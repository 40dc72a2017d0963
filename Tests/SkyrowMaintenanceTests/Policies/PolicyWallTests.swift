import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowPostgres
@testable import SkyrowStore

/// What a database login tries in order to get around its policies.
@Suite(.timeLimit(.minutes(60))) struct PolicyWallTests {
    /// A record of each user that the other does not see, one of ann's for all, a private one, and a field for ann's eyes.
    private static func fill(_ f: PolicyFixture) async throws {
        try await f.psql(
            """
            INSERT INTO category (_id, _owner, _access, name) VALUES ('open', 'ann', NULL, 'open'), ('closed', 'bob', '{}', 'x');
            INSERT INTO note (_id, _owner, _access, title, stars) VALUES
                ('a', 'ann', '{}', 'mine', 1), ('b', 'bob', '{}', 'secret', 2), ('c', 'bob', '{"public": "update"}', 'shared', 3);
            INSERT INTO note (_id, _database, _owner, title) VALUES ('~bob/p', 'bob', 'bob', 'private');
            INSERT INTO _field_rule VALUES ('note', 'stars', 'read', '{owner}');
            UPDATE _user SET password_hash = 'scrypt$' || id;
            ANALYZE note
            """
        )
    }

    /// What ann's login runs, and what it gets.
    private static let answers: [(String, String)] = [
        ("SELECT _id FROM note ORDER BY _id", "a\nc"),
        ("SELECT _id, stars FROM app_visible.note ORDER BY _id", "a|1\nc|"),
        ("SELECT count(*) FROM app_visible.note WHERE stars IS NOT NULL", "1"),
        ("SELECT session_user = 'x', app._me()", "f|ann"),
        ("SELECT app._audience()", "{public,users,user:ann,registered}"),
        // No setting makes another user of it.
        ("SET app.me = 'bob'; SET skyrow.user_id = 'bob'; SELECT app._me()", "ann"),
        ("SELECT set_config('session_authorization', current_user, false) IS NOT NULL, app._me()", "t|ann"),
        // Statistics and other views of the catalogue hold values of rows.
        ("SELECT count(*) FROM pg_stats WHERE schemaname ~ '^app' AND tablename IN ('note', '_user')", "0"),
        ("SELECT count(*) FROM pg_stats_ext", "0"),
        ("SELECT title FROM note WHERE _id = 'b' OR title = 'secret'", ""),
        ("COPY note (_id, title) TO STDOUT", "a\tmine\nc\tshared"),
        ("COPY (SELECT _id FROM app_visible.note ORDER BY 1) TO STDOUT", "a\nc"),
        // What a function of its own is shown.
        (
            """
            CREATE TEMP TABLE seen (title text);
            CREATE FUNCTION pg_temp.look(text) RETURNS boolean LANGUAGE plpgsql COST 0.0000001
                AS 'BEGIN INSERT INTO seen VALUES ($1); RETURN true; END';
            SELECT FROM note WHERE pg_temp.look(title);
            SELECT FROM app_visible.note WHERE pg_temp.look(title) AND pg_temp.look(stars::text);
            SELECT DISTINCT title FROM seen WHERE title IS NOT NULL ORDER BY title
            """,
            "\n\n\n\n1\nmine\nshared"
        ),
        // An operator of its own, in a schema that is searched first.
        (
            """
            CREATE FUNCTION pg_temp.yes(text, text) RETURNS boolean LANGUAGE sql AS 'SELECT true';
            CREATE OPERATOR pg_temp.= (LEFTARG = text, RIGHTARG = text, FUNCTION = pg_temp.yes);
            SET search_path = pg_temp, app, pg_catalog;
            SELECT app._me(), count(*) FROM note;
            """,
            "ann|2"
        ),
        (
            "CREATE TEMP TABLE _database_login AS SELECT session_user AS role, 'bob'::text AS user_id; SELECT app._me()",
            "ann"
        ),
        ("UPDATE note SET title = 'x' WHERE _id IN ('b', '~bob/p') RETURNING _id", ""),
        ("DELETE FROM note WHERE _id IN ('b', 'c', '~bob/p') RETURNING _id", ""),
        ("SELECT _id FROM note WHERE _id = 'a' FOR UPDATE", "a"),
        ("SELECT _id FROM note WHERE _id = 'b' FOR UPDATE", ""),
    ]

    @Test func aLoginIsAnsweredWithWhatItsUserMaySee() async throws {
        try await withPolicies { f in
            try await Self.fill(f)
            try await f.apply()
            for (statement, expected) in Self.answers {
                let answer = try await f.sql("ann", statement)
                #expect(answer == expected.trimmingNewlines, "\(statement)")
            }
            // They are there for the one whose they are, and for the service.
            #expect(try await f.sql("bob", "SELECT string_agg(_id, ' ' ORDER BY _id) FROM note") == "b c ~bob/p")
            #expect(try await f.psql("SELECT count(*) FROM note") == "4")
        }
    }

    /// Questions of ann's login about a value, one that a hidden record has and one that none has, and whether EXPLAIN tells them apart:
    /// Documentation/Security.md says what it does.
    private static let explained: [(question: String, hidden: String, absent: String, isTold: Bool)] = [
        // Fields that ann does not see, in rows that she does not see.
        ("SELECT FROM app_visible.note WHERE stars = %", "77777777", "88888888", false),
        ("SELECT FROM app_visible.note WHERE stars > %", "77777776", "88888888", false),
        ("SELECT FROM app_visible.note WHERE stars = % AND _id = 'c'", "77777777", "88888888", false),
        // Comparisons that might say in an error what they have seen are made behind the policy.
        ("SELECT FROM note WHERE title LIKE %", "'secre%'", "'nobody'", false),
        ("SELECT FROM note WHERE title ~ %", "'^secr'", "'^nobo'", false),
        // All others use indexes and statistics before it, and so do patterns of a whole value.
        ("SELECT FROM note WHERE title ~ %", "'^secret$'", "'^nobody$'", true),
        ("SELECT FROM note WHERE _id = %", "'b'", "'nobody'", true),
        ("SELECT FROM note WHERE _owner = %", "'bob'", "'nobody'", true),
    ]

    @Test func whatExplainTellsIsWhatTheManualSays() async throws {
        try await withPolicies { f in
            try await Self.fill(f)
            // Enough for statistics, and for indexes to be used.
            try await f.psql(
                """
                INSERT INTO note (_id, _owner, _access, title, stars)
                SELECT 'more' || number, 'bob', '{}', 'secret', 77777777 FROM generate_series(1, 2000) AS number;
                UPDATE note SET stars = 77777777 WHERE _id = 'c';
                ANALYZE note
                """
            )
            try await f.apply()
            for row in Self.explained {
                var plans: [String] = []
                for value in [row.hidden, row.absent] {
                    let question = row.question.replacing("%", with: value)
                    let plan = try await f.sql(
                        "ann",
                        """
                        SET enable_seqscan = off;
                        EXPLAIN (ANALYZE, TIMING off, SUMMARY off, BUFFERS off) \(question);
                        EXPLAIN \(question)
                        """
                    )
                    plans.append(plan.replacing(value.replacing("'", with: ""), with: "%"))
                }
                #expect((plans[0] != plans[1]) == row.isTold, "\(row.question)\n\(plans.joined(separator: "\n"))")
            }
        }
    }

    /// What ann's login runs, and what it is refused with.
    private static let refusals: [(String, String)] = [
        ("SET ROLE postgres", "permission denied"),
        ("SET SESSION AUTHORIZATION postgres", "permission denied"),
        ("SET row_security = off; SELECT _id FROM note", "row-level security"),
        ("SELECT stars FROM note", "permission denied"),
        ("SELECT * FROM note", "permission denied"),
        ("SELECT xmin FROM note", "permission denied"),
        ("UPDATE note SET title = 'x' WHERE stars = 1", "permission denied"),
        ("SELECT password_hash FROM app_internal._user", "permission denied"),
        ("SELECT * FROM app_internal._session", "permission denied"),
        ("SELECT * FROM app_internal._secret", "permission denied"),
        ("SELECT * FROM app_internal._audit", "permission denied"),
        ("SELECT * FROM app_internal._relation", "permission denied"),
        ("SELECT * FROM app_internal._tombstone", "permission denied"),
        ("SELECT * FROM app_internal._database_login", "permission denied"),
        ("INSERT INTO app_internal._database_login VALUES (session_user, 'bob')", "permission denied"),
        ("SELECT email FROM \"user\"", "permission denied"),
        ("SELECT _verified FROM \"user\"", "permission denied"),
        ("SELECT _id FROM \"user\" WHERE _verified", "permission denied"),
        ("UPDATE \"user\" SET _verified = true WHERE _id = 'ann'", "permission denied"),
        ("UPDATE \"user\" SET username = 'x' WHERE _id = 'ann'", "permission denied"),
        ("INSERT INTO \"user\" (_id) VALUES ('carl')", "permission denied"),
        ("DELETE FROM \"user\" WHERE _id = 'ann'", "permission denied"),
        ("TRUNCATE note", "permission denied"),
        ("ALTER TABLE note DISABLE ROW LEVEL SECURITY", "must be owner"),
        ("CREATE POLICY more ON note USING (true)", "must be owner"),
        ("CREATE TABLE app.mine (a text)", "permission denied"),
        ("CREATE FUNCTION app.mine() RETURNS text LANGUAGE sql AS 'SELECT 1::text'", "permission denied"),
        ("COPY note (_id) FROM STDIN;\nx\n\\.", "row-level security"),
        ("COPY note (_id) TO '/tmp/x'", "must be superuser"),
        // Who may have a function of the owner's fired by a table of its own may have it do anything.
        (
            """
            CREATE TEMP TABLE note (_id text, _database text, _owner text, _access jsonb);
            CREATE TRIGGER t AFTER DELETE ON pg_temp.note REFERENCING OLD TABLE AS deleted_row
                FOR EACH STATEMENT EXECUTE FUNCTION app._tombstone_deleted()
            """,
            "permission denied for function app._tombstone_deleted"
        ),
        (
            """
            CREATE TEMP TABLE note (_access jsonb);
            CREATE TRIGGER t AFTER INSERT ON pg_temp.note FOR EACH ROW EXECUTE FUNCTION app._note_relation_entry()
            """,
            "permission denied for function app._note_relation_entry"
        ),
        ("SELECT app._set_revision_offset(9)", "_meta"),
        ("SELECT * FROM _users", "permission denied for view _users"),
        ("SELECT * FROM _sessions", "permission denied for view _sessions"),
        // By its rows requests for mails wait for each other.
        ("SELECT FROM app_internal._throttle FOR UPDATE", "permission denied"),
        ("BEGIN; LOCK TABLE app_internal._throttle IN ROW SHARE MODE", "permission denied"),
        ("INSERT INTO note (_id, _owner) VALUES ('n', 'bob')", "row-level security"),
        ("INSERT INTO note (_id, _database, _owner) VALUES ('~bob/n', 'bob', 'ann')", "row-level security"),
        ("INSERT INTO note (_id, _created_by) VALUES ('n', 'bob')", "permission denied"),
        ("INSERT INTO note (_id, _revision) VALUES ('n', 1)", "permission denied"),
        ("INSERT INTO note (_id, category) VALUES ('n', 'closed')", "row-level security"),
        ("UPDATE note SET category = 'closed' WHERE _id = 'a'", "You may not set category"),
        ("UPDATE note SET _owner = 'bob' WHERE _id = 'a'", "permission denied"),
        ("UPDATE note SET _database = 'ann', _id = '~ann/a' WHERE _id = 'a'", "permission denied"),
        ("UPDATE note SET _access = '{\"users\": \"write\"}' WHERE _id = 'c'", "You may not set _access"),
        ("UPDATE note SET _updated_by = 'bob' WHERE _id = 'a'", "permission denied"),
    ]

    @Test func whatGetsAroundThePoliciesIsRefused() async throws {
        try await withPolicies { f in
            try await Self.fill(f)
            try await f.apply()
            let tables = "SELECT md5(string_agg(r::text, ',' ORDER BY r._id)) FROM note AS r"
            let before = try await f.psql(tables)
            for (statement, reason) in Self.refusals {
                let refusal = try await f.refusal("ann", statement)
                #expect(refusal.contains(reason), "\(statement): \(refusal)")
            }
            #expect(try await f.psql(tables) == before)
            #expect(try await f.psql("SELECT count(*) FROM _tombstone") == "0")
        }
    }

    /// What gives all tables of a schema to a role gives it the views of the reserved tables, too.
    @Test func theViewsOfReservedTablesAreOpenToNoLogin() async throws {
        try await withPolicies { f in
            try await Self.fill(f)
            try await f.apply()
            let views = try await f.psql(
                "SELECT relname FROM pg_class WHERE relnamespace = 'app'::regnamespace AND relkind = 'v' ORDER BY 1"
            ).split(separator: "\n")
            #expect(views.count > 10)
            for view in views {
                let refusal = try await f.refusal("ann", "SELECT * FROM \(view)")
                #expect(refusal.contains("permission denied for view \(view)"), "\(refusal)")
            }
            try await f.psql("GRANT SELECT ON ALL TABLES IN SCHEMA app TO \"\(f.role("ann"))\"")
            for view in views {
                for statement in ["SELECT count(*) FROM \(view)", "SELECT * FROM \(view) WHERE pg_sleep(0) IS NULL"] {
                    let refusal = try await f.refusal("ann", statement)
                    #expect(refusal.contains("A role that stands for a user may not read the views"), "\(refusal)")
                }
            }
            // Those who look after the policies hear of it, and applying them takes the rights away.
            let differences = try await f.store.policyDifferences().differences
            #expect(differences.contains { $0.contains("_users") }, "\(differences)")
            try await f.apply()
            #expect(
                try await f.refusal("ann", "SELECT count(*) FROM _users").contains("permission denied for view _users")
            )
            // A role for reports does not represent a user.
            let reports = f.role("reports")
            try await f.psql(
                """
                CREATE ROLE "\(reports)" LOGIN; GRANT USAGE ON SCHEMA app TO "\(reports)";
                GRANT SELECT ON _sessions, _users TO "\(reports)"
                """
            )
            #expect(try await f.sql("reports", "SELECT id, has_password FROM _users ORDER BY id") == "ann|t\nbob|t")
            #expect(
                try await f.refusal("reports", "SELECT id FROM app_internal._user").contains(
                    "permission denied for schema"
                )
            )
            try await f.psql("DROP OWNED BY \"\(reports)\"; DROP ROLE \"\(reports)\"")
        }
    }

    @Test func aLoginSeesWhetherTheAddressOfItsUserIsVerified() async throws {
        try await withPolicies { f in
            try await Self.fill(f)
            try await f.psql(
                """
                UPDATE "user" SET email = _id || '@example.org';
                UPDATE _user SET verified_email = id || '@example.org' WHERE id IN ('ann', 'bob')
                """
            )
            try await f.apply()
            let seen = try await f.sql(
                "ann",
                "SELECT _id, _verified, email FROM app_visible.\"user\" WHERE _id IN ('ann', 'bob') ORDER BY _id"
            )
            #expect(seen == "ann|t|ann@example.org\nbob||")
            #expect(try await f.sql("ann", "SELECT _id FROM app_visible.\"user\" WHERE _verified") == "ann")
        }
    }

    @Test func whatALoginWritesIsSigned() async throws {
        try await withPolicies { f in
            try await Self.fill(f)
            try await f.psql(
                "INSERT INTO _class_option (type, default_access) VALUES ('note', '{\"user:bob\": \"read\"}')"
            )
            try await f.apply()
            try await f.sql(
                "ann",
                """
                INSERT INTO note (_id, title, category) VALUES ('n', 'x', 'open');
                INSERT INTO note (_id, _access) VALUES ('closed', '{}');
                INSERT INTO note (_id, _database, _owner) VALUES ('~ann/n', 'ann', 'ann');
                UPDATE note SET title = 'changed' WHERE _id = 'c'
                """
            )
            let written =
                "SELECT _id, _owner, _created_by, _updated_by, _access FROM note WHERE _updated_by = 'ann' ORDER BY _id"
            #expect(
                try await f.psql(written) == """
                    c|bob||ann|{"public": "update"}
                    closed|ann|ann|ann|{}
                    n|ann|ann|ann|{"user:bob": "read"}
                    ~ann/n|ann|ann|ann|
                    """
            )
            // A user's own list goes first.
            try await f.psql("UPDATE _user SET default_access = '{}' WHERE id = 'ann'")
            try await f.sql("ann", "INSERT INTO note (_id) VALUES ('own')")
            #expect(try await f.psql("SELECT _access FROM note WHERE _id = 'own'") == "{}")
            // The service writes as before, and signs with its own.
            try await f.records.save("note/saved", ["title": .string("x")], .bob)
            #expect(try await f.psql("SELECT _created_by, _updated_by FROM note WHERE _id = 'saved'") == "bob|bob")
            // As does psql, which is no login.
            try await f.psql("UPDATE note SET title = 'y' WHERE _id = 'saved'; INSERT INTO note (_id) VALUES ('bare')")
            #expect(
                try await f.psql("SELECT _owner IS NULL AND _created_by IS NULL FROM note WHERE _id = 'bare'") == "t"
            )
        }
    }

    @Test func rightsEndWithTheNextStatement() async throws {
        try await withPolicies { f in
            try await Self.fill(f)
            try await f.psql(
                """
                INSERT INTO _role (name) VALUES ('staff'), ('chief'); INSERT INTO _role_role (role, member) VALUES ('staff', 'chief');
                INSERT INTO _user_role VALUES ('ann', 'chief');
                INSERT INTO _field_rule VALUES ('note', 'title', 'read', '{role:staff}');
                UPDATE note SET _access = '{"role:staff": "read"}' WHERE _id = 'b'
                """
            )
            try await f.apply()
            let question = "SELECT _id, title FROM app_visible.note ORDER BY _id"
            #expect(try await f.sql("ann", question) == "a|mine\nb|secret\nc|shared")
            try await f.psql("DELETE FROM _user_role")
            #expect(try await f.sql("ann", question) == "a|\nc|")
            try await f.psql(
                "INSERT INTO _user_role VALUES ('ann', 'chief'); UPDATE _user SET disabled = true WHERE id = 'ann'"
            )
            #expect(try await f.sql("ann", question) == "")
            let refusal = try await f.refusal("ann", "INSERT INTO note (_id) VALUES ('n')")
            #expect(refusal.contains("row-level security"))
            try await f.psql("UPDATE _user SET disabled = false")
            #expect(try await f.sql("ann", question) == "a|mine\nb|secret\nc|shared")
            // A login whose account is gone stands for no one.
            try await f.psql("DELETE FROM _database_login WHERE user_id = 'ann'")
            #expect(try await f.sql("ann", question) == "")
        }
    }

    @Test func aTypeWhoseRulesHaveChangedIsClosedUntilPoliciesAreMadeAnew() async throws {
        try await withPolicies { f in
            try await Self.fill(f)
            try await f.apply()
            #expect(try await f.sql("ann", "SELECT count(*) FROM note") == "2")
            try await f.psql("INSERT INTO _class_rule VALUES ('note', 'read', '{owner}', 'override')")
            for statement in [
                "SELECT _id FROM note", "SELECT _id FROM app_visible.note", "UPDATE note SET title = 'x'",
            ] {
                let refusal = try await f.refusal("ann", statement)
                #expect(refusal.contains("The rules of the type note have changed"))
            }
            #expect(try await f.sql("ann", "SELECT count(*) FROM category") == "1")
            #expect(
                try await f.differences() == [
                    "The rules of the type note have changed; until the next apply it is closed to database logins."
                ]
            )
            try await f.apply([:])
            #expect(try await f.sql("ann", "SELECT _id FROM note") == "a")
            // What a trigger notes of lists is no rule.
            try await f.psql(
                "INSERT INTO note (_id, _owner, _access) VALUES ('f', 'bob', '{\"relation:friend\": \"read\"}')"
            )
            #expect(try await f.sql("ann", "SELECT _id FROM note") == "a")
            #expect(try await f.differences() == [])
        }
    }

    @Test func aTypeThatIsMadeAfterwardsIsClosed() async throws {
        try await withPolicies { f in
            try await f.apply()
            try await f.psql(
                "SELECT _create_type('film'); ALTER TABLE film ADD title text; INSERT INTO film (_id, title) VALUES ('1', 'x')"
            )
            let refusal = try await f.refusal("ann", "SELECT _id FROM film")
            #expect(refusal.contains("permission denied for table film"))
            #expect(
                try await f.differences() == [
                    "The type film is closed to database logins, since it has no policies yet."
                ]
            )
            let outcome = try await f.apply([:])
            #expect(outcome.changed == [type("film")] && outcome.types == 4)
            #expect(try await f.sql("ann", "SELECT title FROM film") == "x")
            #expect(try await f.differences() == [])
        }
    }

    @Test func aRecordWhoseDeleteChangesOthersIsDeletedByTheServiceAlone() async throws {
        try await withPolicies { f in
            try await f.psql(
                """
                INSERT INTO category (_id, _owner) VALUES ('open', 'ann'); SELECT _create_type('item');
                ALTER TABLE item ADD _parent text REFERENCES category (_id) ON DELETE CASCADE;
                INSERT INTO item (_id, _owner, _access, _parent) VALUES ('i', 'bob', '{}', 'open')
                """
            )
            try await f.apply()
            let refusal = try await f.refusal("ann", "DELETE FROM category WHERE _id = 'open'")
            #expect(refusal.contains("permission denied"))
            #expect(try await f.sql("bob", "DELETE FROM item RETURNING _id") == "i")
        }
    }
}

extension String {
    fileprivate var trimmingNewlines: String {
        var text = self[...]
        while text.first == "\n" { text.removeFirst() }
        while text.last == "\n" { text.removeLast() }
        return String(text)
    }
}
