import SkyrowModel
import SkyrowProtocol
import SkyrowTestSupport
import Testing

@testable import SkyrowPostgres
@testable import SkyrowStore

/// Who gives fields values and changes them, by the rules that were set for a type.
@Suite(.timeLimit(.minutes(60))) struct FieldRuleWriteTests {
    private static let carl = Caller(kind: .user("carl"), roles: ["staff"])
    private static let everyone = AccessList([AccessEntry(.users, .write), AccessEntry(.everyone, .read)])

    private static func outcome(
        _ f: RecordsFixture,
        _ draft: RecordDraft,
        _ caller: Caller,
        in scope: DatabaseScope = .everyone
    ) async throws -> RecordOutcome {
        try await f.store.save([.draft(draft)], in: scope, caller: caller, atomic: false)[0]
    }

    /// What is refused names the fields and saves nothing of the record.
    @Test func aRefusedSaveNamesTheFieldsAndSavesNothing() async throws {
        try await withRecords { f in
            try await f.save("note/1", ["title": "x", "stars": 1, "score": 1.5], access: Self.everyone)
            try await FieldRuleExitTests.set(
                f,
                ["stars": [.update: [.role("staff")]], "score": [.update: []], "title": [.update: [.owner]]]
            )
            let rows: [(Caller, [String: RecordValue], [String])] = [
                (.ann, ["title": "y", "stars": 2], ["stars"]),
                (.ann, ["title": "y", "stars": 1], []),
                (.ann, ["score": 2, "stars": 2, "title": "z"], ["score", "stars"]),
                (.ann, ["score": .null], ["score"]),
                (.ann, ["score": 1.5, "data": .bytes([1])], []),
                (.bob, ["title": "z"], ["title"]),
                (.bob, ["title": "y", "done": true], []),
                (Self.carl, ["stars": 3], []),
                (Self.carl, ["stars": 4, "score": 9], ["score"]),
                (.master, ["stars": 5, "score": 5, "title": "m"], []),
            ]
            for (caller, fields, denied) in rows {
                let before = try await f.psql("SELECT title, stars, score, done, data FROM note")
                // Alone, beside another record, and where the revision is asked for.
                let outcome = try await Self.outcome(f, draft("note/1", fields), caller)
                let after = try await f.psql("SELECT title, stars, score, done, data FROM note")
                if denied.isEmpty {
                    #expect(outcome.error == nil, "\(caller) \(fields)")
                } else {
                    #expect(outcome.error?.code == .deniedArgument && before == after)
                    #expect(outcome.error?.info["arguments"] == .list(denied.map { .string($0) }))
                }
                let several = try await f.store.save(
                    [.draft(draft("note/1", fields)), .draft(draft("note/2", ["data": .bytes([1])]))],
                    in: .everyone,
                    caller: caller,
                    atomic: false
                )
                #expect(several[0].error?.code == (denied.isEmpty ? nil : .deniedArgument))
                #expect(several[1].error == nil || caller.userID != "ann")
            }
        }
    }

    /// Each kind of operator is a change, and takes that the field is seen.
    @Test func operatorsTakeThatTheFieldIsSeenAndChanged() async throws {
        try await withRecords { f in
            try await f.save("note/1", ["title": "x", "stars": 1, "score": 1], access: Self.everyone)
            try await FieldRuleExitTests.set(
                f,
                ["stars": [.update: [.role("staff")]], "score": [.read: [.role("staff")]]]
            )
            for (caller, isRefused) in [(Caller.ann, true), (.bob, true), (Self.carl, false), (.master, false)] {
                for name in ["stars", "score"] {
                    for operation in [FieldOperator(.compute(.increment, .integer(0))), FieldOperator(.unset)] {
                        var change = draft("note/1")
                        change.operators = [(field(name), operation)]
                        let outcome = try await Self.outcome(f, change, caller)
                        #expect(outcome.error?.code == (isRefused ? .deniedArgument : nil), "\(caller) \(name)")
                        try await f.psql("UPDATE note SET stars = 1, score = 1")
                    }
                }
                // A value is written without being seen, and whether it was there already is not said.
                for value in [RecordValue.number(1), .number(2)] {
                    let outcome = try await Self.outcome(f, draft("note/1", ["score": value]), caller)
                    #expect(outcome.error == nil)
                    let sent = try outcome.record.fields[field("score")]
                    #expect(sent == (isRefused ? nil : value))
                }
            }
        }
    }

    @Test func aHiddenFieldThatMayNotBeChangedRevealsNoGuess() async throws {
        try await withRecords { f in
            try await f.save("note/1", ["title": "secret"], access: Self.everyone)
            try await FieldRuleExitTests.set(f, ["title": [.read: [.role("staff")], .update: [.role("staff")]]])
            for guess in [RecordValue.string("secret"), "other", .null] {
                for caller in [Caller.ann, .bob] {
                    let outcome = try await Self.outcome(f, draft("note/1", ["title": guess]), caller)
                    #expect(outcome.error == .fieldsDenied([field("title")]))
                }
            }
            // A unique value of a field that is hidden is not named by its field.
            try await f.psql("CREATE UNIQUE INDEX ON note (title)")
            try await f.store.cache.reload()
            try await FieldRuleExitTests.set(f, ["title": [.update: [.users]]])
            for (caller, names) in [(Caller.bob, false), (Self.carl, true)] {
                let outcome = try await Self.outcome(f, draft("note/2", ["title": "secret"]), caller)
                #expect(outcome.error?.code == .duplicated)
                #expect((outcome.error?.info["arguments"] != nil) == names)
            }
        }
    }

    @Test func newRecordsHaveTheFieldsThatTheirCreatorMayGiveThem() async throws {
        try await withRecords { f in
            try await FieldRuleExitTests.set(
                f,
                ["stars": [.create: [.role("staff")]], "score": [.create: []], "title": [.create: [.owner]]]
            )
            let rows: [(Caller, [String: RecordValue], [String])] = [
                (.ann, ["title": "x"], []), (.ann, ["stars": 1], ["stars"]), (.ann, ["stars": .null], []),
                (.ann, ["stars": 1, "score": 1, "title": "x"], ["score", "stars"]),
                (Self.carl, ["stars": 1, "title": "x"], []), (Self.carl, ["score": 1], ["score"]),
                (.master, ["stars": 1, "score": 1], []),
            ]
            for scope in [DatabaseScope.everyone, .user("ann")] {
                for (number, (caller, fields, denied)) in rows.enumerated() {
                    if scope != .everyone, caller != .ann { continue }
                    for (kind, id) in ["note/n\(number)", "note/$1"].enumerated() {
                        for precondition in [SavePrecondition?.none, .isNew] {
                            let asked = draft(
                                kind == 0 && precondition != nil ? id + "x" : id,
                                fields,
                                precondition: precondition
                            )
                            let outcome = try await Self.outcome(f, asked, caller, in: scope)
                            #expect((outcome.error == nil) == denied.isEmpty, "\(caller) \(fields)")
                            if denied.isEmpty { continue }
                            #expect(outcome.error == .fieldsDenied(denied.map { field($0) }))
                            if asked.id.isTemporary { continue }
                            let refusals = try await f.store.refusals(saving: [asked], in: scope, caller: caller)
                            #expect(refusals[0] == outcome.error)
                        }
                    }
                }
            }
            // What is there is changed by those who could not have made it so.
            try await f.save("note/1", ["title": "x"], access: Self.everyone)
            #expect(try await f.save("note/1", ["stars": 2]).fields[field("stars")] == 2)
            var counted = draft("note/new")
            counted.operators = [(field("stars"), FieldOperator(.compute(.increment, .integer(1))))]
            let refused = try await Self.outcome(f, counted, .ann)
            #expect(refused.error == .fieldsDenied([field("stars")]))
        }
    }

    /// What the table has as the same value is no change, however it is written; another text of a collation is one.
    @Test func aValueThatIsStoredAlreadyIsNoChangeInWhateverForm() async throws {
        try await withRecords { f in
            try await f.psql(
                """
                CREATE COLLATION alike (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
                ALTER TABLE note ADD word text COLLATE alike, ADD ratio real, ADD words text[] COLLATE "C"
                """
            )
            try await f.store.cache.reload()
            func json(_ text: String) -> RecordValue { .json(JSONText(validated: Array(text.utf8))) }
            let names = ["word", "ratio", "words", "score", "tags", "category", "due"]
            try await f.save("category/a")
            try await f.save(
                "note/1",
                [
                    "word": "Zo\u{E9}", "ratio": .number(0.1), "words": .array(["a", "b"]), "score": .number(7),
                    "tags": json(#"{"a":1,"b":[1.0]}"#), "category": .reference(id("category/a")),
                    "due": .datetime(Timestamp(microseconds: 5)),
                ],
                access: Self.everyone
            )
            try await FieldRuleExitTests.set(
                f,
                Dictionary(uniqueKeysWithValues: names.map { ($0, [.update: [.role("staff")]]) })
            )
            let rows: [(String, RecordValue, Bool)] = [
                ("word", "Zo\u{E9}", true), ("word", "zo\u{E9}", false), ("word", "Zoe\u{301}", false),
                ("ratio", .number(0.1), true), ("ratio", .number(0.2), false),
                ("words", .array(["a", "b"]), true), ("words", .array(["b", "a"]), false),
                ("words", json(#"["a", "b"]"#), true), ("score", .integer(7), true), ("score", .integer(8), false),
                ("tags", json(#"{"b": [1], "a": 1.0}"#), true), ("tags", json(#"{"b": [1, 1], "a": 1}"#), false),
                ("category", .reference(id("category/a")), true), ("category", .null, false),
                ("due", .datetime(Timestamp(microseconds: 5)), true), ("due", .null, false),
            ]
            for (name, value, isSame) in rows {
                for form in 0..<3 {
                    let revision = try #require(try await f.fetch("note/1")?.revision)
                    var drafts = [draft("note/1", [name: value], precondition: form == 0 ? .revision(revision) : nil)]
                    if form == 1 { drafts.append(draft("note/2")) }
                    // The same is said before a save changes the schema.
                    let refusals = try await f.store.refusals(saving: drafts, in: .everyone, caller: .ann)
                    #expect((refusals[0] == nil) == isSame, "\(name) \(value)")
                    let outcome = try await f.store.save(
                        drafts.map { .draft($0) },
                        in: .everyone,
                        caller: .ann,
                        atomic: false
                    )[0]
                    #expect((outcome.error == nil) == isSame, "\(name) \(value) \(outcome)")
                    if let error = outcome.error { #expect(error == .fieldsDenied([field(name)])) }
                }
                // Beside a change that is refused only that is named.
                let other = name == "due" ? "score" : "due"
                let change: RecordValue = other == "due" ? .datetime(Timestamp(microseconds: 9)) : .number(9)
                let outcome = try await Self.outcome(f, draft("note/1", [name: value, other: change]), .ann)
                let denied = (isSame ? [other] : [name, other]).sorted().map { field($0) }
                #expect(outcome.error == .fieldsDenied(denied), "\(name) \(value)")
            }
        }
    }

    @Test func changesByPredicateLeaveWhatMayNotBeChangedAlone() async throws {
        try await withRecords { f in
            try await f.save("note/1", ["title": "x", "stars": 1], access: Self.everyone)
            try await f.save("note/2", ["title": "x", "stars": 2], access: Self.everyone, .bob)
            try await FieldRuleExitTests.set(f, ["stars": [.update: [.owner]]])
            // A list is its owner's to change as well; the same one is no change.
            let changes = [
                draft("note/x", ["stars": 9]), draft("note/x", access: Self.everyone),
                draft("note/x", access: AccessList([AccessEntry(.users, .read)])),
            ]
            for (number, change) in changes.enumerated() {
                for isDryRun in [true, false] {
                    let request = BulkRequest(
                        database: .everyone,
                        type: type("note"),
                        match: .predicate(.comparison(.eq, .keyPath(path("title")), .value("x"))),
                        change: .update(RecordChanges(change), size: 10),
                        atMost: 10,
                        isDryRun: isDryRun
                    )
                    let result = try await f.store.change(
                        request,
                        with: RecordAccess(.ann, in: .everyone, for: .writing)
                    )
                    let refused = number == 1 ? [] : [id("note/2")]
                    #expect(result.changed == (number == 1 ? [id("note/1"), id("note/2")] : [id("note/1")]))
                    #expect(result.notPermitted == refused, "\(change), dry: \(isDryRun)")
                }
            }
            let stars = try await f.psql("SELECT string_agg(stars::text, ' ' ORDER BY _id) FROM note")
            #expect(stars == "9 2")
        }
    }

    // MARK: Model

    /// A second model of the rules, which shares nothing with the one that is tested.
    private struct Model {
        var rules: [String: [FieldUse: FieldSubjects]]

        func allows(_ use: FieldUse, _ field: String, _ caller: Caller, owns: Bool, in members: [UserID] = []) -> Bool {
            if caller == .master { return true }
            guard let subjects = rules[field]?[use] else { return true }
            for entry in subjects.entries {
                switch entry.subject {
                case .everyone: return entry.allows
                case .users: if caller.userID != nil { return entry.allows }
                case .owner: if owns { return entry.allows }
                case .user(let id): if caller.userID == id { return entry.allows }
                case .role(let name): if caller.roles.contains(name) { return entry.allows }
                case .apiKey(let name): if caller.keyName == name { return entry.allows }
                case .group(let name): if caller.groups.contains(name) { return entry.allows }
                case .field(let name):
                    // The one has all of them, the other the first.
                    let named = name.rawValue == "members" ? members[...] : members.prefix(1)
                    if let user = caller.userID, named.contains(user) { return entry.allows }
                default: break
                }
            }
            return false
        }
    }

    private static let fields = ["title", "stars", "tags", "category", "due", "done"]
    private static let values: [String: [RecordValue]] = [
        "title": ["a", "b", .null], "stars": [1, 2, .null], "done": [true, false, .null],
        "tags": [.json(JSONText(validated: Array("[1]".utf8))), .json(JSONText(validated: Array("{}".utf8))), .null],
        "category": [.reference(id("category/a")), .reference(id("category/b")), .null],
        "due": [.datetime(Timestamp(microseconds: 0)), .datetime(Timestamp(microseconds: 5)), .null],
    ]

    @Test func theServiceDecidesAsTheModelDoes() async throws {
        try await withRecords { f in
            var random = SeededGenerator.forTest()
            try await f.save([draft("category/a"), draft("category/b")])
            try await f.psql("ALTER TABLE note ADD COLUMN members text[], ADD COLUMN member text")
            try await f.store.cache.reload()
            let subjects: [Subject] = [
                .everyone, .users, .owner, .user("ann"), .user("bob"), .role("staff"), .role("none"), .group("golf"),
                .apiKey("tablet"), .field(field("members")), .field(field("member")), .field(field("members")),
            ]
            let callers: [Caller] = [
                .ann, .bob, Caller.bob.withKey("tablet"), Self.carl, Caller(kind: .user("gina"), groups: ["golf"]),
                .master,
                Caller(kind: .user("hank"), roles: (0..<50).map { "role\($0)" } + ["staff"]),
            ]
            var granted = 0
            var refused = 0
            for _ in 0..<seededCases(10) {
                var rules: [String: [FieldUse: FieldSubjects]] = [:]
                for field in Self.fields {
                    for use in [FieldUse.create, .read, .update] where Bool.random(using: &random) {
                        let count = [0, 1, 1, 2, 3].randomElement(using: &random)!
                        rules[field, default: [:]][use] = FieldSubjects(
                            subjects.filter { $0.fits(use) }.shuffled(using: &random).prefix(count).map {
                                .init($0, allows: !$0.isDeniable || Int.random(in: 0..<4, using: &random) > 0)
                            }
                        )
                    }
                }
                // In which fields users stand may itself be hidden.
                if Bool.random(using: &random) { rules["members"] = [.read: [.owner]] }
                if Bool.random(using: &random) { rules["member"] = [.read: []] }
                let model = Model(rules: rules)
                try await f.psql("TRUNCATE _field_rule; DELETE FROM note")
                try await FieldRuleExitTests.set(f, rules)
                for number in 0..<6 {
                    let owner = callers.filter { $0 != .master }.randomElement(using: &random)!
                    var stored: [String: RecordValue] = [:]
                    for field in Self.fields { stored[field] = Self.values[field]!.randomElement(using: &random)! }
                    let ids = callers.compactMap(\.userID)
                    let members = Array(ids.shuffled(using: &random).prefix(Int.random(in: 0...3, using: &random)))
                    let named = members.map(\.rawValue)
                    try await f.save("note/\(number)", stored, access: Self.everyone, Self.asMaster(owner))
                    _ = try await f.client.write(
                        """
                        UPDATE app.note SET members = \(named), member = \(named.first as String?)
                        WHERE _id = \("\(number)")
                        """
                    )
                    for _ in 0..<8 {
                        let caller = callers.randomElement(using: &random)!
                        let owns = caller.userID == owner.userID
                        let seen = try #require(try await f.fetch("note/\(number)", caller))
                        for field in Self.fields {
                            let isSeen = model.allows(.read, field, caller, owns: owns, in: members)
                            let expected = isSeen ? stored[field]! : .null
                            let found = seen.fields[SkyrowTestSupport.field(field)] ?? .null
                            #expect(found == expected, "seed \(random.seed): \(field) of \(caller) by \(rules)")
                        }
                        let names = Self.fields.shuffled(using: &random).prefix(Int.random(in: 1...3, using: &random))
                        var change: [String: RecordValue] = [:]
                        for name in names { change[name] = Self.values[name]!.randomElement(using: &random)! }
                        let denied = change.filter { name, value in
                            if model.allows(.update, name, caller, owns: owns, in: members) { return false }
                            return !model.allows(.read, name, caller, owns: owns, in: members) || stored[name] != value
                        }.keys.sorted()
                        let outcome = try await Self.outcome(f, draft("note/\(number)", change), caller)
                        let arguments: ErrorInfo? = denied.isEmpty ? nil : .list(denied.map { .string($0) })
                        #expect(outcome.error?.code == (denied.isEmpty ? nil : .deniedArgument))
                        #expect(
                            outcome.error?.info["arguments"] == arguments,
                            "seed \(random.seed): \(caller) \(rules)"
                        )
                        if denied.isEmpty {
                            stored.merge(change) { $1 }
                            granted += 1
                        } else {
                            refused += 1
                        }
                        let made = change.filter { $1 != .null && !model.allows(.create, $0, caller, owns: true) }
                        let new = try await Self.outcome(f, draft("note/$1", change), caller)
                        #expect((new.error == nil) == made.isEmpty, "seed \(random.seed): \(caller) \(rules)")
                        if let error = new.error {
                            #expect(error == .fieldsDenied(made.keys.sorted().map { SkyrowTestSupport.field($0) }))
                        }
                    }
                }
            }
            #expect(granted > seededCases(60) && refused > seededCases(60))
        }
    }

    /// The master key in the place of a user, whose record it makes whatever the rules are.
    private static func asMaster(_ caller: Caller) -> Caller {
        Caller(kind: .master(actingAs: caller.userID))
    }
}
