import Logging
import SkyrowModel
import SkyrowPostgres
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowStore

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Faults that psql makes in a real database, and what is found of them.
@Suite(.timeLimit(.minutes(60))) struct DoctorFaultTests {
    /// What psql does, and what is found of it.
    private static let faults: [(statements: String, check: DoctorCheck, what: String)] = [
        ("ALTER DATABASE %db% SET timezone = 'Europe/Berlin'", .timeZone, "Europe/Berlin"),
        ("ALTER DATABASE %db% SET track_activities = off", .tracking, "track_activities is off"),
        (
            "UPDATE pg_extension SET extversion = '0.9' WHERE extname = 'plpgsql'", .extensions,
            "plpgsql has version 0.9"
        ),
        (
            """
            INSERT INTO pg_extension SELECT 99999, 'gone', extowner, extnamespace, true, '1.0' FROM pg_extension LIMIT 1
            """, .extensions, "The extension gone is in use, but its files are missing on the server"
        ),
        (
            """
            CREATE COLLATION german (provider = icu, locale = 'de'); CREATE TABLE _sorted (a text COLLATE german);
            UPDATE pg_collation SET collversion = '0' WHERE collname = 'german'
            """,
            .collations, "collation german was created with version 0"
        ),
        (
            "INSERT INTO _class_option (type, private) VALUES ('gone', false)", .rules,
            "There are access rules for the type gone, which does not exist."
        ),
        (
            "INSERT INTO _field_rule VALUES ('gone', 'a', 'read', '{}')", .rules,
            "There are access rules for the type gone, which does not exist."
        ),
        (
            "INSERT INTO _field_rule VALUES ('note', 'gone', 'read', '{}')", .rules,
            "There is an access rule for the field gone of note, which does not exist."
        ),
        (
            "INSERT INTO _field_rule VALUES ('*', '*', 'read', '{public,Editors}')", .rules,
            "The rule of the field \"*\" of \"*\" names 'Editors', which is not a valid subject."
        ),
        (
            "INSERT INTO _field_rule VALUES ('gone', '*', 'read', '{public}')", .rules,
            "There are access rules for the type gone, which does not exist."
        ),
        (
            "INSERT INTO _field_rule VALUES ('note', 'title', 'read', '{public,Editors}')", .rules,
            "The rule of the field title of note names 'Editors', which is not a valid subject."
        ),
        (
            "INSERT INTO _field_rule VALUES ('note', 'title', 'update', '{role:gone}')", .rules,
            "The rule of the field title of note names 'role:gone', which does not exist."
        ),
        (
            "INSERT INTO _field_rule VALUES ('note', 'tags', 'update', '{group:gone}')", .rules,
            "The rule of the field tags of note names 'group:gone', which does not exist."
        ),
        (
            """
            INSERT INTO _key (id, hash, name, kind, revoked_at) VALUES ('ktablet00', sha256('t'), 'tablet', 'client', NULL),
                ('kgone0000', sha256('g'), 'gone', 'client', now());
            INSERT INTO _field_rule VALUES ('note', 'tags', 'create', '{key:tablet,key:gone}')
            """,
            .rules, "The rule of the field tags of note names 'key:gone', which does not exist."
        ),
        (
            "INSERT INTO _class_rule VALUES ('note', 'create', '{key:tablet,key:lost}')", .rules,
            "The rule of note about create names 'key:lost', which does not exist."
        ),
        (
            "INSERT INTO _field_rule VALUES ('note', 'stars', 'read', '{owner}'); CREATE UNIQUE INDEX ON note (stars)",
            .rules,
            "The field stars of note is unique, and a rule hides it from some users."
        ),
        (
            "INSERT INTO _field_rule VALUES ('note', 'tags', 'read', '{field:title,field:stars}')", .rules,
            "The rule of the field tags of note names 'field:stars', which does not exist."
        ),
        (
            "INSERT INTO _field_rule VALUES ('note', 'title', 'create', '{field:title}')", .rules,
            "The rule of the field title of note names 'field:title', which is not a valid subject."
        ),
        (
            "INSERT INTO _class_rule VALUES ('note', 'read', '{public,Editors}')", .rules,
            "The rule of note about read names 'Editors', which is not a valid subject."
        ),
        (
            "INSERT INTO _class_rule VALUES ('note', 'update', '{field:title,field:stars}')", .rules,
            "The rule of note about update names 'field:stars', which does not exist."
        ),
        (
            "INSERT INTO _class_rule VALUES ('note', 'delete', '{role:Admin,role:gone}')", .rules,
            "The rule of note about delete names 'role:gone', which does not exist."
        ),
        (
            "INSERT INTO _field_rule VALUES ('user', 'email', 'read', '{owner,users}')", .rules,
            "A rule allows all users to read the field email of profiles, which is a login key."
        ),
        (
            """
            INSERT INTO _role (name, access) VALUES ('round', '{"role:lost": "read"}'), ('rounder', NULL);
            ALTER TABLE _role_role DISABLE TRIGGER _check_role_role;
            INSERT INTO _role_role (role, member) VALUES ('round', 'rounder'), ('rounder', 'round');
            ALTER TABLE _role_role ENABLE TRIGGER _check_role_role
            """,
            .roles, "Roles contain themselves: 'round', 'rounder'."
        ),
        (
            "INSERT INTO _class_option (type, default_access) VALUES ('category', '{\"role:lost\": \"read\"}')", .roles,
            "The access list of the list of new records of category names the role 'lost', which does not exist."
        ),
        (
            "ALTER TABLE _user_role DISABLE TRIGGER _announce", .notices,
            "The trigger _announce of _user_role is off."
        ),
        (
            "DROP TRIGGER _announce_address ON \"user\"", .notices,
            "The trigger _announce_address of user is missing."
        ),
        (
            "INSERT INTO category (_id, _access) VALUES ('lost', '{\"role:lost\": \"read\"}')", .records,
            "rows of category have an access list that names a role that does not exist, such as"
        ),
        (
            "INSERT INTO _class_rule VALUES ('user', 'update', '{owner,users}', 'require')", .rules,
            "allows every logged-in user to update profiles"
        ),
        (
            "INSERT INTO _key (id, hash, name, kind, scopes) VALUES ('k00000001', sha256('1'), 'web', 'client', '{read,all}')",
            .keys, "The key k00000001, 'web', has the scope 'all', which this version of skyrow does not support."
        ),
        (
            """
            INSERT INTO _key (id, hash, name, kind, scopes, networks)
            VALUES ('k00000002', sha256('2'), 'web', 'server', '{read,type:note:read}', '{10.0.0.0/8}');
            INSERT INTO _audit (event, outcome, key_id) SELECT 'key', 'AccessKeyNotAccepted', 'k00000002' FROM generate_series(1, 3)
            """,
            .keys, "The key k00000002, 'web', was refused in 3 minutes of the last week."
        ),
        (
            "INSERT INTO _key (id, hash, name, kind) VALUES ('k00000003', sha256('3'), 'web', 'server')",
            .keys, "The key k00000003, 'web', is a server key that never expires and is accepted from every address."
        ),
        (
            """
            INSERT INTO _key (id, hash, name, kind, scopes)
            VALUES ('k00000004', sha256('4'), 'web', 'client', '{read,action:schema:fech}')
            """,
            .keys,
            "The key k00000004, 'web', has the scope 'action:schema:fech', which names an action that does not exist."
        ),
        (
            """
            CREATE FUNCTION elder() RETURNS integer LANGUAGE sql AS 'SELECT 1'; SELECT _expose('elder'); DROP FUNCTION elder()
            """,
            .functions,
            "The function elder() is exposed as 'elder' but cannot be called: The function does not exist."
        ),
        (
            """
            CREATE FUNCTION twin() RETURNS integer LANGUAGE sql AS 'SELECT 1'; SELECT _expose('twin');
            CREATE FUNCTION twin(a integer) RETURNS integer LANGUAGE sql AS 'SELECT 1'
            """,
            .functions,
            "The function twin() is exposed as 'twin' but cannot be called: The schema has several functions of this name."
        ),
        (
            """
            CREATE FUNCTION definer() RETURNS integer LANGUAGE sql SECURITY DEFINER AS 'SELECT 1'; SELECT _expose('definer')
            """,
            .functions, "The exposed function definer() is SECURITY DEFINER and does not set a search path."
        ),
        ("ALTER TABLE category SET (autovacuum_enabled = off)", .autovacuum, "disabled for category"),
        (
            """
            ALTER TABLE note ADD "_words_Title" tsvector GENERATED ALWAYS AS (_words('pg_catalog.english', title)) STORED,
                ADD CHECK (title IS NULL OR 'german'::regconfig IS NOT NULL)
            """, .storedWords,
            "The text-search column \"_words_Title\" of note has the language english, and the field title has the language "
                + "german."
        ),
        (
            "CREATE INDEX \"Words\" ON note USING gin (_words('pg_catalog.english', title))", .wordIndexes,
            "The text-search index \"Words\" of note has the language english"
        ),
        (
            """
            CREATE INDEX ON note USING gin (_words(title));
            ALTER TABLE note ADD CHECK (title IS NULL OR 'german'::regconfig IS NOT NULL)
            """, .wordIndexes, "has the language german"
        ),
        (
            """
            CREATE TABLE _dying (a int) WITH (autovacuum_enabled = off); INSERT INTO _dying SELECT generate_series(1, 200);
            DELETE FROM _dying
            """,
            .autovacuum, "_dying has 200 dead rows and 0"
        ),
        ("DROP TRIGGER _tombstone_deleted ON category", .drift, "category lacks _tombstone_deleted"),
        ("DROP INDEX note_category_idx", .foreignKeyIndexes, "category of note has no index"),
        (
            "CREATE INDEX one ON note (title); CREATE INDEX two ON note (title)",
            .duplicateIndexes, "note has 2 indexes of the form btree (title)"
        ),
        ("CREATE INDEX lonely ON category (name)", .unusedIndexes, "lonely of category"),
        (
            """
            CREATE TABLE _big (a int); INSERT INTO _big SELECT generate_series(1, 300);
            SELECT count(*) FROM _big; SELECT count(*) FROM _big; SELECT count(*) FROM _big
            """,
            .sequentialScans, "_big with 300 rows was read completely 3 times"
        ),
        (
            "INSERT INTO \"user\" (_id) VALUES ('ghost')", .accounts,
            "1 row of \"user\" have no account, such as 'ghost'"
        ),
        (
            "INSERT INTO \"user\" (_id) VALUES ('_odd'); INSERT INTO _user (id) VALUES ('_odd')",
            .accounts, "1 account has an invalid user id, such as '_odd'"
        ),
        ("UPDATE _role SET is_admin = false", .accounts, "No role grants administrator rights"),
        // Rows that break the rules.
        (
            """
            ALTER TABLE note DROP CONSTRAINT _id_fits, DROP CONSTRAINT _database_fits;
            INSERT INTO note (_id, _database) VALUES ('~ann/x', 'bob'), ('~y', '_public'), ('', '_public')
            """,
            .records, "3 rows of note have an _id that does not match _database"
        ),
        (
            "INSERT INTO note (_id) VALUES ('$1')", .records,
            "1 row of note have an id that begins with '$', such as '$1'"
        ),
        (
            "INSERT INTO note (_id, _database) VALUES ('~eve/1', 'eve')",
            .records, "1 row of note are in the private database of a user that does not exist, such as '~eve/1'"
        ),
        (
            "INSERT INTO category (_id, _owner) VALUES ('o', 'eve')",
            .records, "1 row of category are owned by a user that does not exist, such as 'o'"
        ),
        (
            """
            ALTER TABLE category DROP CONSTRAINT _access_fits;
            INSERT INTO category (_id, _access) VALUES
                ('a1', '{"x": "read"}'), ('a2', '{"user:": "read"}'), ('a3', '["public"]'), ('a4', '"public"'),
                ('a5', '{"role:x": "admin"}'), ('a6', '{"role:x": ["read"]}'), ('a7', '{"relation:foe": "read"}'),
                ('fine', '{"public": "read", "users": "update", "user:ann": "write", "relation:friend": "delete"}'),
                ('empty', '{}')
            """,
            .records, "7 rows of category have an access list"
        ),
        (
            """
            ALTER TABLE note DISABLE TRIGGER _note_relation_entry;
            INSERT INTO note (_id, _access) VALUES ('unnoted', '{"public": "read", "relation:followed": "read"}');
            ALTER TABLE note ENABLE TRIGGER _note_relation_entry
            """,
            .records,
            "1 row of note have an access list that names a relation that is not registered for the type, such as 'unnoted'"
        ),
        (
            """
            ALTER TABLE note DROP CONSTRAINT IF EXISTS _access_fits;
            INSERT INTO note (_id, _access) SELECT 'long', jsonb_object_agg('role:' || i, 'read') FROM generate_series(1, 10001) AS i
            """,
            .records, "1 row of note have an access list of more than 10000 entries or 1 MB, such as 'long'"
        ),
        (
            "INSERT INTO note (_id, category) VALUES ('p', '~ann/mine')",
            .records, "1 row of note are public and refer to a private one, such as 'p'"
        ),
        (
            "INSERT INTO note (_id, _database, category) VALUES ('~bob/p', 'bob', '~ann/mine')",
            .records, "1 row of note are private and refer to a private one of another user, such as '~bob/p'"
        ),
        (
            "ALTER TABLE category ALTER _revision DROP NOT NULL; INSERT INTO category (_id, _revision) VALUES ('r', NULL)",
            .records, "1 row of category have no _revision, such as 'r'"
        ),
        (
            "INSERT INTO note (_id, _revision) VALUES ('future', 9000000000000000)",
            .records, "1 row of note have a _revision in the future, such as 'future'"
        ),
        (
            "INSERT INTO note (_id, _created_at) VALUES ('later', now() + interval '1 hour')",
            .records, "1 row of note were created or updated in the future, such as 'later'"
        ),
        (
            """
            ALTER TABLE category ALTER _updated_at DROP NOT NULL;
            INSERT INTO category (_id, _updated_at) VALUES ('timeless', NULL)
            """,
            .records, "1 row of category have no _created_at or _updated_at, such as 'timeless'"
        ),
        (
            """
            INSERT INTO note (_id, tags) VALUES ('j1', '5'), ('j2', '"x"'), ('j3', 'null'), ('j4', '{"$type": "date"}'),
                ('j5', '[{"a": {"$type": "date", "$date": "yesterday"}}]'), ('j6', '[{"$type": "ref", "$id": "9"}]'),
                ('j7', '[{"$type": "bytes", "$base64": "?"}]'),
                ('k1', '{"a": [1]}'), ('k2', '[{"$type": "ref", "$id": "note/9"}, {"$type": "bytes", "$base64": "aGk="}]'),
                ('k3', '[{"$type": "geojson", "x": 1}, {"$date": 5}]')
            """,
            .records, "7 rows of note have a json field that is not an array or object"
        ),
        (
            "INSERT INTO _index (name, type, kind, state, reason) VALUES ('note_due_idx', 'note', 'order', 'failed', 'too_long')",
            .failedIndexes, "The index note_due_idx of note was requested and could not be built"
        ),
        (
            "INSERT INTO note (_id, stars) VALUES ('n1', 'NaN'), ('n2', '-Infinity')",
            .records, "2 rows of note have a number that is NaN or infinity"
        ),
        // A later change of a key would bring it back.
        ("DELETE FROM _version WHERE name = 'keys'", .notices, "_version has no row 'keys'."),
    ]

    @Test func everyFaultIsFound() async throws {
        try await withRecordsToExamine { fixture in
            try await fixture.psql("INSERT INTO category (_id, _database) VALUES ('~ann/mine', 'ann')")
            for fault in Self.faults {
                try await fixture.psql(fault.statements.replacing("%db%", with: fixture.database.name) + ";")
            }
            // A unique index that rows are against stays behind, invalid.
            try await fixture.psql("INSERT INTO category (_id, name) VALUES ('twin', 'x')")
            await #expect(throws: (any Error).self) {
                try await fixture.psql("CREATE UNIQUE INDEX CONCURRENTLY half ON category (name)")
            }
            // The counts of scans and of dead rows are complete when the sessions have ended.
            try await waiting(until: "the sessions of psql have ended") {
                try await fixture.psql(
                    """
                    SELECT count(*) FROM pg_stat_activity
                    WHERE datname = current_database() AND application_name = 'psql' AND pid <> pg_backend_pid()
                    """
                ) == "0"
            }
            let findings = try await examine(fixture.database.url) { limits in
                limits.deadRows = 100
                limits.bigIndex = 0
                limits.unusedDays = 0
                limits.bigTable = 200
                limits.manyScans = 3
            }
            for fault in Self.faults {
                let found = findings[fault.check.name] ?? []
                #expect(
                    found.contains { $0.what.contains(fault.what) },
                    "\(fault.what) is not among \(found.map(\.what))"
                )
            }
            #expect(
                findings[DoctorCheck.invalidIndexes.name]?.map(\.what) == ["The index half of category is invalid."]
            )
            // No check failed.
            for finding in findings.values.joined() {
                #expect(!finding.what.contains("could not run"), "\(finding.what)")
            }
        }
    }

    /// A new trigger of the kind is looked for as well.
    @Test func everyTriggerThatAnnouncesRightsIsLookedFor() async throws {
        try await withRecordsToExamine { fixture in
            let there = try await fixture.psql(
                """
                SELECT string_agg(relname || ' ' || tgname, ',' ORDER BY relname, tgname)
                FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
                WHERE relnamespace IN ('app'::regnamespace, 'app_internal'::regnamespace)
                    AND starts_with(tgname, '_announce') AND NOT tgisinternal
                    AND (starts_with(relname, '_') OR relname = 'user')
                """
            )
            let known = AccountNotices.triggers.map { "\($0.table) \($0.name)" }.sorted().joined(separator: ",")
            #expect(there == known)
            let counters = try await fixture.psql("SELECT string_agg(name, ',' ORDER BY name) FROM _version")
            #expect(counters == AccountNotices.counters.joined(separator: ","))
        }
    }

    @Test func limitsDecideWhatIsTooMuch() async throws {
        try await withRecordsToExamine { fixture in
            let checks: [DoctorCheck] = [.connections, .memory, .wraparound, .clock]
            let strict = try await examine(fixture.database.url, checks, ahead: 20_000_000) { limits in
                limits.connectionsOfAService = 1000
                limits.machineMemory = 100 << 20
                limits.oldTransactions = 1
            }
            #expect(strict[DoctorCheck.connections.name]?.first?.what.contains("may open 1000") == true)
            #expect(strict[DoctorCheck.memory.name]?.first?.what.contains("shared_buffers takes 64 MB") == true)
            #expect(strict[DoctorCheck.wraparound.name]?.count == 5)
            #expect(strict[DoctorCheck.clock.name]?.map(\.severity) == [.warning])
            let late = try await examine(fixture.database.url, [.clock], ahead: -60_000_000)
            #expect(late[DoctorCheck.clock.name]?.map(\.severity) == [.error])
        }
    }

    @Test func transactionsAndLocksThatLastAreFound() async throws {
        try await withRecordsToExamine { fixture in
            try await fixture.psql(
                "BEGIN; INSERT INTO note (_id) VALUES ('p'); PREPARE TRANSACTION 'forgotten \(fixture.database.name)'"
            )
            let url = fixture.database.url
            try await withPostgresClient(url) { client in
                try await client.withTransaction { transaction in
                    try await transaction.execute("LOCK TABLE app.category")
                    let deletion = Task { try await client.write("DELETE FROM app.category WHERE false") }
                    var findings: [String: [DoctorFinding]] = [:]
                    // PostgreSQL notes since when somebody waits a moment after the waiting begins.
                    try await waiting(until: "the wait for the lock is found") {
                        findings = try await examine(url, [.transactions, .locks]) { limits in
                            limits.idleTransaction = -1
                            limits.lockWait = -1
                        }
                        return findings[DoctorCheck.locks.name]?.isEmpty == false
                    }
                    let old = findings[DoctorCheck.transactions.name]?.map(\.what) ?? []
                    #expect(old.contains { $0.contains("has been idle in a transaction") })
                    #expect(old.contains { $0.contains("prepared transaction 'forgotten") })
                    #expect(findings[DoctorCheck.locks.name]?.first?.what.contains("for a lock on category") == true)
                    deletion.cancel()
                    _ = await deletion.result
                }
            }
            try await fixture.psql("ROLLBACK PREPARED 'forgotten \(fixture.database.name)'")
        }
    }
}
