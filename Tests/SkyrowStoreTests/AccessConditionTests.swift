import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowPostgres
@testable import SkyrowStore

@Suite(.timeLimit(.minutes(60))) struct AccessConditionTests {
    static let many = Caller(kind: .user("carl"), roles: (0..<50).map { "role\($0)" })
    static let callers: [Caller] = [
        .anonymous, .ann, Caller(kind: .user("ann"), roles: ["a", "b"]), many, .master,
        Caller(kind: .master(actingAs: "ann")),
    ]
    static let databases: [DatabaseScope] = [.everyone, .user("ann"), .user("bob"), .union]

    @Test(arguments: callers, databases)
    func asManyValuesAreBoundAsThereArePlaceholders(_ caller: Caller, _ database: DatabaseScope) {
        for action in AccessAction.allCases {
            let scope = AccessScope(caller: caller, action: action, database: database)
            let bound = scope.condition(on: "r")
            #expect(bound.bindings.failure == nil)
            #expect(bound.bindings.count == scope.shape.condition(on: "r").parameters.count)
        }
    }

    @Test func theTextIsTheSameForEveryCallerOfAKind() {
        func text(_ caller: Caller, _ action: AccessAction = .read) -> String {
            AccessScope(caller: caller, action: action, database: .everyone).condition(on: "r").text
        }
        #expect(text(.ann) == text(Caller(kind: .user("carl"), roles: ["a", "b", "c", "d"])))
        #expect(text(.ann) == text(Self.many) && text(.ann, .delete) == text(Self.many, .delete))
        #expect(
            text(.ann) == #""r"."_database" = '_public' AND ("r"."_access" IS NULL OR "r"."_owner" = $1 "#
                + #"OR coalesce("r"."_access" ?| (SELECT $2::text::text[]), false))"#
        )
        #expect(
            text(.anonymous) == #""r"."_database" = '_public' AND ("r"."_access" IS NULL "#
                + #"OR coalesce("r"."_access" ?| (SELECT $1::text::text[]), false))"#
        )
        for (action, levels) in [(AccessAction.update, "'update', 'write'"), (.delete, "'delete', 'write'")] {
            #expect(
                text(Self.many, action) == #""r"."_database" = '_public' AND ("r"."_owner" = $1 "#
                    + #"OR ("r"."_access" ?| (SELECT $2::text::text[]) AND EXISTS (SELECT FROM "#
                    + #"jsonb_each_text("r"."_access") AS "e" ("subject", "level") WHERE "e"."level" IN (\#(levels)) "#
                    + #"AND "e"."subject" = ANY ((SELECT $3::text::text[])::text[]))))"#
            )
            #expect(text(.anonymous, action) == "false")
        }
        #expect(text(.master) == #""r"."_database" = '_public'"#)
        // Where each row brings its caller, a sub-select would be run for each.
        let shape = AccessScope(caller: .ann, action: .read, database: .everyone).shape
        #expect(
            shape.condition(on: "r", hasCallerInRow: true).text
                == text(.ann).replacing("(SELECT $2::text::text[])", with: "($2::text::text[])")
        )
    }

    @Test func aShapeStandsForOneText() {
        var texts: [AccessShape: String] = [:]
        for caller in Self.callers {
            for database in Self.databases {
                for action in AccessAction.allCases {
                    let scope = AccessScope(caller: caller, action: action, database: database)
                    let text = scope.condition(on: "r").text
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
        "null", "7", "-1", "true", "NULL", " ", ":", "\u{301}", "\\", "\"", "a\nb", "{", "}",
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
            "{}", #"{"": "read"}"#, #"{"ann": "write"}"#, #"{"user": "read", "role": "write"}"#,
            #"{"User:ann": "read"}"#,
            #"{"owner": "write"}"#, #"{"user_id:ann": "write"}"#,
            #"{"field:_owner": "write", "relation:friend": "read"}"#,
            #"{"group:ann": "write", "registered": "write", "verified": "read"}"#, #"{"public ": "write"}"#,
            #"{"user::ann": "write", "role:ann:": "delete"}"#, #"{"users:": "write", "public:": "read"}"#,
        ]
        switch Int.random(in: 0..<6, using: &random) {
        case 0: return nil
        case 1: return odd.randomElement(using: &random)
        default:
            let entries = (0..<Int.random(in: 0..<7, using: &random)).map { _ in
                let name = Self.names.randomElement(using: &random)!
                let subject: Subject =
                    switch Int.random(in: 0..<9, using: &random) {
                    case 0: .everyone
                    case 1: .owner
                    case 2: .users
                    case 3...5: .user(UserID(name))
                    default: .role(RoleName(name))
                    }
                return AccessEntry(subject, AccessLevel.allCases.randomElement(using: &random)!)
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
            for _ in 0..<seededCases(40) {
                let caller = randomCaller(&random)
                for database in [DatabaseScope.everyone, .user("ann"), .user("bob"), .union] {
                    for action in AccessAction.allCases {
                        let scope = AccessScope(caller: caller, action: action, database: database)
                        let expected = Set(
                            rows.filter { scope.admits(database: $0.scope, owner: $0.owner, access: lists[$0.id]) }.map(
                                \.id
                            )
                        )
                        let result = try await f.client.read(
                            "SELECT \"_id\" FROM app.note AS \"r\" WHERE \(scope.condition(on: "r"))"
                        )
                        let admitted = Set(try result.decodeColumn(0, as: String.self))
                        #expect(admitted == expected, "seed \(random.seed): \(caller) \(action) \(database)")
                    }
                }
            }
        }
    }

    /// The text of `jsonb` as PostgreSQL spells it, or another, and what messages have of it.
    static let emitted: [(String, String)] = [
        ("{}", "[]"), ("[]", "[]"), (#"["public"]"#, "[]"), ("5", "[]"),
        (#"{"public": "read"}"#, #"[{"public":true,"level":"read"}]"#),
        (
            #"{"users": "delete", "role:b": "update", "role:a": "write", "user:é": "read", "public": "read"}"#,
            #"[{"public":true,"level":"read"},{"users":true,"level":"delete"},{"user_id":"é","level":"read"},"#
                + #"{"role":"a","level":"write"},{"role":"b","level":"update"}]"#
        ),
        (
            #"{"relation:friend": "read", "key:tablet": "write", "group:golf": "read", "owner": "write", "verified": "read", "registered": "read"}"#,
            #"[{"registered":true,"level":"read"},{"verified":true,"level":"read"},{"owner":true,"level":"write"},"#
                + #"{"group":"golf","level":"read"},{"key":"tablet","level":"write"},{"relation":"friend","level":"read"}]"#
        ),
        (#"{"role:a\"b": "read"}"#, #"[{"role":"a\"b","level":"read"}]"#),
        (#"{"role:": "read"}"#, #"[{"role":"","level":"read"}]"#),
        (#"{"odd": "read", "public": "read"}"#, #"[{"public":true,"level":"read"}]"#),
        (#"{"public": "own"}"#, "[]"), (#"{"public": ["read"]}"#, "[]"),
        (#"{"public":"read"}"#, #"[{"public":true,"level":"read"}]"#),
        (
            "{" + (0..<20).map { "\"role:\(10 + $0)\": \"read\"" }.joined(separator: ", ") + "}",
            "[" + (0..<20).map { "{\"role\":\"\(10 + $0)\",\"level\":\"read\"}" }.joined(separator: ",") + "]"
        ),
    ]

    @Test(arguments: emitted)
    func messagesHaveAListOfEntries(_ stored: String, _ message: String) {
        var texts: [String] = []
        stored.utf8.withContiguousBytes { bytes in
            AccessList.withEmitted(storedJSON: bytes) { texts.append(String(decoding: $0, as: UTF8.self)) }
        }
        #expect(texts == [message])
        let list = stored.utf8.withContiguousBytes { AccessList(storedJSON: $0) }
        #expect(message.utf8.withContiguousBytes { AccessList(emittedJSON: $0) } == list)
    }

    @Test func anAccessListComesBackAsItWasStored() {
        for name in Self.names + ["\u{1}\t\n\u{7F}", "a\u{2028}b"] {
            let list = AccessList([
                AccessEntry(.role(RoleName(name)), .read), AccessEntry(.user(UserID(name)), .write),
                AccessEntry(.everyone, .delete), AccessEntry(.owner, .write), AccessEntry(.users, .update),
                AccessEntry(.group(GroupName(name)), .read), AccessEntry(.apiKey(KeyName(name)), .update),
                AccessEntry(.relation(.follower), .read),
            ])
            let json = list.storedJSON
            #expect(json.utf8.withContiguousBytes { AccessList(storedJSON: $0) } == list)
            json.utf8.withContiguousBytes { bytes in
                AccessList.withEmitted(storedJSON: bytes) { #expect(AccessList(emittedJSON: $0) == list) }
            }
        }
    }

    @Test func fetchingByIDUsesThePrimaryKeyUnderTheAccessCondition() async throws {
        try await withRecords { f in
            try await f.psql(
                """
                INSERT INTO note (_id, _owner, _access) SELECT i, 'bob', CASE WHEN i % 2 = 0 THEN '{}'::jsonb END
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

extension String.UTF8View {
    fileprivate func withContiguousBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        Array(self).withUnsafeBytes(body)
    }
}
