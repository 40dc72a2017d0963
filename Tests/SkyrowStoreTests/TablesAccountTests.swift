import SkyrowModel
import SkyrowPostgres
import SkyrowTestSupport
import Testing

@testable import SkyrowStore

/// A token's hash as a test writes it.
private func hash(_ name: String) -> [UInt8] {
    Array(name.utf8)
}

private func session(_ name: String, expiresAt: Timestamp? = nil) -> NewSession {
    NewSession(tokenHash: hash(name), expiresAt: expiresAt)
}

private func account(_ name: String, _ profile: KeyValuePairs<String, RecordValue> = [:]) -> NewAccount {
    NewAccount(
        id: "id-\(name)",
        passwordHash: "hash-\(name)",
        profile: [(field("username"), .string(name))] + profile.map { (field($0.key), $0.value) }
    )
}

private func refusal(_ body: () async throws -> Void) async throws -> SkyrowError? {
    do {
        try await body()
        return nil
    } catch let error as SkyrowError {
        return error
    }
}

@Suite(.timeLimit(.minutes(60))) struct TablesAccountTests {
    // MARK: Making accounts

    /// A profile takes the values that a save would take, and refuses the others with the field.
    @Test func aProfilesValuesAreThoseThatTheirColumnsTake() async throws {
        try await withStore { fixture async throws in
            let users = fixture.store.users
            let place = try Location(latitude: 22.28, longitude: 114.15)
            let first: KeyValuePairs<String, RecordValue> = [
                "height": .number(1.5), "age": .integer(3), "home": .location(place),
            ]
            try await fixture.store.createMissingSchema(for: [draft("user/x", first)])
            _ = try await fixture.store.createTypes(
                [RecordType(name: .user, fields: [field("languages"): .array(.string)])]
            )
            let rows: [(KeyValuePairs<String, RecordValue>, [String: RecordValue])] = [
                (first, ["height": .number(1.5), "age": .integer(3), "home": .location(place)]),
                (["height": .integer(2), "age": .number(4)], ["height": .number(2), "age": .integer(4)]),
                (["height": .null, "home": .null], [:]),
                (
                    ["age": .string("5"), "languages": .json(JSONText(validated: Array(#"["de", "en"]"#.utf8)))],
                    ["age": .integer(5), "languages": ["de", "en"]]
                ),
            ]
            for (number, (values, expected)) in rows.enumerated() {
                let made = try await users.create(account("Ann\(number)", values), session: nil)
                var fields = try #require(made.profile.collected()).fields
                fields[field("username")] = nil
                #expect(fields == Dictionary(uniqueKeysWithValues: expected.map { (field($0), $1) }))
            }
            let refused: [(KeyValuePairs<String, RecordValue>, ErrorCode)] = [
                (["age": .number(1.5)], .invalidArgument),
                (["age": .string("x")], .invalidArgument),
                (["home": .string("POINT(1 2)")], .invalidArgument),
            ]
            for (values, code) in refused {
                let error = try await refusal { _ = try await users.create(account("Bob", values), session: nil) }
                #expect(error?.code == code)
            }
            #expect(try await fixture.psql("SELECT count(*) FROM _user") == "4")
        }
    }

    @Test func signingUpMakesAccountProfileRolesAndSession() async throws {
        try await withStore { fixture async throws in
            let store = fixture.store
            try await store.roles.setDefault(["writer", "beta"])
            let values: KeyValuePairs<String, RecordValue> = [
                "age": .integer(3), "likes": .json(JSONText(validated: Array(#"["tea"]"#.utf8))), "note": .null,
            ]
            try await store.createMissingSchema(for: [draft("user/x", values)])
            let made = try await store.users.create(account("Ann", values), session: session("t1"))
            let profile = try #require(made.profile.collected())
            #expect(profile.id == id("user/id-Ann"))
            #expect(profile.owner == "id-Ann" && profile.createdBy == "id-Ann" && profile.updatedBy == "id-Ann")
            #expect(profile.access == nil)
            #expect(
                profile.fields == [
                    field("username"): .string("Ann"), field("age"): .integer(3),
                    field("likes"): .json(JSONText(validated: Array(#"["tea"]"#.utf8))),
                ]
            )
            #expect(made.roles == ["beta", "writer"] && !made.isAdministrator)
            #expect(made.lastLoginAt == nil && made.lastSeenAt == nil)
            let found = try #require(try await store.sessions.session(tokenHash: hash("t1")))
            #expect(found.userID == "id-Ann" && found.roles == ["beta", "writer"] && found.suspension == nil)
        }
    }

    @Test(
        arguments: [
            (["username": "ANN"], ["username"]), (["email": "ANN@example.org"], ["email"]), ([:], []),
        ] as [([String: String], [String])]
    )
    func aTakenLoginKeyOrIDIsNamed(_ keys: [String: String], _ arguments: [String]) async throws {
        try await withStore { fixture async throws in
            let store = fixture.store
            _ = try await store.users.create(
                account("Ann", ["email": .string("ann@example.org")]),
                session: session("t1")
            )
            let second = NewAccount(
                id: keys.isEmpty ? "id-Ann" : "other",
                passwordHash: nil,
                profile: keys.map { (field($0.key), .string($0.value)) }
            )
            let error = try await refusal { _ = try await store.users.create(second, session: session("t2")) }
            #expect(error?.code == .duplicated)
            #expect(error?.info == (arguments.isEmpty ? [:] : ["arguments": .list(arguments.map { .string($0) })]))
            // Nothing is half done.
            let left = try await fixture.psql("SELECT (SELECT count(*) FROM _user), (SELECT count(*) FROM _session)")
            #expect(left == "1|1")
        }
    }

    @Test func ofTwentySignUpsWithOneNameOneSucceeds() async throws {
        try await withStore { fixture async throws in
            let codes = await withTaskGroup(of: ErrorCode?.self) { group in
                for number in 0..<20 {
                    group.addTask {
                        let name = number % 2 == 0 ? "Zo\u{eb}" : "ZOE\u{308}"
                        let account = NewAccount(
                            id: "id-\(number)",
                            passwordHash: nil,
                            profile: [(field("username"), .string(name))]
                        )
                        do throws(SkyrowError) {
                            _ = try await fixture.store.users.create(account, session: session("t\(number)"))
                            return nil
                        } catch {
                            return error.code
                        }
                    }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(codes.filter { $0 == nil }.count == 1)
            #expect(codes.filter { $0 == .duplicated }.count == 19)
        }
    }

    // MARK: Logging in

    @Test func aLoginKeyIsFoundWhateverItsCaseAndForm() async throws {
        try await withStore { fixture async throws in
            let users = fixture.store.users
            _ = try await users.create(account("Zo\u{eb}"), session: session("t1"))
            for (name, isFound) in [
                ("zoë", true), ("ZOE\u{308}", true), ("Zoë", true), ("zoe", false), ("zoë ", true), ("", false),
                ("%", false),
            ] {
                let found = try await users.credentials(of: [field("username"): name])
                #expect((found?.id == "id-Zo\u{eb}") == isFound, "\(name)")
                #expect((found?.passwordHash == "hash-Zo\u{eb}") == isFound, "\(name)")
            }
        }
    }

    @Test func severalLoginKeysMeanTheAccountThatHasAllOfThem() async throws {
        try await withStore { fixture async throws in
            let users = fixture.store.users
            for name in ["ann", "bob"] {
                _ = try await users.create(account(name, ["email": .string("\(name)@b")]), session: nil)
            }
            let (username, email) = (field("username"), field("email"))
            #expect(try await users.credentials(of: [username: "Ann", email: "ANN@b"])?.id == "id-ann")
            #expect(try await users.credentials(of: [username: "ann", email: "bob@b"]) == nil)
            #expect(try await users.credentials(of: [username: "ann", email: "carl@b"]) == nil)
            #expect(try await users.credentials(of: [email: "bob@b"])?.id == "id-bob")
            #expect(try await users.credentials(of: [:] as [FieldName: String]) == nil)
        }
    }

    @Test func loggingInStampsTheTimes() async throws {
        try await withStore { fixture async throws in
            let users = fixture.store.users
            let made = try await users.create(account("ann"), session: session("t1"))
            let credentials = try #require(try await users.credentials(of: [field("username"): "ann"]))
            let first = try #require(try await users.logIn(credentials, session: session("t2")))
            // Signing up was a login.
            #expect(first.lastLoginAt != nil && first.lastSeenAt == first.lastLoginAt)
            let profile = try #require(first.profile.collected())
            let stamped = try #require(profile.fields[field("last_login_at")])
            #expect(try #require(profile.revision) > made.profile.collected()?.revision ?? 0)
            let second = try #require(try await users.open("id-ann", session: session("t3")))
            #expect(second.lastLoginAt.map { .datetime($0) } == stamped)
            #expect(second.profile.collected()?.fields[field("last_login_at")] == stamped)
            let third = try #require(try await users.open("id-ann", session: session("t4")))
            #expect(third.lastLoginAt == second.lastLoginAt)
            #expect(try #require(third.lastSeenAt) > second.lastSeenAt ?? .infinity)
            for token in ["t1", "t2", "t3", "t4"] {
                #expect(try await fixture.store.sessions.session(tokenHash: hash(token)) != nil)
            }
        }
    }

    @Test func nobodyLogsInWithAPasswordThatWasReplaced() async throws {
        try await withStore { fixture async throws in
            let users = fixture.store.users
            _ = try await users.create(account("ann"), session: session("t1"))
            let old = try #require(try await users.credentials(of: "id-ann"))
            let changed = try await users.changePassword(of: old, to: "new", session: session("t2"))
            #expect(changed != nil)
            #expect(try await users.logIn(old, session: session("t3")) == nil)
            #expect(try await users.changePassword(of: old, to: "newer", session: session("t4")) == nil)
            #expect(try await users.credentials(of: "id-ann")?.passwordHash == "new")
            let sessions = fixture.store.sessions
            #expect(try await sessions.session(tokenHash: hash("t1")) == nil)
            #expect(try await sessions.session(tokenHash: hash("t2")) != nil)
            #expect(try await sessions.session(tokenHash: hash("t3")) == nil)
            #expect(try await sessions.session(tokenHash: hash("t4")) == nil)
        }
    }

    @Test func nobodyIsTouchedWhoDoesNotExist() async throws {
        try await withStore { fixture async throws in
            #expect(try await fixture.store.users.open("nobody", session: session("t1")) == nil)
            #expect(try await fixture.store.users.touch("nobody", tokenHash: hash("t1")) == nil)
            #expect(try await fixture.store.users.credentials(of: "nobody") == nil)
            #expect(try await fixture.psql("SELECT count(*) FROM _session") == "0")
        }
    }

    @Test func aRehashKeepsSessions() async throws {
        try await withStore { fixture async throws in
            let users = fixture.store.users
            _ = try await users.create(account("ann"), session: session("t1"))
            let old = try #require(try await users.credentials(of: "id-ann"))
            try await users.rehash(old, as: "stronger")
            #expect(try await users.credentials(of: "id-ann")?.passwordHash == "stronger")
            #expect(try await fixture.store.sessions.session(tokenHash: hash("t1")) != nil)
            try await users.rehash(old, as: "stale")
            #expect(try await users.credentials(of: "id-ann")?.passwordHash == "stronger")
        }
    }

    // MARK: Sessions

    @Test func aSessionKnowsRolesAndSuspension() async throws {
        try await withStore { fixture async throws in
            let store = fixture.store
            _ = try await store.users.create(
                account("ann"),
                session: session("t1", expiresAt: Timestamp(microseconds: 900_000_000_000_000_000))
            )
            var found = try #require(try await store.sessions.session(tokenHash: hash("t1")))
            #expect(found.roles == [] && !found.isAdministrator)
            #expect(found.expiresAt == Timestamp(microseconds: 900_000_000_000_000_000))
            try await store.roles.assign(["b", "Admin", "a"], to: ["id-ann", "nobody"])
            try await fixture.psql(
                """
                UPDATE _user SET disabled = true, disabled_message = 'spam', disabled_until = '2000-01-01 00:00:01Z'
                """
            )
            found = try #require(try await store.sessions.session(tokenHash: hash("t1")))
            #expect(found.roles == ["Admin", "a", "b"] && found.isAdministrator)
            #expect(found.suspension == AccountSuspension(message: "spam", until: Timestamp(microseconds: 1_000_000)))
            #expect(try await store.users.credentials(of: "id-ann")?.suspension == found.suspension)
            try await fixture.psql("UPDATE _user SET token_valid_since = now() + interval '1 second'")
            #expect(try await store.sessions.session(tokenHash: hash("t1")) == nil)
        }
    }

    @Test func sessionsAreEndedOneByOneAndByTime() async throws {
        try await withStore { fixture async throws in
            let (users, sessions) = (fixture.store.users, fixture.store.sessions)
            _ = try await users.create(account("ann"), session: session("t1"))
            _ = try await users.create(account("bob"), session: session("b1"))
            _ = try await users.open("id-ann", session: session("t2"))
            _ = try await users.open("id-bob", session: session("old", expiresAt: Timestamp(microseconds: 0)))
            #expect(try await sessions.delete(tokenHash: hash("t1")))
            #expect(try await !sessions.delete(tokenHash: hash("t1")))
            #expect(try await sessions.session(tokenHash: hash("t1")) == nil)
            #expect(try await sessions.session(tokenHash: hash("t2")) != nil)
            #expect(try await sessions.purgeExpired() == 1)
            #expect(try await sessions.session(tokenHash: hash("b1")) != nil)
        }
    }

    // MARK: Roles

    @Test func rolesAreAssignedRevokedAndListed() async throws {
        try await withStore { fixture async throws in
            let (users, roles) = (fixture.store.users, fixture.store.roles)
            for name in ["ann", "bob"] { _ = try await users.create(account(name), session: session(name)) }
            try await roles.assign(["b", "a", "a"], to: ["id-ann", "id-bob", "nobody"])
            try await roles.assign(["a"], to: ["id-ann"])
            try await roles.revoke(["b", "unknown"], from: ["id-bob", "nobody"])
            let found = try await roles.roles(of: ["id-ann", "id-bob", "nobody"])
            #expect(found == ["id-ann": ["a", "b"], "id-bob": ["a"], "nobody": []])
        }
    }

    @Test func usersAndRolesAreThoseOfTheirBytes() async throws {
        try await withStore { fixture async throws in
            let (users, roles) = (fixture.store.users, fixture.store.roles)
            let ids: [UserID] = ["\u{E9}", "e\u{301}"]
            for id in ids {
                _ = try await users.create(NewAccount(id: id, passwordHash: nil, profile: []), session: nil)
            }
            // New names are in one form; a role from before that was asked for has the other one.
            try await fixture.psql(
                """
                ALTER TABLE _role DISABLE TRIGGER _check_role; INSERT INTO _role (name) VALUES ('e\u{301}');
                ALTER TABLE _role ENABLE TRIGGER _check_role
                """
            )
            try await roles.assign(["\u{E9}"], to: [ids[0]])
            try await roles.assign(["e\u{301}"], to: [ids[1]])
            #expect(try await roles.roles(of: ids) == [ids[0]: ["\u{E9}"], ids[1]: ["e\u{301}"]])
            try await roles.revoke(["e\u{301}"], from: ids)
            #expect(try await roles.roles(of: ids) == [ids[0]: ["\u{E9}"], ids[1]: []])
        }
    }

    @Test func defaultAndAdminRolesAreReplaced() async throws {
        try await withStore { fixture async throws in
            let roles = fixture.store.roles
            try await roles.setDefault(["a", "b"])
            try await roles.setDefault(["b", "c", "c"])
            try await roles.setAdmin(["boss", "b"])
            let stored = try await fixture.psql(
                "SELECT name, by_default, is_admin FROM _role ORDER BY name COLLATE \"C\""
            )
            #expect(stored == "Admin|f|f\na|f|f\nb|t|t\nboss|f|t\nc|t|f")
            try await roles.setAdmin([])
            #expect(try await fixture.psql("SELECT count(*) FROM _role WHERE is_admin") == "0")
        }
    }

    // MARK: Notices

    @Test(arguments: [
        ("DELETE FROM _session WHERE token_hash = 't1'", ["token:7431"]),
        ("DELETE FROM _session", ["token:7431", "token:7432"]),
        ("DELETE FROM _session WHERE token_hash = 'expired'", []),
        ("UPDATE _user SET disabled = true", ["user:id-ann"]),
        ("UPDATE _user SET password_hash = 'x'", ["user:id-ann"]),
        ("UPDATE _user SET last_seen_at = now()", []),
        ("INSERT INTO _user_role VALUES ('id-ann', 'Admin')", ["user:id-ann"]),
        ("DELETE FROM _user_role", ["user:id-ann"]),
        ("UPDATE _role SET is_admin = true", ["all"]),
        ("UPDATE _role SET by_default = true", []),
        ("DELETE FROM _role WHERE name = 'writer'", ["all", "user:id-ann"]),
        ("TRUNCATE _session CASCADE", ["all"]),
        ("DELETE FROM \"user\"", ["token:7431", "token:7432", "user:id-ann"]),
        (
            "INSERT INTO _session SELECT i::text::bytea, 'id-ann' FROM generate_series(1, 200) i; DELETE FROM _session",
            ["all"]
        ),
    ])
    func whatIsDoneInPsqlIsAnnounced(_ statement: String, _ expected: [String]) async throws {
        try await withStore { fixture async throws in
            _ = try await fixture.store.users.create(account("ann"), session: session("t1"))
            _ = try await fixture.store.users.open("id-ann", session: session("t2"))
            try await fixture.psql(
                """
                INSERT INTO _session (token_hash, user_id, expires_at) VALUES ('expired', 'id-ann', '2000-01-01');
                INSERT INTO _role (name) VALUES ('writer');
                INSERT INTO _user_role VALUES ('id-ann', 'writer');
                """
            )
            var heard: Set<String> = []
            for await event in fixture.store.client.listen(try await fixture.store.channel(of: .session)) {
                switch event {
                case .connected:
                    try await fixture.psql("\(statement); SELECT _notify('session', '/end')")
                case .reconnected, .silent:
                    Issue.record("The connection was lost")
                case .notification(_, "app/end", _):
                    // Other applications of the database hear them too, and leave them alone.
                    #expect(heard == Set(expected.map { "app/\($0)" }))
                    return
                case .notification(_, let payload, _):
                    heard.insert(payload)
                }
            }
        }
    }
}
