import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowPostgres
@testable import SkyrowStore

@Suite(.timeLimit(.minutes(10))) struct AccessConditionTests {
    static let many = Caller(kind: .user("carl"), roles: (0..<50).map { "role\($0)" })
    static let callers: [Caller] = [
        .anonymous, .ann, Caller(kind: .user("ann"), roles: ["a", "b"]), many, .master,
        Caller(kind: .master(actingAs: "ann")),
    ]
    static let databases: [DatabaseScope] = [.everyone, .user("ann"), .user("bob"), .union]

    @Test(arguments: callers, databases)
    func asManyValuesAreBoundAsThereArePlaceholders(_ caller: Caller, _ database: DatabaseScope) {
        for level in AccessLevel.allCases {
            let scope = AccessScope(caller: caller, level: level, database: database)
            for rows in [AccessScope.Rows.one, .many] {
                let bound = scope.condition(on: "r", variables: nil, rows: rows)
                #expect(bound.bindings.failure == nil)
                #expect(bound.bindings.count == scope.shape.condition(on: "r", rows: rows).parameters.count)
            }
        }
    }

    @Test func theTextIsTheSameForEveryCallerOfAKind() {
        func text(_ caller: Caller, _ level: AccessLevel = .read, _ rows: AccessScope.Rows = .many) -> String {
            AccessScope(caller: caller, level: level, database: .everyone)
                .condition(on: "r", variables: nil, rows: rows).text
        }
        #expect(text(.ann) == text(Caller(kind: .user("carl"), roles: ["a", "b", "c", "d"])))
        #expect(text(.ann) == text(Self.many, .read, .one))
        #expect(text(Self.many) == text(Caller(kind: .user("ann"), roles: ["a", "b", "c", "d", "e"])))
        #expect(
            text(.ann) == #""r"."_database" = '_public' AND ("r"."_access" IS NULL OR "r"."_owner" = $1 "#
                + #"OR ("r"."_access" @> '[{"public": true}]' "#
                + #"AND ("r"."_access" @> '[{"public": true, "level": "read"}]' "#
                + #"OR "r"."_access" @> '[{"public": true, "level": "write"}]')) "#
                + #"OR jsonb_path_exists("r"."_access", 'strict $[*] ? ((@.user_id == $u[*] || @.role == $r[*]) "#
                + #"&& (@.level == "read" || @.level == "write"))', (SELECT $2::text::jsonb), true))"#
        )
        let entry = #"CASE WHEN "r"."_access" -> 3 ->> 'level' IN ('write') THEN "r"."_access" -> 3 ->> 'role' END]"#
        #expect(text(Self.many, .write).contains(entry))
        #expect(text(.anonymous, .write) == "false")
        #expect(text(.master) == #""r"."_database" = '_public'"#)
    }

    @Test func aShapeStandsForOneText() {
        var texts: [AccessShape: String] = [:]
        for caller in Self.callers {
            for database in Self.databases {
                for level in AccessLevel.allCases {
                    let scope = AccessScope(caller: caller, level: level, database: database)
                    let text = scope.condition(on: "r", variables: nil).text
                    #expect(texts.updateValue(text, forKey: scope.shape).map { $0 == text } ?? true)
                }
            }
        }
    }

    /// A stored row as the test made it.
    private struct Row {
        var id: String
        var database: String
        var owner: UserID?
        var access: String?

        var scope: DatabaseScope { database == "_public" ? .everyone : .user(UserID(database)) }
    }

    private static let names = [
        "ann", "bob", "o'brien", "\"q\"", "back\\slash", "caf\u{E9}", "cafe\u{301}", "\u{1F95B}", "a,b", "{x}", "",
        "null", "7", "-1", "true", "[\"ann\"]", "{\"a\": 1}",
    ]

    private func randomRow(_ number: Int, _ random: inout SeededGenerator) -> Row {
        let database =
            Int.random(in: 0..<4, using: &random) == 0 ? ["ann", "bob"].randomElement(using: &random)! : "_public"
        return Row(
            id: database == "_public" ? "\(number)" : "~\(database)/\(number)",
            database: database,
            owner: Bool.random(using: &random) ? Self.names.randomElement(using: &random).map { UserID($0) } : nil,
            access: randomAccess(&random)
        )
    }

    /// A list as the service writes it, or as somebody might in psql.
    private func randomAccess(_ random: inout SeededGenerator) -> String? {
        let odd = [
            "[]", "[1]", "[null]", "[\"ann\"]", "[[{\"public\": true, \"level\": \"read\"}]]",
            "[{\"public\": true}]", "[{\"public\": \"true\", \"level\": \"read\"}]",
            "[{\"public\": false, \"level\": \"read\"}]",
            "[{\"role\": \"ann\"}]", "[{\"level\": \"read\"}]", "[{\"user_id\": null, \"level\": \"read\"}]",
            "[{\"user_id\": [\"ann\"], \"level\": \"read\"}]",
            "[{\"role\": \"ann\", \"user_id\": \"bob\", \"level\": \"write\"}]",
            "[{\"role\": 7, \"level\": \"read\"}, {\"role\": -1, \"level\": \"write\"}]",
            "[{\"role\": true, \"level\": \"write\"}, {\"role\": null, \"level\": \"read\"}]",
            "[{\"role\": [\"ann\"], \"level\": \"read\"}, {\"role\": {\"a\": 1}, \"level\": \"read\"}]",
            "[{\"role\": \"ann\", \"level\": \"create\"}]", "[{\"role\": \"ann\", \"level\": [\"read\"]}]",
            "[{\"public\": true, \"level\": \"read\", \"more\": {\"role\": \"x\", \"level\": \"]\"}}, 7]",
            "[true, {\"user_id\": \"ann\", \"level\": \"write\"}]", "[{\"owner\": true, \"level\": \"write\"}]",
        ]
        switch Int.random(in: 0..<6, using: &random) {
        case 0: return nil
        case 1: return odd.randomElement(using: &random)
        default:
            let entries = (0..<Int.random(in: 0..<7, using: &random)).map { _ in
                let name = Self.names.randomElement(using: &random)!
                let subject: AccessSubject =
                    switch Int.random(in: 0..<8, using: &random) {
                    case 0: .everyone
                    case 1: .owner
                    case 2...4: .user(UserID(name))
                    default: .role(RoleName(name))
                    }
                return AccessEntry(subject, Bool.random(using: &random) ? .read : .write)
            }
            return AccessList(entries).storedJSON
        }
    }

    private func randomCaller(_ random: inout SeededGenerator) -> Caller {
        let roles = Self.names.filter { _ in Int.random(in: 0..<3, using: &random) == 0 }.map { RoleName($0) }
        return switch Int.random(in: 0..<8, using: &random) {
        case 0: .anonymous
        case 1: Caller(kind: .master(actingAs: nil))
        default: Caller(kind: .user(UserID(Self.names.randomElement(using: &random)!)), roles: roles)
        }
    }

    @Test func theDatabaseAndTheMemoryAdmitTheSameRecords() async throws {
        try await withRecords { f in
            var random = SeededGenerator.forTest()
            let rows = (0..<600).map { randomRow($0, &random) }
            _ = try await f.client.write(
                """
                INSERT INTO app.note (_id, _database, _owner, _access) SELECT * FROM unnest(\
                \(rows.map(\.id)), \(rows.map(\.database)), \(rows.map(\.owner)), \
                \(rows.map { $0.access.map { PostgresJSONB($0) } }))
                """
            )
            // What psql made of the texts is what memory judges.
            let stored = try await f.client.read("SELECT _id, _access FROM app.note")
            var lists: [String: AccessList] = [:]
            for row in 0..<stored.rowCount {
                let id = try stored.decode(row: row, column: 0, as: String.self)
                if let json = try stored.decode(row: row, column: 1, as: PostgresJSONB?.self) {
                    json.utf8.withUnsafeBytes { lists[id] = AccessList(storedJSON: $0) }
                }
            }
            for _ in 0..<150 {
                let caller = randomCaller(&random)
                for database in [DatabaseScope.everyone, .user("ann"), .user("bob"), .union] {
                    for level in AccessLevel.allCases {
                        let scope = AccessScope(caller: caller, level: level, database: database)
                        let expected = Set(
                            rows.filter { scope.admits(database: $0.scope, owner: $0.owner, access: lists[$0.id]) }.map(
                                \.id
                            )
                        )
                        for count in [AccessScope.Rows.one, .many] {
                            let result = try await f.client.read(
                                """
                                SELECT "_id" FROM app.note AS "r" WHERE \
                                \(scope.condition(on: "r", variables: nil, rows: count))
                                """
                            )
                            let admitted = Set(try result.decodeColumn(0, as: String.self))
                            #expect(admitted == expected, "seed \(random.seed): \(caller) \(level) \(database)")
                        }
                    }
                }
            }
        }
    }

    @Test func anAccessListComesBackAsItWasStored() {
        for name in Self.names + ["\u{1}\t\n\u{7F}", "a\u{2028}b"] {
            let list = AccessList([
                AccessEntry(.role(RoleName(name)), .read), AccessEntry(.user(UserID(name)), .write),
                AccessEntry(.everyone, .read),
                AccessEntry(.owner, .write),
            ])
            let json = list.storedJSON
            #expect(Array(json.utf8).withUnsafeBytes { AccessList(storedJSON: $0) } == list)
        }
    }

    @Test func fetchingByIDUsesThePrimaryKeyUnderTheAccessCondition() async throws {
        try await withRecords { f in
            try await f.psql(
                """
                INSERT INTO note (_id, _owner, _access) SELECT i, 'bob', CASE WHEN i % 2 = 0 THEN '[]'::jsonb END
                FROM generate_series(1, 20000) AS i;
                ANALYZE note
                """
            )
            for caller in [Caller.anonymous, Caller(kind: .user("ann"), roles: ["a"]), .master] {
                for ids in [["77"], ["77", "78", "79"]] {
                    let sql = FetchStatement.make(
                        ids: ids,
                        table: try #require(f.store.cache.current[type("note")]),
                        access: RecordAccess(caller, for: .reading)
                    ).sql
                    let plan = try await f.client.read("EXPLAIN (ANALYZE, BUFFERS) \(sql)")
                        .decodeColumn(0, as: String.self).joined(separator: "\n")
                    #expect(plan.contains("Index Scan using note_pkey"), "\(plan)")
                    #expect(!plan.contains("Seq Scan"), "\(plan)")
                }
            }
        }
    }
}
