import SkyrowModel
import SkyrowPostgres
import SkyrowProtocol
import SkyrowTestSupport
import Testing

@testable import SkyrowStore

/// What the tables of roles keep true by themselves, also for psql and for several at once.
@Suite(.timeLimit(.minutes(60))) struct RoleClosureTests {
    private func makeRoles(_ f: StoreFixture, _ count: Int) async throws {
        try await f.psql("INSERT INTO _role (name) SELECT 'r' || i FROM generate_series(1, \(count)) AS i")
    }

    /// Two additions, each of which would be right alone, never make a circle of two.
    @Test func ofTwoSidesOfACircleOneIsRefused() async throws {
        try await withStore { f async throws in
            try await makeRoles(f, 2)
            let (store, rounds) = (f.store, 60)
            for _ in 0..<rounds {
                func add(_ role: RoleName, _ member: RoleName) async throws -> ErrorCode? {
                    do throws(SkyrowError) {
                        _ = try await store.withTransaction { transaction throws(SkyrowError) in
                            try await store.roles.add(RoleChange(role: role, roles: [member]), in: transaction)
                        }
                        return nil
                    } catch {
                        return error.code
                    }
                }
                async let one = add("r1", "r2")
                async let other = add("r2", "r1")
                let codes = try await [one, other]
                #expect(codes.filter { $0 == nil }.count == 1)
                #expect(codes.filter { $0 == .duplicated }.count == 1)
                #expect(try await f.psql("SELECT count(*) FROM _role_role") == "1")
                try await f.psql("DELETE FROM _role_role")
            }
        }
    }

    @Test(arguments: [
        "INSERT INTO _role_role VALUES ('r1', 'r1')", "INSERT INTO _role_role VALUES ('r1', 'r3')",
        "UPDATE _role_role SET role = 'r1', member = 'r3' WHERE role = 'r2'",
    ])
    func psqlMakesNoCircleEither(_ statement: String) async throws {
        try await withStore { f async throws in
            try await makeRoles(f, 4)
            try await f.psql("INSERT INTO _role_role VALUES ('r2', 'r1'), ('r3', 'r2'), ('r4', 'r1')")
            if statement.hasPrefix("UPDATE") { try await f.psql("INSERT INTO _role_role VALUES ('r3', 'r1')") }
            let error = await #expect(throws: (any Error).self) { try await f.psql(statement) }
            #expect(error.map { "\($0)".contains("cannot contain itself") } ?? false)
        }
    }

    /// A circle from before the trigger, or from a superuser who switched it off, does not keep a look-up from ending.
    @Test func aLookUpEndsWhateverTheTablesHold() async throws {
        try await withStore { f async throws in
            try await makeRoles(f, 3)
            _ = try await f.store.users.create(
                NewAccount(id: "ann", passwordHash: nil, profile: []),
                session: NewSession(tokenHash: [1], expiresAt: nil)
            )
            try await f.psql(
                """
                INSERT INTO _user_role VALUES ('ann', 'r1');
                ALTER TABLE _role_role DISABLE TRIGGER _check_role_role;
                INSERT INTO _role_role VALUES ('r2', 'r1'), ('r3', 'r2'), ('r1', 'r3')
                """
            )
            let session = try #require(try await f.store.sessions.session(tokenHash: [1]))
            #expect(session.roles == ["r1", "r2", "r3"])
        }
    }

    @Test func aUserHasAtMostAThousandRoles() async throws {
        try await withStore { f async throws in
            try await makeRoles(f, 1002)
            _ = try await f.store.users.create(
                NewAccount(id: "ann", passwordHash: nil, profile: []),
                session: NewSession(tokenHash: [1], expiresAt: nil)
            )
            let roles = (1...1000).map { RoleName("r\($0)") }
            try await f.store.roles.assign(roles, to: ["ann"])
            #expect(try await f.store.sessions.session(tokenHash: [1])?.roles.count == 1000)
            await #expect(throws: SkyrowError.self) { try await f.store.roles.assign(["r1001"], to: ["ann"]) }
            // One more by way of a role that she has: what the statement at hand does not see, the look-up refuses.
            try await f.psql("INSERT INTO _role_role VALUES ('r1001', 'r1')")
            let error = await #expect(throws: SkyrowError.self) { try await f.store.sessions.session(tokenHash: [1]) }
            #expect(error?.code == .invalidArgument)
            // A role by itself gives no more either.
            try await f.psql("DELETE FROM _user_role; DELETE FROM _role_role")
            // Checking each of them on the way would take a minute.
            try await f.psql(
                """
                ALTER TABLE _role_role DISABLE TRIGGER _check_role_role;
                INSERT INTO _role_role SELECT 'r' || i + 1, 'r' || i FROM generate_series(1, 999) AS i;
                ALTER TABLE _role_role ENABLE TRIGGER _check_role_role
                """
            )
            let further = await #expect(throws: (any Error).self) {
                try await f.psql("INSERT INTO _role_role VALUES ('r1', 'r1001')")
            }
            #expect(further.map { "\($0)".contains("at most 1000 roles") } ?? false)
            try await f.psql("INSERT INTO _user_role VALUES ('ann', 'r1')")
            #expect(try await f.store.sessions.session(tokenHash: [1])?.roles.count == 1000)
        }
    }

    @Test(arguments: [
        ("DELETE FROM _role WHERE name = 'r1'", "r1"), ("UPDATE _role SET name = 'other' WHERE name = 'r1'", "r1"),
        ("UPDATE _role SET is_admin = true", ""), ("TRUNCATE _role CASCADE", "Admin\nr1\nr2"),
    ])
    func aRoleThatIsGoneLeavesATombstone(_ statement: String, _ expected: String) async throws {
        try await withStore { f async throws in
            try await makeRoles(f, 2)
            try await f.psql(statement)
            let left = try await f.psql("SELECT id FROM _tombstone WHERE type = '_role' ORDER BY id COLLATE \"C\"")
            #expect(left == expected)
        }
    }

    @Test(arguments: [
        ("INSERT INTO _role_role VALUES ('r1', 'r2')", ["all"]),
        ("INSERT INTO _user_group VALUES ('ann', 'golf')", ["user:ann"]),
        ("DELETE FROM _user_group", ["user:ann"]), ("TRUNCATE _user_group", ["all"]), ("TRUNCATE _role_role", ["all"]),
        ("UPDATE _role SET access = '{}'", []),
    ])
    func changesInPsqlAreAnnounced(_ statement: String, _ expected: [String]) async throws {
        try await withStore { f async throws in
            try await makeRoles(f, 2)
            _ = try await f.store.users.create(NewAccount(id: "ann", passwordHash: nil, profile: []), session: nil)
            try await f.psql("INSERT INTO _user_group VALUES ('ann', 'chess')")
            var heard: Set<String> = []
            for await event in f.store.client.listen(try await f.store.channel(of: .session)) {
                switch event {
                case .connected: try await f.psql("\(statement); SELECT _notify('session', '/end')")
                case .reconnected, .silent: Issue.record("The connection was lost")
                case .notification(_, "app/end", _):
                    #expect(heard == Set(expected.map { "app/\($0)" }))
                    return
                case .notification(_, let payload, _): heard.insert(payload)
                }
            }
        }
    }

    @Test(arguments: [#"{"user:ann": "admin"}"#, "[]", #"{"user:ann": ["read"]}"#])
    func aListOfARoleIsOneOfLevels(_ list: String) async throws {
        try await withStore { f async throws in
            try await makeRoles(f, 1)
            await #expect(throws: (any Error).self) { try await f.psql("UPDATE _role SET access = '\(list)'") }
            try await f.psql(#"UPDATE _role SET access = '{"user:ann": "update", "public": "read"}'"#)
        }
    }

    @Test func aGroupOfAUserIsNamedAndCountedInPsqlToo() async throws {
        try await withStore { f async throws in
            _ = try await f.store.users.create(NewAccount(id: "ann", passwordHash: nil, profile: []), session: nil)
            for name in ["", " a", "a\u{A0}", "e\u{301}", String(repeating: "x", count: 65)] {
                await #expect(throws: (any Error).self) {
                    try await f.psql("INSERT INTO _user_group VALUES ('ann', '\(name)')")
                }
            }
            try await f.psql("INSERT INTO _user_group SELECT 'ann', 'g' || i FROM generate_series(1, 200) AS i")
            await #expect(throws: (any Error).self) {
                try await f.psql("INSERT INTO _user_group VALUES ('ann', 'more')")
            }
            await #expect(throws: (any Error).self) {
                try await f.psql("UPDATE _user_group SET name = '' WHERE name = 'g1'")
            }
        }
    }
}
