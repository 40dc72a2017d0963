import SkyrowMaintenance
import SkyrowModel
import SkyrowPostgres
import SkyrowTestSupport
import Testing

@testable import SkyrowStore

/// Accounts of a version that took names for different which are one now.
@Suite(.timeLimit(.minutes(10))) struct LoginFormUpgradeTests {
    /// The migrations before 0006_login_forms.
    private static let older = Migration.all.filter { $0.version < 6 }

    private static let before = """
        CREATE SCHEMA app; SET search_path = app, pg_temp;
        \(older.map(\.script).joined(separator: ";\n"));
        INSERT INTO _migration (version, name) VALUES
            \(older.map { "(\($0.version), '\($0.name)')" }.joined(separator: ", "));
        ALTER TABLE "user" ADD phone text;
        CREATE UNIQUE INDEX _login_key_phone ON "user" (lower(normalize(phone, NFC)));
        """

    private func upgrade(_ rows: String, _ body: (RecordStore, TemporaryDatabase) async throws -> Void) async throws {
        try await withTemporaryDatabaseAndPsql { database in
            try await database.psql(Self.before + rows)
            try await withPostgresClient(database.url) { client in
                let store = RecordStore(client: client, schema: "app", mode: .development, logger: .quiet)
                try await store.prepare()
                try await body(store, database)
            }
        }
    }

    @Test func namesThatBecameOneAreToldApartByTheirText() async throws {
        try await upgrade(
            """
            INSERT INTO "user" (_id, username, email, _created_at) VALUES
                ('old', 'Zoe', 'a@b', '2020-01-01'), ('new', U&'zo\\200Be', U&'a\\200B@b', '2021-01-01'),
                ('newer', U&'zo\\00ADe', NULL, '2022-01-01'), ('bob', 'bob', NULL, '2023-01-01');
            INSERT INTO _user (id, password_hash) SELECT _id, 'x' FROM "user";
            """
        ) { store, database in
            func found(_ name: String, _ key: String = "username") async throws -> UserID? {
                try await store.users.credentials(of: [field(key): name])?.id
            }
            #expect(try await found("ZOE") == "old")
            #expect(try await found("zo\u{200B}E") == "new")
            #expect(try await found("zo\u{AD}e") == "newer")
            // Another form of the name means the oldest account.
            #expect(try await found("\u{FEFF}zoe") == "old")
            #expect(try await found("A@b", "email") == "old")
            #expect(try await found("a\u{200B}@b", "email") == "new")
            #expect(try await found("B\u{200B}ob") == "bob")
            // Nobody else gets a form of it, neither by signing up nor by another name.
            for name in ["zoe", "zo\u{2060}e", "zo\u{200B}e"] {
                do {
                    _ = try await store.users.create(
                        NewAccount(id: "x", passwordHash: nil, profile: [(field("username"), .string(name))]),
                        session: nil
                    )
                    Issue.record("A name was given twice.")
                } catch let error as SkyrowError {
                    #expect(error.code == .duplicated)
                    #expect(error.info["arguments"] == .list([.string("username")]))
                }
            }
            let rows = try await database.psql(
                "SELECT indexrelid::regclass FROM pg_index WHERE indrelid = 'app.user'::regclass AND indpred IS NOT NULL ORDER BY 1"
            )
            #expect(rows.contains("_login_key_username") && rows.contains("_login_key_email"))
            #expect(!rows.contains("_login_key_phone"))
            let doctor = DoctorRun(
                client: store.client,
                schema: "app",
                limits: DoctorLimits(),
                now: { 0 },
                logger: .quiet
            )
            let findings = try await doctor([.accounts]).flatMap(\.findings).filter { $0.what.contains("look like") }
            #expect(findings.count == 2)
            #expect(findings.contains { $0.what.contains("username") && $0.what.contains("newer") })
        }
    }

    /// Blanks at an end and the two forms of a domain made others before.
    @Test func keysThatBecameOneLaterAreToldApartByTheirText() async throws {
        let older = Migration.all.prefix { !$0.name.hasSuffix("_account_faults") }
        try await withTemporaryDatabaseAndPsql { database in
            try await database.psql(
                """
                CREATE SCHEMA app; SET search_path = app, pg_temp;
                \(older.map(\.script).joined(separator: ";\n"));
                INSERT INTO _migration (version, name) VALUES
                    \(older.map { "(\($0.version), '\($0.name)')" }.joined(separator: ", "));
                INSERT INTO "user" (_id, username, email, _created_at) VALUES
                    ('old', 'zoe', U&'ann@m\\00FCnchen.de', '2020-01-01'),
                    ('new', 'zoe ', 'ann@xn--mnchen-3ya.de', '2021-01-01'), ('newer', U&'zoe\\2800', NULL, '2022-01-01');
                INSERT INTO _user (id, password_hash) SELECT _id, 'x' FROM "user";
                """
            )
            try await withPostgresClient(database.url) { client in
                let store = RecordStore(client: client, schema: "app", mode: .development, logger: .quiet)
                try await store.prepare()
                let expected: [(FieldName, String, UserID)] = [
                    (field("username"), "zoe", "old"), (field("username"), "zoe ", "new"),
                    (field("username"), "zoe\u{2800}", "newer"), (field("username"), "\tZOE", "old"),
                    (field("email"), "ann@xn--mnchen-3ya.de", "new"), (field("email"), "ann@m\u{FC}nchen.de", "old"),
                    (field("email"), "ann@M\u{DC}nchen.de", "old"),
                ]
                for (key, value, user) in expected {
                    #expect(try await store.users.credentials(of: [key: value])?.id == user, "\(value)")
                }
                for (key, value, _) in expected {
                    await #expect(throws: SkyrowError.self, "\(value)") {
                        _ = try await store.users.create(
                            NewAccount(id: "x", passwordHash: nil, profile: [(key, .string(value))]),
                            session: nil
                        )
                    }
                }
            }
        }
    }

    @Test func withoutSuchNamesAllIsAsInANewDatabase() async throws {
        func indexes(_ database: TemporaryDatabase) async throws -> String {
            try await database.psql(
                """
                SELECT pg_get_indexdef(indexrelid) FROM pg_index
                WHERE indrelid = 'app.user'::regclass AND pg_get_indexdef(indexrelid) LIKE '%_login_%'
                    AND pg_get_indexdef(indexrelid) NOT LIKE '%phone%' ORDER BY 1
                """
            )
        }
        let new = try await withTemporaryDatabaseAndPsql(template: .migrated) { try await indexes($0) }
        #expect(new.split(separator: "\n").count == 4)
        try await upgrade("INSERT INTO \"user\" (_id, username) VALUES ('ann', 'Ann'), ('bob', 'b\u{F6}b');") {
            _,
            database in
            let upgraded = try await indexes(database)
            #expect(upgraded == new)
        }
    }
}
