import SkyrowModel
import SkyrowProtocol
import SkyrowTestSupport
import Testing

@testable import SkyrowPostgres
@testable import SkyrowStore

/// Login keys, on every way by which a record's fields leave or are asked about: each row for one who is logged in and
/// for one who is not.
@Suite(.timeLimit(.minutes(60))) struct FieldRuleTests {
    private static let username = field("username")

    @Test(arguments: [
        (Caller.anonymous, false), (.ann, true), (.bob, true), (.master, true),
        (Caller(kind: .user("carl"), roles: (0..<50).map { "role\($0)" }), true),
    ])
    func whoIsLoggedInSeesLoginKeys(_ caller: Caller, _ sees: Bool) async throws {
        let name: RecordValue? = sees ? .string("ann") : nil
        try await withRecords { f in
            try await f.psql(#"ALTER TABLE "user" ADD city text; UPDATE "user" SET city = 'Bern'"#)
            try await f.store.cache.reload()
            try await f.save("note/1", ["title": .string("x")])
            // Whole profiles, one by one and several at once, found by id and by question.
            for ids in [["user/ann"], ["user/ann", "user/bob"]] {
                let records = try await f.store.fetch(ids.map { id($0) }, in: .everyone, caller: caller)
                #expect(try records[0].record.fields[Self.username] == name)
                #expect(try records[0].record.fields[field("city")] == .string("Bern"))
            }
            var query = RecordQuery(
                type: .user,
                predicate: .comparison(.eq, .keyPath(path("city")), .value(.string("Bern")))
            )
            query.sort = [SortKey(path("_id"))]
            query.countsMatches = true
            let result = try await f.store.query(query, in: .everyone, caller: caller)
            #expect(result.count == 2)
            #expect(result.records.first?.collected()?.fields[Self.username] == name)
            #expect(result.records.first?.collected()?.fields[field("city")] == .string("Bern"))
            // A profile that travels with another record.
            query = RecordQuery(type: type("note"), include: [Inclusion(name: "by", keyPath: path("_owner"))])
            let note = try #require(
                try await f.store.query(query, in: .everyone, caller: caller).records.first?.collected()
            )
            let owner = try #require(note.transient["by"] ?? nil)
            #expect(owner.fields[Self.username] == name)
            #expect(owner.fields[field("city")] == .string("Bern"))
        }
    }

    /// A question that names a login key, and the name by which its refusal tells the key.
    struct Question: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var argument: String
        var type: String = "user"
        var change: @Sendable (inout RecordQuery) -> Void

        init(
            _ name: String,
            _ argument: String,
            type: String = "user",
            _ change: @escaping @Sendable (inout RecordQuery) -> Void
        ) {
            testDescription = name
            self.argument = argument
            self.type = type
            self.change = change
        }
    }

    private static func compare(_ comparison: ComparisonOperator, _ keyPath: String, _ value: RecordValue) -> Predicate
    {
        .comparison(comparison, .keyPath(path(keyPath)), .value(value))
    }

    static let questions: [Question] = [
        Question("eq", "username") { $0.predicate = compare(.eq, "username", .string("ann")) },
        Question("eq null", "email") { $0.predicate = compare(.eq, "email", .null) },
        Question("neq", "username") { $0.predicate = compare(.neq, "username", .string("ann")) },
        Question("like", "username") { $0.predicate = compare(.like, "username", .string("a%")) },
        Question("literal first", "username") {
            $0.predicate = .comparison(.eq, .value(.string("ann")), .keyPath(path("username")))
        },
        Question("in", "username") {
            $0.predicate = .comparison(.in, .keyPath(path("username")), .list([.string("ann")]))
        },
        Question("two key paths", "username") {
            $0.predicate = .comparison(.eq, .keyPath(path("username")), .keyPath(path("email")))
        },
        Question("within or and not", "username") {
            $0.predicate = .or([compare(.eq, "_id", .string("ann")), .not(compare(.gt, "username", .string("a")))])
        },
        Question("only counted", "username") {
            $0.predicate = compare(.eq, "username", .string("ann"))
            $0.limit = 0
            $0.countsMatches = true
        },
        Question("sort", "username") { $0.sort = [SortKey(path("username"), .descending)] },
        Question("desired key", "username") { $0.desiredFields = ["username"] },
        Question("through the owner", "_owner.username", type: "note") {
            $0.predicate = compare(.eq, "_owner.username", .string("ann"))
        },
        Question("through who created it", "_created_by.email", type: "note") {
            $0.predicate = compare(.eq, "_created_by.email", .null)
        },
        Question("sort through the owner", "_owner_id.username", type: "note") {
            $0.sort = [SortKey(path("_owner_id.username"))]
        },
    ]

    @Test func onlyWhoIsLoggedInAsksAboutLoginKeys() async throws {
        try await withRecords { f in
            try await f.save("note/1", ["title": .string("x")])
            for question in Self.questions {
                var query = RecordQuery(type: type(question.type))
                question.change(&query)
                for caller in [Caller.ann, .bob, .master] {
                    _ = try await f.store.query(query, in: .everyone, caller: caller)
                }
                do {
                    _ = try await f.store.query(query, in: .everyone, caller: .anonymous)
                    Issue.record("A caller who is not logged in asked about a login key: \(question)")
                } catch let error as SkyrowError {
                    #expect(error.code == .recordQueryDenied, "\(question)")
                    #expect(error.info["arguments"] == .list([.string(question.argument)]), "\(question)")
                }
            }
        }
    }

    @Test func anInclusionOfALoginKeyIsDenied() async throws {
        try await withRecords { f in
            let query = RecordQuery(type: .user, include: [Inclusion(name: "x", keyPath: path("username"))])
            for (caller, code) in [(Caller.anonymous, ErrorCode.recordQueryDenied), (.ann, .recordQueryInvalid)] {
                do {
                    _ = try await f.store.query(query, in: .everyone, caller: caller)
                    Issue.record("A login key is no reference.")
                } catch let error as SkyrowError {
                    #expect(error.code == code)
                }
            }
        }
    }

    @Test func whichFieldsAreLoginKeysIsConfigured() async throws {
        try await withStore(loginKeys: [field("phone")]) { f in
            try await f.psql(#"INSERT INTO "user" (_id, _owner, username, phone) VALUES ('ann', 'ann', 'Ann', '061')"#)
            for (caller, phone, name) in [
                (Caller.anonymous, RecordValue?.none, RecordValue?.none), (.bob, nil, .string("Ann")),
                (.ann, .string("061"), .string("Ann")), (.master, .string("061"), .string("Ann")),
            ] {
                let record = try await f.store.fetch([id("user/ann")], in: .everyone, caller: caller)[0].record
                #expect(record.fields[field("phone")] == phone)
                #expect(record.fields[Self.username] == name)
            }
        }
    }

    // MARK: Writing

    /// Who saves `user/ann`, whose list lets everyone write it, which username, and the error; nil when it is saved.
    static let saves: [(Caller, RecordValue, SavePrecondition?, ErrorCode?)] = [
        (.ann, .string("anna"), nil, nil),
        (.ann, .null, nil, nil),
        (.master, .string("anna"), nil, nil),
        (.bob, .string("anna"), nil, .deniedArgument),
        (.bob, .null, nil, .deniedArgument),
        // Clients send back whole records.
        (.bob, .string("ann"), nil, nil),
        (.bob, .string("Ann"), nil, .deniedArgument),
        (.bob, .string("anna"), .revision(0), .conflict),
        // Unique without regard to case, whoever saves.
        (.ann, .string("BOB"), nil, .duplicated),
        (.master, .string("Bob"), nil, .duplicated),
    ]

    @Test(arguments: saves)
    func onlyTheOwnerChangesLoginKeys(
        _ caller: Caller,
        _ name: RecordValue,
        _ precondition: SavePrecondition?,
        _ expected: ErrorCode?
    ) async throws {
        try await withRecords { f in
            try await f.psql(
                #"""
                ALTER TABLE "user" ADD city text;
                UPDATE "user" SET _access = '{"public": "write"}' WHERE _id = 'ann'
                """#
            )
            try await f.store.cache.reload()
            // Alone, and among others that are saved.
            for others in [[], [draft("user/bob", ["city": .string("Basel"), "username": .string("bob")])]] {
                let wanted = draft("user/ann", ["city": .string("Bern"), "username": name], precondition: precondition)
                let outcomes = try await f.store.save(
                    ([wanted] + others).map { .draft($0) },
                    in: .everyone,
                    caller: caller,
                    atomic: false
                )
                #expect(outcomes[0].error?.code == expected)
                if expected == .deniedArgument || expected == .duplicated {
                    #expect(outcomes[0].error?.info["arguments"] == .list([.string("username")]))
                }
                let stored = try await f.psql(#"SELECT coalesce(username, 'NULL'), city FROM "user" WHERE _id = 'ann'"#)
                switch (expected, name) {
                case (nil, .string(let name)): #expect(stored.contains("\(name)|Bern"))
                case (nil, _): #expect(stored.contains("NULL|Bern"))
                case (_, _): #expect(stored.contains("ann|"))
                }
            }
        }
    }

    @Test func aDeniedFieldUndoesAnAtomicSave() async throws {
        try await withRecords { f in
            try await f.psql(#"UPDATE "user" SET _access = '{"user:bob": "write"}' WHERE _id = 'ann'"#)
            let drafts = [draft("note/1", ["title": .string("x")]), draft("user/ann", ["username": .string("mine")])]
            do {
                _ = try await f.store.save(drafts.map { .draft($0) }, in: .everyone, caller: .bob, atomic: true)
                Issue.record("Somebody else's login key was changed.")
            } catch let error as SkyrowError {
                #expect(error.code == .atomicOperationFailure)
                guard case .error(let denied) = error.info["user/ann"] else {
                    Issue.record("The denied record is not named: \(error.info)")
                    return
                }
                #expect(denied.code == .deniedArgument)
            }
            #expect(try await f.fetch("note/1") == nil)
            #expect(try await f.fetch("user/ann")?.fields[Self.username] == .string("ann"))
        }
    }

    // MARK: Statements

    @Test func callersOfAKindShareOneFormOfATable() throws {
        let table = try #require(SchemaCatalog.notes[.user])
        #expect(table.visible(to: .user("ann")) === table)
        #expect(table.visible(to: .unrestricted) === table)
        let narrowed = table.visible(to: .anonymous)
        #expect(narrowed === table.visible(to: .anonymous))
        #expect(narrowed.columns.isEmpty && narrowed.hidden == [Self.username, field("email"), .verified])
        #expect(!narrowed.wholeRow.columns.text.contains("username"))
        let note = SchemaCatalog.notes.note
        #expect(note.visible(to: .anonymous) === note)
        #expect(SchemaCatalog.notes.visible(to: .anonymous)[.user] === narrowed)
    }
}
