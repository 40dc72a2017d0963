import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowPostgres
@testable import SkyrowStore

/// Applying, checking and dropping.
@Suite(.timeLimit(.minutes(60))) struct PolicyRunTests {
    /// How a role is made, and why policies are no wall for it.
    private static let powers: [(String, String)] = [
        ("CREATE ROLE %r LOGIN SUPERUSER", "is a superuser"),
        ("CREATE ROLE %r LOGIN BYPASSRLS", "passes row security (BYPASSRLS)"),
        ("CREATE ROLE %r LOGIN CREATEROLE", "may make itself a member of other roles (CREATEROLE)"),
        ("CREATE ROLE %r LOGIN REPLICATION", "may replicate the whole server (REPLICATION)"),
        ("CREATE ROLE %r LOGIN IN ROLE postgres", "is a member of postgres, which is a superuser"),
        ("CREATE ROLE %r LOGIN NOINHERIT IN ROLE postgres", "is a member of postgres, which is a superuser"),
        ("CREATE ROLE %r LOGIN IN ROLE pg_read_all_data", "is a member of pg_read_all_data, which passes all rights"),
        ("CREATE ROLE %r LOGIN IN ROLE pg_execute_server_program", "is a member of pg_execute_server_program"),
        ("CREATE ROLE %r LOGIN; ALTER TABLE note OWNER TO %r", "owns tables of the application"),
        ("SELECT 1", "PostgreSQL has no role"),
    ]

    @Test func aRoleThatPoliciesDoNotHoldForIsRefused() async throws {
        try await withPolicies { f in
            for (number, (make, reason)) in Self.powers.enumerated() {
                let name = f.role("r\(number)")
                try await f.psql(make.replacing("%r", with: "\"\(name)\""))
                let error = await #expect(throws: SkyrowError.self) {
                    try await f.store.applyPolicies(for: [f.login("r\(number)", as: "ann")])
                }
                #expect(error?.code == .invalidArgument)
                #expect(error?.message.contains(reason) == true, "\(make): \(error?.message ?? "")")
                try await f.psql("ALTER TABLE note OWNER TO postgres")
            }
            // Nothing was made for any of them.
            #expect(try await f.psql("SELECT count(*) FROM _database_login") == "0")
            #expect(try await f.psql("SELECT count(*) FROM pg_policy") == "0")
            try await f.psql("CREATE ROLE \"\(f.role("ann"))\" LOGIN")
            let error = await #expect(throws: SkyrowError.self) {
                try await f.store.applyPolicies(for: [f.login("ann", as: "gone")])
            }
            #expect(error?.message == "The user 'gone' does not exist.")
            // One that becomes too powerful later on is found.
            try await f.apply(["ann": "ann"])
            #expect(try await f.differences() == [])
            try await f.psql("GRANT pg_write_all_data TO \"\(f.role("ann"))\"")
            #expect(try await f.namedDifferences().contains { $0.contains("is a member of pg_write_all_data") })
            await #expect(throws: SkyrowError.self) { try await f.store.applyPolicies() }
            try await f.psql("REVOKE pg_write_all_data FROM \"\(f.role("ann"))\"")
        }
    }

    /// One transaction has no room for the policies of many types.
    @Test func policiesOfManyTypesAreMadeAndDroppedInPieces() async throws {
        let cluster = try await TemporaryCluster.start(
            settings: ["max_locks_per_transaction": "10", "max_connections": "60", "max_prepared_transactions": "0"]
        )
        try await withStore(on: cluster) { f in
            for part in 0..<4 {
                try await f.psql("SELECT count(_create_type('t\(part)_' || n)) FROM generate_series(1, 30) AS n")
            }
            try await f.psql(
                """
                INSERT INTO "user" (_id, _owner) VALUES ('ann', 'ann'); INSERT INTO _user (id) VALUES ('ann');
                INSERT INTO t0_1 (_id, _owner, _access) VALUES ('1', 'ann', '{}'), ('2', 'bob', '{}');
                CREATE ROLE many_sql LOGIN
                """
            )
            try await f.store.cache.reload()
            let login = DatabaseLogin(role: "many_sql", user: "ann")
            let watch = try await TransactionWatch(in: f)
            let outcome = try await f.store.applyPolicies(for: [login])
            #expect(try await (1...4).contains(watch.seen().tables))
            #expect(outcome.changed.count == outcome.types && Set(outcome.changed).count > 120)
            #expect(try await f.store.policyDifferences().differences == [])
            let own = f.database.url.replacing("user=postgres", with: "user=many_sql")
            #expect(try await cluster.psql("SELECT _id FROM app.t0_1", url: own) == "1")
            try await watch.clear()
            try await f.store.dropPolicies()
            #expect(try await (1...4).contains(watch.seen().tables))
            #expect(try await f.psql("SELECT count(*) FROM pg_policy") == "0")
            #expect(try await f.psql("SELECT count(*) FROM pg_class WHERE relrowsecurity") == "0")
        }
    }

    /// What psql does, and what is found of it; a second apply undoes what takes no decision.
    private static let changes: [(String, what: String, heals: Bool)] = [
        ("DROP POLICY _select ON note", "The policy _select of note was dropped.", true),
        ("ALTER POLICY _select ON note USING (true)", "The policy _select of note was changed.", true),
        ("ALTER POLICY _update ON note TO %ann", "The policy _update of note was changed.", true),
        (
            "CREATE POLICY more ON note USING (true)",
            "The table note has the policy more, which was not created by skyrow.",
            false
        ),
        (
            "ALTER TABLE note DISABLE ROW LEVEL SECURITY",
            "The table note does not apply its policies: row-level security is off.", true
        ),
        ("ALTER TABLE note FORCE ROW LEVEL SECURITY", "The table note applies its policies also to its owner", true),
        ("DROP TRIGGER _guard__access ON note", "The trigger _guard__access of note was dropped.", true),
        ("ALTER TABLE note DISABLE TRIGGER _sign_new", "The trigger _sign_new of note was changed.", true),
        (
            "CREATE OR REPLACE VIEW app_visible.note WITH (security_barrier) AS SELECT _id, _database, _owner, _access, _created_at, "
                + "_created_by, _updated_at, _updated_by, _revision, category, data, done, due, next, photo, price, score, serial, stars, "
                + "tags, title FROM note",
            "The view note of note was changed.", true
        ),
        ("ALTER VIEW app_visible.note RESET (security_barrier)", "The view note of note was changed.", true),
        ("DROP VIEW app_visible.note", "The view note of note was dropped.", true),
        (
            "CREATE TABLE app_visible.other AS SELECT * FROM note",
            "The view other shows records, and was not created by skyrow.", false
        ),
        ("GRANT SELECT ON note TO %ann", "The role ann may SELECT note.stars, which no rule allows.", true),
        (
            "GRANT SELECT ON _user TO PUBLIC", "The role ann may SELECT _user.password_hash, which no rule allows.",
            false
        ),
        ("GRANT TRUNCATE ON note TO %ann", "The role ann may TRUNCATE note, which no rule allows.", true),
        ("GRANT CREATE ON SCHEMA app TO %ann", "The role ann may CREATE in the schema, which no rule allows.", true),
        (
            "REVOKE SELECT (title) ON note FROM %ann", "The role ann may not SELECT note.title, which the rules allow.",
            true
        ),
        (
            "GRANT EXECUTE ON FUNCTION _sign() TO PUBLIC",
            "The role ann may call _sign, which runs with the rights of its owner.", true
        ),
        (
            "ALTER TABLE note ADD COLUMN more text",
            "The columns of note that database logins may access are outdated.", true
        ),
        ("DROP TABLE category CASCADE", "There are policies for the type category, which no longer exists.", true),
        (
            "ALTER ROLE %ann BYPASSRLS", "The role ann passes row security (BYPASSRLS): policies do not apply to it.",
            false
        ),
    ]

    /// What rules of every type and field are, policies follow; a change of one closes every type until they are made anew.
    @Test func rulesOfEveryTypeAndFieldCloseTypesUntilTheNextApply() async throws {
        try await withPolicies { f in
            try await f.psql("INSERT INTO note (_id, _owner, title) VALUES ('1', 'bob', 'x'), ('2', 'ann', 'y')")
            try await f.apply(["ann": "ann"])
            let digests =
                "SELECT string_agg(_rules_digest(relname::text), ' ' ORDER BY relname) FROM pg_class WHERE relkind = 'r' AND relnamespace = 'app'::regnamespace AND relname !~ '^_'"
            var known = try await f.psql(digests).split(separator: " ").map(String.init)
            for (rule, titles, isRefused) in [
                ("('*', '*', 'read', '{owner}')", "y", false), ("('*', 'title', 'read', '{public}')", "x y", false),
                ("('note', '*', 'read', '{owner}')", "y", false), ("('*', '*', 'compare', '{}')", "y", true),
            ] {
                try await f.psql("INSERT INTO _field_rule VALUES \(rule)")
                let digest = try await f.psql(digests).split(separator: " ").map(String.init)
                let isOfOne = rule.hasPrefix("('note'")
                #expect(zip(digest, known).filter { $0 != $1 }.count == (isOfOne ? 1 : known.count), "\(rule)")
                known = digest
                let closed = await #expect(throws: (any Error).self) { try await f.sql("ann", "SELECT _id FROM note") }
                #expect(closed != nil)
                guard !isRefused else {
                    let refused = await #expect(throws: SkyrowError.self) { try await f.apply([:]) }
                    #expect(refused?.code == .invalidArgument)
                    continue
                }
                try await f.apply([:])
                let seen = try await f.sql(
                    "ann",
                    "SELECT title FROM \(rule.contains("title") ? "note" : "app_visible.note") WHERE title IS NOT NULL ORDER BY 1"
                ).rows
                #expect(seen.joined(separator: " ") == titles, "\(rule)")
            }
        }
    }

    @Test func everyDifferenceIsFound() async throws {
        // A change that heals leaves nothing behind, so the next one is made in the same database.
        let healing = Self.changes.filter { $0.heals }
        for changes in [healing] + Self.changes.filter({ !$0.heals }).map({ [$0] }) {
            try await withPolicies { f in
                try await f.psql("INSERT INTO _field_rule VALUES ('note', 'stars', 'read', '{owner}')")
                try await f.apply(["ann": "ann"])
                #expect(try await f.differences() == [])
                for (statement, what, heals) in changes {
                    try await f.psql(statement.replacing("%ann", with: "\"\(f.role("ann"))\""))
                    let found = try await f.namedDifferences()
                    #expect(found.contains { $0.hasPrefix(what) }, "\(statement): \(found)")
                    // The doctor finds what does not depend on the service's settings.
                    let examined = try await examine(f.records.database.url, [.policies])["policies"] ?? []
                    let isOfSettings = what.contains("are outdated")
                    #expect(examined.isEmpty == isOfSettings, "\(statement): \(examined)")
                    guard heals else { return }
                    try await f.apply([:])
                    #expect(try await f.namedDifferences() == [], "\(statement)")
                }
            }
        }
    }

    @Test func dropLeavesNothing() async throws {
        try await withPolicies { f in
            try await f.psql("INSERT INTO _field_rule VALUES ('note', 'stars', 'read', '{owner}')")
            let state = """
                SELECT count(*) FROM pg_policy; SELECT count(*) FROM pg_class WHERE relrowsecurity;
                SELECT count(*) FROM pg_namespace WHERE nspname = 'app_visible';
                SELECT count(*) FROM pg_trigger WHERE tgname ~ '^_(sign|guard)_';
                SELECT count(*) FROM _policy; SELECT count(*) FROM _database_login;
                SELECT count(*) FROM pg_class WHERE relnamespace IN ('app'::regnamespace, 'app_internal'::regnamespace) AND relacl::text ~ 'ann|bob';
                SELECT count(*) FROM pg_attribute WHERE attacl::text ~ 'ann|bob'
                """
            let before = try await f.psql(state)
            try await f.apply()
            #expect(try await f.psql(state) != before)
            // One of two roles.
            try await f.store.dropPolicies(for: [f.identifier("bob")])
            let refusal = try await f.refusal("bob", "SELECT _id FROM app.note")
            #expect(refusal.contains("permission denied"))
            #expect(try await f.sql("ann", "SELECT count(*) FROM note") == "0")
            #expect(try await f.differences() == [])
            let error = await #expect(throws: SkyrowError.self) {
                try await f.store.dropPolicies(for: [f.identifier("bob")])
            }
            #expect(error?.code == .resourceNotFound)
            // All of them.
            try await f.store.dropPolicies()
            #expect(try await f.psql(state) == before)
            let found = try await f.store.policyDifferences()
            #expect(!found.isApplied && found.differences == [])
        }
    }

    @Test func applyingTwiceChangesNothing() async throws {
        try await withPolicies { f in
            let first = try await f.apply()
            #expect(first.changed == [type("category"), type("note"), .user] && first.types == 3)
            #expect(first.roles == [f.role("ann"), f.role("bob")])
            let objects = "SELECT string_agg(oid::text, ' ' ORDER BY oid) FROM pg_policy"
            let before = try await f.psql(objects)
            let again = try await f.apply([:])
            #expect(again.changed.isEmpty)
            #expect(try await f.psql(objects) == before)
            // A role may come to stand for another user.
            try await f.apply(["ann": "bob"])
            #expect(try await f.sql("ann", "SELECT app._me()") == "bob")
        }
    }

    /// Fields and types that policies name can be changed as before; what is changed is closed until the next apply.
    @Test func theSchemaCanBeChanged() async throws {
        try await withPolicies { f in
            try await f.psql(
                """
                INSERT INTO _field_rule VALUES ('note', 'stars', 'read', '{owner}'), ('note', 'title', 'update', '{owner}');
                INSERT INTO _class_rule VALUES ('note', 'read', '{field:title}')
                """
            )
            try await f.records.save("note/1", ["title": .string("ann"), "stars": .integer(1)])
            try await f.apply()
            func change(_ change: SchemaChange) async throws {
                let statements = try SchemaChange.statements(for: [change], in: "app")
                try await f.records.client.withTransaction { transaction in
                    for statement in statements { _ = try await transaction.query(statement) }
                }
                try await f.store.cache.reload()
            }
            try await change(.widenField(field("stars"), of: type("note")))
            try await f.records.save("note/1", ["stars": .number(1.5)])
            let refusal = try await f.refusal("ann", "SELECT _id FROM note")
            #expect(refusal.contains("permission denied"))
            #expect(
                try await f.differences() == [
                    "The type note is closed to database logins, since it has no policies yet."
                ]
            )
            try await f.apply([:])
            #expect(try await f.sql("ann", "SELECT _id, stars FROM app_visible.note") == "1|1.5")
            for step in [
                SchemaChange.deleteField(field("title"), of: type("note")),
                .renameField(field("stars"), to: field("points"), of: type("note")),
            ] {
                try await change(step)
                #expect(try await f.differences() != [])
                try await f.apply([:])
                #expect(try await f.differences() == [])
            }
            #expect(try await f.sql("ann", "SELECT points FROM app_visible.note") == "1.5")
            // A schema file sees no difference in what was made.
            let document = try await f.store.schemaDocument()
            let applied = try await f.store.compareSchema(with: document)
            try await f.store.dropPolicies()
            let dropped = try await f.store.compareSchema(with: document)
            #expect(applied == dropped && applied.difference.changes.isEmpty)
        }
    }
}
