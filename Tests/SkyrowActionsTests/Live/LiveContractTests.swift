import SkyrowModel
import SkyrowPostgres
import SkyrowProtocol
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

/// Random commits of three connections, over both sources: what a client holds that applies what it is sent is what a query
/// of its caller finds, and what an oracle of the test's own says.
@Suite(.timeLimit(.minutes(60))) struct LiveContractTests {
    /// A subscription, its owner, and what it asks for in the words of the oracle.
    private struct Watcher {
        let user: LiveUser
        let name: String
        let predicate: RecordPredicate?
        let matches: @Sendable (Row) -> Bool
    }

    /// A row as psql sees it.
    private struct Row {
        let id: String
        let title: String?
        let n: Int?
        let tags: [String]
        let owner: String?
        /// nil where there is no list.
        let access: [String: String]?

        var values: [String?] { [title, n.map { "\($0)" }] }
    }

    private static func comparison(
        _ path: String,
        _ comparison: ComparisonOperator,
        _ value: RecordValue
    ) -> RecordPredicate {
        .comparison(comparison, .keyPath(FieldPath(unchecked: path)), .value(value))
    }

    @Test(arguments: [LiveConfiguration.Source.logical, .polling])
    func whatIsHeldIsWhatIsThere(_ source: LiveConfiguration.Source) async throws {
        var random = SeededGenerator.forTest()
        let rounds = seededCases(20)
        let commits = 16
        try await withLiveService(source) { fixture in
            let (ann, bob) = (try await fixture.user("ann"), try await fixture.user("bob"))
            try await fixture.psql(
                "INSERT INTO _role (name) VALUES ('editor'); "
                    + "INSERT INTO _user_role (user_id, role) VALUES ('\(ann.caller.userID?.rawValue ?? "")', 'editor')"
            )
            // The session is remembered as it was before.
            fixture.service.forget(.all)
            let editor = LiveUser(
                caller: try await fixture.service.authenticate(ann.credentials, for: .user),
                credentials: ann.credentials
            )
            #expect(editor.caller.roles.map(\.rawValue) == ["editor"])
            let outlet = MemoryOutlet()
            let session = LiveSession(of: fixture.service, outlet: outlet)
            let watchers = Self.watchers([editor, bob, .anonymous, .master])
            for watcher in watchers {
                try await session.subscribe(
                    LiveSubscribeRequest(
                        name: watcher.name,
                        type: type("note"),
                        predicate: watcher.predicate,
                        sendsInitial: true
                    ),
                    as: watcher.user
                )
            }
            for watcher in watchers { try await outlet.waitUntilReady(watcher.name) }
            let users = [ann, bob].compactMap { $0.caller.userID?.rawValue }
            for round in 0..<rounds {
                var scripts: [[String]] = [[], [], []]
                for place in 0..<commits { scripts[place % 3].append(Self.transaction(users, &random)) }
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for script in scripts {
                        group.addTask {
                            for transaction in script {
                                // A conflict between writers rolls one of them back.
                                _ = try? await fixture.change(transaction)
                            }
                        }
                    }
                    try await group.waitForAll()
                }
                let rows = try await Self.rows(fixture)
                for watcher in watchers {
                    let seen = rows.filter { Self.sees($0, watcher.user) && watcher.matches($0) }
                    let expected = Dictionary(uniqueKeysWithValues: seen.map { ("note/\($0.id)", $0.values) })
                    // Values too: the last change may come after the record is held.
                    func held() -> [String: [String?]] {
                        outlet.held(watcher.name).mapValues { [$0["title"], $0["n"]] }
                    }
                    do {
                        try await waiting(
                            until: "round \(round): \(watcher.name) holds what is there",
                            hearing: [outlet]
                        ) {
                            held() == expected
                        }
                    } catch {
                        Issue.record("\(error): holds \(held()), expected \(expected)")
                    }
                    let queried = try await fixture.service.query(
                        QueryRequest(
                            database: .everyone,
                            query: RecordQuery(type: type("note"), predicate: watcher.predicate)
                        ),
                        by: watcher.user.caller
                    ).records.compactMap { $0.collected() }
                    #expect(Set(queried.map(\.id.description)) == Set(expected.keys))
                }
            }
            #expect(outlet.faults == [])
            let count = outlet.events.count
            #expect(count > rounds * watchers.count)
            session.end()
        }
    }

    private static func watchers(_ users: [LiveUser]) -> [Watcher] {
        let either = RecordPredicate.or([comparison("title", .eq, .string("a")), comparison("n", .eq, .integer(2))])
        let both = RecordPredicate.and([comparison("title", .eq, .string("b")), comparison("n", .gt, .integer(1))])
        let queries: [(String, RecordPredicate?, @Sendable (Row) -> Bool)] = [
            ("all", nil, { _ in true }),
            ("title", comparison("title", .eq, .string("a")), { $0.title == "a" }),
            ("either", either, { $0.title == "a" || $0.n == 2 }),
            ("both", both, { $0.title == "b" && ($0.n ?? 0) > 1 }),
            ("tag", comparison("tags", .contains, .string("x")), { $0.tags.contains("x") }),
            ("not", .not(comparison("n", .lt, .integer(2))), { $0.n.map { $0 >= 2 } ?? false }),
        ]
        var watchers: [Watcher] = []
        for (place, user) in users.enumerated() {
            for (name, predicate, matches) in queries {
                watchers.append(Watcher(user: user, name: "\(name)\(place)", predicate: predicate, matches: matches))
            }
        }
        return watchers
    }

    /// The rules of access in words of their own: the master key, no list, the owner, and an entry that names one.
    private static func sees(_ row: Row, _ user: LiveUser) -> Bool {
        if user.caller.isMaster { return true }
        guard let access = row.access else { return true }
        if access["public"] != nil { return true }
        guard let id = user.caller.userID?.rawValue else { return false }
        if row.owner == id || access["user:\(id)"] != nil || access["users"] != nil { return true }
        return user.caller.roles.contains { access["role:\($0.rawValue)"] != nil }
    }

    private static func rows(_ fixture: ServiceFixture) async throws -> [Row] {
        let result = try await fixture.service.store.client.read(
            """
            SELECT _id, title, n, coalesce(tags, '{}'), _owner,
                CASE WHEN _access IS NOT NULL THEN ARRAY(SELECT jsonb_object_keys(_access)) END FROM app.note
            """
        )
        return try (0..<result.rowCount).map { row in
            let keys = try result.decode(row: row, column: 5, as: [String]?.self)
            return Row(
                id: try result.decode(row: row, column: 0),
                title: try result.decode(row: row, column: 1),
                n: try result.decode(row: row, column: 2, as: Int64?.self).map { Int($0) },
                tags: try result.decode(row: row, column: 3),
                owner: try result.decode(row: row, column: 4),
                access: keys.map { Dictionary(uniqueKeysWithValues: $0.map { ($0, "read") }) }
            )
        }
    }

    // MARK: Writers

    private static func transaction(_ users: [String], _ random: inout SeededGenerator) -> String {
        var statements: [String] = []
        for _ in 0..<Int.random(in: 1...3, using: &random) {
            let id = "k\(Int.random(in: 0..<12, using: &random))"
            statements.append(statement(id, users, &random))
        }
        switch Int.random(in: 0..<8, using: &random) {
        case 0:
            statements.insert("SAVEPOINT s", at: 0)
            statements.append("ROLLBACK TO s")
        case 1: statements += ["DO $$ BEGIN RAISE EXCEPTION 'undone'; END $$"]
        default: break
        }
        return statements.joined(separator: ";\n")
    }

    private static func statement(_ id: String, _ users: [String], _ random: inout SeededGenerator) -> String {
        let owner = (users.map { "'\($0)'" } + ["NULL"]).randomElement(using: &random) ?? "NULL"
        let lists =
            ["NULL", "'{}'", "'{\"public\": \"read\"}'", "'{\"users\": \"read\"}'", "'{\"role:editor\": \"read\"}'"]
            + users.map { "'{\"user:\($0)\": \"read\"}'" }
        let list = lists.randomElement(using: &random) ?? "NULL"
        let title = ["'a'", "'b'", "NULL"].randomElement(using: &random) ?? "NULL"
        let n = ["1", "2", "3", "NULL"].randomElement(using: &random) ?? "NULL"
        let tags = ["'{x}'", "'{y,x}'", "'{}'", "NULL"].randomElement(using: &random) ?? "NULL"
        switch Int.random(in: 0..<10, using: &random) {
        case 0, 1, 2:
            return """
                INSERT INTO note (_id, title, n, tags, _owner, _access) VALUES ('\(id)', \(title), \(n), \(tags), \(owner), \(list))
                ON CONFLICT (_id) DO UPDATE SET title = EXCLUDED.title, n = EXCLUDED.n
                """
        case 3, 4: return "UPDATE note SET title = \(title), n = \(n) WHERE _id = '\(id)'"
        case 5: return "UPDATE note SET tags = \(tags) WHERE _id = '\(id)'"
        case 6: return "UPDATE note SET _access = \(list) WHERE _id = '\(id)'"
        case 7: return "UPDATE note SET _owner = \(owner) WHERE _id = '\(id)'"
        case 8: return "DELETE FROM note WHERE _id = '\(id)'"
        default:
            return
                "DELETE FROM note WHERE _id = '\(id)'; INSERT INTO note (_id, title, _access) VALUES ('\(id)', \(title), \(list))"
        }
    }
}
