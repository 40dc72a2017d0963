import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowPostgres
@testable import SkyrowStore

/// The third interpreter beside the one in memory: random rules, lists and callers, asked by logins of PostgreSQL.
@Suite(.timeLimit(.minutes(60))) struct PolicyAgreementTests {
    private struct Row {
        var id: String
        var owner: UserID?
        var access: AccessList?
        var title: String?
        var labels: [String]?
        var home: DatabaseScope
    }

    private struct Edge: Hashable {
        var from: UserID
        var relation: String
        var to: UserID
    }

    /// The users, each with a login of another name.
    private static let users: [(login: String, id: UserID)] = [
        ("ann", "ann"), ("bob", "bob"), ("brien", "o'brien"), ("cafe", "cafe\u{301}"),
    ]

    private static func rules(_ random: inout SeededGenerator) -> ClassAccess {
        var access = ClassAccess()
        let subjects: [Subject] = [
            .everyone, .users, .registered, .owner, .user("ann"), .user("bob"), .role("a"), .role("over"),
            .role("null"),
            .group("golf"), .apiKey("tablet"), .field(field("title")), .field(field("labels")),
        ]
        for action in ClassAction.allCases where Int.random(in: 0..<5, using: &random) > 0 {
            let count = [0, 1, 1, 2, 4].randomElement(using: &random)!
            let mode = action == .create ? .default : ClassRule.Mode.allCases.randomElement(using: &random)!
            let fitting = subjects.filter { $0.fits(action) }
            access.rules[action] = ClassRule(Array(fitting.shuffled(using: &random).prefix(count)), mode)
        }
        return access
    }

    private static func rows(_ random: inout SeededGenerator) -> [Row] {
        (0..<200).map { number in
            func chance(_ count: Int) -> Bool { Int.random(in: 0..<count, using: &random) == 0 }
            let home = chance(8) ? DatabaseScope.user(users.randomElement(using: &random)!.id) : .everyone
            var row = Row(id: "\(number)", home: home)
            if !chance(4) { row.owner = users.randomElement(using: &random)!.id }
            if case .user(let user) = home { (row.owner, row.id) = (user, "~\(user)/\(number)") }
            if !chance(3) {
                let subjects: [Subject] = [
                    .everyone, .users, .user("bob"), .role("a"), .role("null"), .role("over"), .registered,
                    .group("golf"), .apiKey("tablet"), .relation(.friend), .relation(.follower), .relation(.followed),
                ]
                row.access = AccessList(
                    subjects.shuffled(using: &random).prefix(Int.random(in: 0..<3, using: &random)).map {
                        AccessEntry($0, AccessLevel.allCases.randomElement(using: &random)!)
                    }
                )
            }
            if chance(2) { row.title = users.randomElement(using: &random)!.id.rawValue }
            if chance(2) { row.labels = users.shuffled(using: &random).prefix(2).map(\.id.rawValue) }
            return row
        }
    }

    private static func callers(_ f: PolicyFixture, _ random: inout SeededGenerator) async throws -> [String: Caller] {
        try await f.psql("INSERT INTO _role (name) VALUES ('a'), ('null'), ('over'), ('idle')")
        // Who has the role a has the role that contains it.
        try await f.psql("INSERT INTO _role_role (role, member) VALUES ('over', 'a')")
        var callers: [String: Caller] = [:]
        for (login, id) in users {
            let client = f.records.client
            _ = try await client.write("INSERT INTO app.\"user\" (_id) VALUES (\(id)) ON CONFLICT DO NOTHING")
            _ = try await client.write("INSERT INTO app_internal._user (id) VALUES (\(id)) ON CONFLICT DO NOTHING")
            let isRegistered = Bool.random(using: &random)
            if isRegistered {
                _ = try await client.write("UPDATE app_internal._user SET password_hash = 'x' WHERE id = \(id)")
            }
            // An address that was proved is a way in, too.
            let isVerified = Bool.random(using: &random)
            let hasProved = isVerified || Bool.random(using: &random)
            if hasProved {
                let address = isVerified ? "a-\(id)@example.org" : "former@example.org"
                _ = try await client.write("UPDATE app_internal._user SET verified_email = \(address) WHERE id = \(id)")
                _ = try await client.write("UPDATE app.\"user\" SET email = \("a-\(id)@example.org") WHERE _id = \(id)")
            }
            let given: [RoleName] = ["a", "null", "idle"].filter { _ in Bool.random(using: &random) }
            for role in given {
                _ = try await client.write(
                    "INSERT INTO app_internal._user_role (user_id, role) VALUES (\(id), \(role.rawValue))"
                )
            }
            let isGolfer = Bool.random(using: &random)
            if isGolfer {
                _ = try await client.write(
                    "INSERT INTO app_internal._user_group (user_id, name) VALUES (\(id), 'golf')"
                )
            }
            callers[login] = Caller(
                kind: .user(id),
                roles: given + (given.contains("a") ? ["over"] : []),
                groups: isGolfer ? ["golf"] : [],
                isRegistered: isRegistered || hasProved,
                isVerified: isVerified
            )
        }
        return callers
    }

    private static func edges(_ f: PolicyFixture, _ random: inout SeededGenerator) async throws -> Set<Edge> {
        var edges: Set<Edge> = []
        for (_, from) in users {
            for (_, to) in users where to != from {
                for relation in ["friend", "follow"] where Int.random(in: 0..<3, using: &random) > 0 {
                    edges.insert(Edge(from: from, relation: relation, to: to))
                }
            }
        }
        for edge in edges {
            _ = try await f.records.client.write(
                "INSERT INTO app_internal._relation (user_id, name, other_id) VALUES (\(edge.from), \(edge.relation), \(edge.to))"
            )
        }
        return edges
    }

    /// What a login reads, updates and deletes of all records, and whether it may make one, as lines.
    private static let questions = """
        SELECT 'read ' || _id FROM note;
        BEGIN; WITH done AS (UPDATE note SET stars = 7 RETURNING _id) SELECT 'update ' || _id FROM done; ROLLBACK;
        BEGIN; WITH done AS (DELETE FROM note RETURNING _id) SELECT 'delete ' || _id FROM done; ROLLBACK;
        DO $$ BEGIN
            INSERT INTO note (_id) VALUES ('made'); RAISE EXCEPTION 'undone';
        EXCEPTION WHEN insufficient_privilege THEN NULL; WHEN raise_exception THEN
            PERFORM set_config('x.made', 'create', false);
        END $$;
        SELECT current_setting('x.made', true) WHERE current_setting('x.made', true) <> '';
        """

    @Test func aLoginReachesByStatementsWhatItsUserReachesByTheService() async throws {
        try await withPolicies { f in
            var random = SeededGenerator.forTest()
            try await f.psql("ALTER TABLE note ADD COLUMN labels text[]")
            let rows = Self.rows(&random)
            for row in rows {
                let list = row.access.map { PostgresJSONB($0.storedJSON) }
                let home = if case .user(let user) = row.home { user.rawValue } else { "_public" }
                _ = try await f.records.client.write(
                    """
                    INSERT INTO app.note (_id, _database, _owner, _access, title, labels) VALUES (\(row.id), \(home),
                        \(row.owner as UserID?), \(list as PostgresJSONB?), \(row.title as String?), \(row.labels as [String]?))
                    """
                )
            }
            let callers = try await Self.callers(f, &random)
            let edges = try await Self.edges(f, &random)
            func isRelated(_ user: UserID, _ relation: Subject.Relation, _ owner: UserID) -> Bool {
                func has(_ from: UserID, _ relation: String, _ to: UserID) -> Bool {
                    edges.contains(Edge(from: from, relation: relation, to: to))
                }
                return switch relation {
                case .friend: has(user, "friend", owner) && has(owner, "friend", user)
                case .follower: has(user, "follow", owner)
                case .followed: has(owner, "follow", user)
                }
            }
            try await f.apply(["ann": "ann", "bob": "bob", "brien": "o'brien", "cafe": "cafe\u{301}"])
            var (admitted, refused, byRelation, made) = (0, 0, 0, 0)
            for _ in 0..<seededCases(8) {
                let access = Self.rules(&random)
                _ = try await f.store.classAccess.change(ClassAccessChange(type: type("note"), to: access))
                try await f.apply([:])
                let rules = try #require(f.store.cache.current[type("note")]).rules
                for (login, caller) in callers {
                    let lines = Set(try await f.sql(login, Self.questions).rows)
                    var expected: Set<String> = []
                    for action in AccessAction.allCases {
                        for database in [DatabaseScope.everyone, .user(caller.userID!)] {
                            let scope = RecordAccess(in: database, for: .writing, by: caller).of(rules).scope(
                                of: action
                            )
                            for row in rows
                            where scope.admits(
                                database: row.home,
                                owner: row.owner,
                                access: row.access,
                                isMember: { member, user in
                                    member.isArray
                                        ? row.labels?.contains { $0.isSameText(as: user.rawValue) } ?? false
                                        : row.title?.isSameText(as: user.rawValue) ?? false
                                },
                                isRelated: { user, relation, owner in
                                    let holds = isRelated(user, relation, owner)
                                    if holds { byRelation += 1 }
                                    return holds
                                }
                            ) {
                                expected.insert("\(action) \(row.id)")
                            }
                        }
                    }
                    if RecordAccess(caller).of(rules).mayCreate {
                        expected.insert("create")
                        made += 1
                    }
                    let same = lines == expected
                    #expect(
                        same,
                        "seed \(random.seed): \(login) \(access.rules) \(lines.symmetricDifference(expected))"
                    )
                    admitted += expected.count
                    refused += 3 * rows.count - expected.count
                }
                #expect(try await f.differences() == [])
            }
            #expect(admitted > seededCases(1000) && refused > seededCases(1000) && byRelation > seededCases(15))
            #expect(made > seededCases(2) && made < seededCases(30))
        }
    }

    private static let subjects: [Subject] = [
        .everyone, .users, .registered, .owner, .user("ann"), .role("a"), .role("null"), .group("golf"),
        .apiKey("tablet"), .field(field("labels")), .field(field("due_to")),
    ]

    @Test func aLoginSeesTheFieldsThatItsUserSees() async throws {
        try await withPolicies { f in
            var random = SeededGenerator.forTest()
            try await f.psql("ALTER TABLE note ADD COLUMN labels text[], ADD COLUMN due_to text")
            try await f.store.cache.reload()
            let callers = try await Self.callers(f, &random)
            for number in 0..<12 {
                let owner = Self.users[number % 4].id
                _ = try await f.records.client.write(
                    """
                    INSERT INTO app.note (_id, _owner, title, stars, labels, due_to)
                    VALUES (\("\(number)"), \(owner), \("t\(number)"), \(Int64(number)),
                        \([Self.users[number / 3 % 4].id.rawValue, "x"]), \(Self.users[number / 2 % 4].id))
                    """
                )
            }
            try await f.apply(["ann": "ann", "bob": "bob", "brien": "o'brien", "cafe": "cafe\u{301}"])
            var (seen, hidden, changed, kept) = (0, 0, 0, 0)
            for _ in 0..<seededCases(8) {
                var access = ClassAccess()
                for name in ["title", "stars"] {
                    for use in [FieldUse.create, .read, .update] where Int.random(in: 0..<3, using: &random) > 0 {
                        let count = [0, 1, 1, 2].randomElement(using: &random)!
                        access.fields[field(name), default: [:]][use] = FieldSubjects(
                            Self.subjects.filter { $0.fits(use) }.shuffled(using: &random).prefix(count)
                        )
                    }
                }
                access.rules[.update] = ClassRule([.users], .override)
                try await f.psql("DELETE FROM _field_rule")
                _ = try await f.store.classAccess.change(ClassAccessChange(type: type("note"), to: access))
                try await f.apply([:])
                let table = try #require(f.store.cache.current[type("note")])
                let isViewed = try await f.psql("SELECT to_regclass('app_visible.note') IS NOT NULL") == "t"
                for (login, caller) in callers {
                    let fields = RecordAccess(caller).fields
                    func stands(_ use: FieldUse, _ name: String, _ number: Int) -> Bool {
                        table.rules.fields.standing(use, of: field(name), for: fields)
                            .holds(isOwner: Self.users[number % 4].id == caller.userID) { member in
                                Self.users[member.isArray ? number / 3 % 4 : number / 2 % 4].id == caller.userID
                            }
                    }
                    var expected: [String] = []
                    for number in 0..<12 {
                        let title = stands(.read, "title", number) ? "t\(number)" : "-"
                        let stars = stands(.read, "stars", number) ? "\(number)" : "-"
                        expected.append("\(number) \(title) \(stars)")
                        seen += title == "-" ? 0 : 1
                        hidden += title == "-" ? 1 : 0
                    }
                    let columns = try await f.psql(
                        """
                        SELECT string_agg(format('coalesce(%s::text, ''-'')', CASE WHEN EXISTS (
                            SELECT FROM pg_attribute WHERE attrelid = '\(isViewed ? "app_visible" : "app").note'::regclass
                                AND attname = name
                        ) THEN name ELSE 'NULL' END), ' || '' '' || ' ORDER BY name DESC)
                        FROM unnest('{title,stars}'::text[]) AS name
                        """
                    )
                    let rows = try await f.sql(
                        login,
                        "SELECT _id || ' ' || \(columns) FROM \(isViewed ? "app_visible" : "app").note"
                    ).rows
                    #expect(rows == expected.sorted(), "seed \(random.seed): \(login) \(access.fields)")
                    // A value that is another one, and the one that is there.
                    let changes = [true, false].flatMap { isNew in (0..<4).map { (isNew, $0) } }
                    let done = try await f.sql(
                        login,
                        changes.map { isNew, number in
                            """
                            DO $$ BEGIN
                                PERFORM set_config('x.done', 'no', false);
                                BEGIN
                                    UPDATE note SET title = '\(isNew ? "new" : "t\(number)")' WHERE _id = '\(number)';
                                    RAISE EXCEPTION 'undone';
                                EXCEPTION WHEN insufficient_privilege THEN NULL; WHEN raise_exception THEN
                                    PERFORM set_config('x.done', 'yes', false);
                                END;
                            END $$;
                            SELECT current_setting('x.done');
                            """
                        }.joined(separator: "\n")
                    ).split(separator: "\n")
                    try #require(done.count == changes.count)
                    for ((isNew, number), done) in zip(changes, done) {
                        let may = stands(.update, "title", number) || !isNew && stands(.read, "title", number)
                        // A user that the rule refuses in every record has no right to name the column.
                        let isNamed = !(access.fields[field("title")]?[.update] ?? [.users]).isEmpty
                        #expect(
                            done == (may && isNamed ? "yes" : "no"),
                            "seed \(random.seed): \(login) \(access.fields)"
                        )
                        changed += may ? 1 : 0
                        kept += may ? 0 : 1
                    }
                    let made = try await f.sql(
                        login,
                        """
                        DO $$ BEGIN
                            INSERT INTO note (_id, title) VALUES ('made', 'x'); RAISE EXCEPTION 'undone';
                        EXCEPTION WHEN insufficient_privilege THEN NULL; WHEN raise_exception THEN
                            PERFORM set_config('x.done', 'yes', false);
                        END $$;
                        SELECT coalesce(nullif(current_setting('x.done', true), ''), 'no');
                        """
                    )
                    let mayGive = !table.rules.fields.standing(.create, of: field("title"), for: fields).isNever
                    #expect(made == (mayGive ? "yes" : "no"), "seed \(random.seed): \(login) \(access.fields)")
                }
                #expect(try await f.differences() == [])
            }
            #expect(seen > seededCases(25) && hidden > seededCases(25))
            #expect(changed > seededCases(25) && kept > seededCases(25))
        }
    }

    /// Rules about questions and denials, which policies cannot hold, leave no login with more than its user: the type is closed.
    @Test func rulesThatPoliciesCannotHoldAreRefused() async throws {
        try await withPolicies { f in
            try await f.psql("INSERT INTO note (_id, _owner, title) VALUES ('1', 'ann', 'x')")
            try await f.apply(["ann": "ann"])
            #expect(try await f.sql("ann", "SELECT title FROM note") == "x")
            for (type, name) in [("note", "title"), ("note", "*"), ("*", "title"), ("*", "*")] {
                for (use, allow, isHeld) in [
                    ("compare", "{users}", false), ("discover", "{}", false), ("read", "{!user:bob,users}", false),
                    ("update", "{!owner,users}", false), ("read", "{owner}", true),
                ] {
                    let place = "\(type).\(name) \(use) \(allow)"
                    try await f.psql("INSERT INTO _field_rule VALUES ('\(type)', '\(name)', '\(use)', '\(allow)')")
                    try await f.store.cache.reload()
                    let refusal = try await f.refusal("ann", "SELECT title FROM note")
                    #expect(refusal.contains("policies"), "\(place): \(refusal)")
                    do {
                        try await f.apply([:])
                        #expect(isHeld, "\(place)")
                    } catch let error as SkyrowError {
                        #expect(!isHeld && error.code == .invalidArgument, "\(place): \(error)")
                        // It stays as it was.
                        let refusal = try await f.refusal("ann", "SELECT title FROM note")
                        #expect(refusal.contains("policies"), "\(place): \(refusal)")
                    }
                    try await f.psql("DELETE FROM _field_rule")
                    try await f.apply([:])
                    #expect(try await f.sql("ann", "SELECT title FROM note") == "x")
                }
            }
        }
    }
}
