import SkyrowModel
import SkyrowProtocol
import SkyrowTestSupport
import Testing

@testable import SkyrowPostgres
@testable import SkyrowStore

/// Rules of fields that were set for a type, on every way by which a field leaves, is asked about or is written.
@Suite(.timeLimit(.minutes(60))) struct FieldRuleExitTests {
    private static let carl = Caller(kind: .user("carl"), roles: ["staff"])
    private static let gina = Caller(kind: .user("gina"), groups: ["golf"])
    private static let tablet = Caller.bob.withKey("tablet")
    /// No user, by the same key.
    private static let guest = Caller.anonymous.withKey("tablet")
    private static let callers: [Caller] = [.anonymous, guest, .ann, .bob, carl, gina, tablet, .master]

    static func set(
        _ f: RecordsFixture,
        _ rules: [String: [FieldUse: FieldSubjects]],
        of name: String = "note"
    ) async throws {
        var change = ClassAccessChange(type: type(name))
        for (name, uses) in rules { change.fields[field(name)] = uses.mapValues { .some($0) } }
        _ = try await f.store.classAccess.change(change)
    }

    /// Fields of `note/1`, which is ann's, whom their rules let read them, and who of the callers sees them.
    private static let readers: [(field: String, subjects: [Subject], seenBy: [Caller])] = [
        ("title", [.role("staff"), .apiKey("tablet")], [carl, guest, tablet, .master]),
        ("stars", [.owner], [.ann, .master]),
        ("score", [], [.master]),
        ("done", [.users], [.ann, .bob, carl, gina, tablet, .master]),
        ("due", [.everyone], callers),
        ("serial", [.owner, .user("bob"), .group("golf")], [.ann, .bob, gina, tablet, .master]),
    ]

    private static var rules: [String: [FieldUse: FieldSubjects]] {
        Dictionary(uniqueKeysWithValues: readers.map { ($0.field, [.read: FieldSubjects($0.subjects)]) })
    }

    private static let values: [String: RecordValue] = [
        "title": .string("secret"), "stars": .integer(5), "score": .number(0.5), "done": .boolean(true),
        "due": .datetime(Timestamp(microseconds: 1_000_000)), "serial": .integer(7),
    ]

    private static func seen(by caller: Caller) -> Set<String> {
        Set(readers.filter { $0.seenBy.contains(caller) }.map(\.field))
    }

    private static func names(_ record: Record?) -> Set<String> {
        Set(record?.fields.keys.map(\.rawValue) ?? []).intersection(values.keys)
    }

    private func withRules(
        test: String = #function,
        _ body: @escaping @Sendable (RecordsFixture) async throws -> Void
    ) async throws {
        try await withRecords(test: test) { f in
            try await f.psql(
                """
                INSERT INTO "user" (_id, _owner) VALUES ('carl', 'carl'), ('gina', 'gina');
                INSERT INTO _user (id) VALUES ('carl'), ('gina')
                """
            )
            let list = AccessList([AccessEntry(.users, .write), AccessEntry(.everyone, .read)])
            try await f.save("note/1", Self.values, access: list)
            try await f.save("note/2", ["title": "other", "next": .reference(id("note/1"))], access: list)
            try await Self.set(f, Self.rules)
            try await body(f)
        }
    }

    // MARK: What is sent

    @Test func aRecordIsSentWithoutTheFieldsThatItsReaderDoesNotSee() async throws {
        try await withRules { f in
            for caller in Self.callers {
                let expected = Self.seen(by: caller)
                for ids in [["note/1"], ["note/1", "note/2"]] {
                    let records = try await f.store.fetch(ids.map { id($0) }, in: .everyone, caller: caller)
                    #expect(Self.names(try records[0].record) == expected)
                }
                var query = RecordQuery(type: type("note"), sort: [SortKey(path("_id"))])
                query.include = [Inclusion(name: "next", keyPath: path("next"))]
                for form in [IncludeForm.nested, .table] {
                    query.includeForm = form
                    let result = try await f.store.query(query, in: .everyone, caller: caller)
                    #expect(Self.names(result.records.first?.collected()) == expected)
                    let second = try #require(result.records.last?.collected())
                    switch form {
                    case .nested: #expect(Self.names(second.transient["next"] ?? nil) == expected)
                    case .table: #expect(Self.names(result.included?.first?.source.collected()) == expected)
                    }
                }
            }
        }
    }

    @Test func whatASaveSendsBackIsWithoutThemToo() async throws {
        try await withRules { f in
            for caller in [Caller.ann, .bob, Self.carl, Self.gina, Self.tablet] {
                let expected = Self.seen(by: caller)
                let change = draft("note/1", ["data": .bytes([1])])
                for drafts in [[change], [change, draft("note/2", ["data": .bytes([1])])]] {
                    let saved = try await f.store.save(
                        drafts.map { .draft($0) },
                        in: .everyone,
                        caller: caller,
                        atomic: false
                    )
                    #expect(Self.names(try saved[0].record) == expected)
                }
                // What is there is sent along with a conflict.
                for precondition in [SavePrecondition.isNew, .revision(0)] {
                    let refused = draft("note/1", ["data": .bytes([2])], precondition: precondition)
                    let outcome = try await f.store.save(
                        [.draft(refused)],
                        in: .everyone,
                        caller: caller,
                        atomic: false
                    )[0]
                    guard case .record(let current)? = outcome.error?.info["record"] else {
                        Issue.record("The conflict has no record: \(outcome)")
                        continue
                    }
                    #expect(Self.names(current) == expected)
                }
            }
            var change = ClassAccessChange(type: type("note"))
            change.transferrers = .owner
            _ = try await f.store.classAccess.change(change)
            let request = RecordTransfer(ids: [id("note/1")], owner: "bob")
            let given = try await f.store.transfer(request, with: RecordAccess(.ann, in: .everyone, for: .writing))
            // It is bob's by now, and ann owns it no more.
            #expect(Self.names(try given[0].record) == ["done", "due"])
        }
    }

    @Test func anOwnProfileIsSentWithoutThemToo() async throws {
        try await withRecords { f in
            try await f.psql(#"ALTER TABLE "user" ADD risk bigint, ADD phone text"#)
            try await f.store.cache.reload()
            try await Self.set(
                f,
                ["risk": [.read: [.role("staff")], .create: []], "phone": [.read: [.owner]]],
                of: "user"
            )
            let session = NewSession(tokenHash: [1], expiresAt: nil, limit: 10)
            let profile: [(name: FieldName, value: RecordValue)] = [
                (field("username"), "eve"), (field("phone"), "061"), (field("risk"), .null),
            ]
            let account = NewAccount(id: "eve", passwordHash: nil, profile: profile)
            let made = try #require(try await f.store.users.create(account, session: session).profile.collected())
            #expect(made.fields[field("phone")] == "061")
            try await f.psql(#"UPDATE "user" SET risk = 9 WHERE _id = 'eve'"#)
            for caller in [Caller(kind: .user("eve")), .bob, .anonymous, .master, Self.carl] {
                let record = try #require(try await f.fetch("user/eve", caller))
                let seesRisk = caller == .master || caller == Self.carl
                #expect(record.fields[field("risk")] == (seesRisk ? .integer(9) : nil))
                let seesPhone = caller == .master || caller.userID == "eve"
                #expect(record.fields[field("phone")] == (seesPhone ? "061" : nil))
                // What the settings say of login keys holds, too.
                #expect((record.fields[field("username")] == "eve") == (caller != .anonymous))
            }
            // Nor is it given by one who signs up, whether a session is opened at once or not, but by the operator.
            for (session, actor, isRefused) in [
                (NewSession(tokenHash: [2], expiresAt: nil, limit: 10), AuditEvent.Actor.itself, true),
                (nil, .itself, true), (nil, .operator, false),
            ] {
                let account = NewAccount(
                    id: "fred",
                    passwordHash: nil,
                    profile: [(field("username"), "fred"), (field("risk"), .integer(1))]
                )
                do throws(SkyrowError) {
                    _ = try await f.store.users.create(
                        account,
                        session: session,
                        recording: AuditEvent(.signUp, by: actor)
                    )
                    #expect(!isRefused)
                } catch {
                    #expect(isRefused && error == .fieldsDenied([field("risk")]))
                }
            }
        }
    }

    // MARK: What is asked

    /// A question about a field, at each place where a query names one.
    private static func questions(about name: String) -> [(String, RecordQuery)] {
        func query(_ change: (inout RecordQuery) -> Void) -> RecordQuery {
            var query = RecordQuery(type: type("note"))
            change(&query)
            return query
        }
        let value = values[name] ?? .null
        let equals = Predicate.comparison(.eq, .keyPath(path(name)), .value(value))
        let behind = Predicate.comparison(.eq, .keyPath(path("next.\(name)")), .value(value))
        return [
            ("eq", query { $0.predicate = equals }),
            ("exists", query { $0.predicate = .comparison(.exists, .keyPath(path(name)), .value(.boolean(true))) }),
            ("not", query { $0.predicate = .or([.not(equals), equals]) }),
            ("none", query { $0.predicate = .none([equals]) }),
            ("key path", query { $0.predicate = behind }),
            ("sort", query { $0.sort = [SortKey(path(name))] }),
            ("sort behind", query { $0.sort = [SortKey(path("next.\(name)"), .descending)] }),
            ("desired", query { $0.desiredFields = [name] }),
            ("omitted", query { $0.omittedFields = [name] }),
            (
                "included",
                query {
                    var inclusion = Inclusion(name: "next", keyPath: path("next"))
                    inclusion.desiredFields = [name]
                    $0.include = [inclusion]
                }
            ),
            (
                "counted",
                query {
                    $0.predicate = equals
                    $0.countsMatches = true
                    $0.limit = 0
                }
            ),
        ]
    }

    @Test func nothingIsAskedAboutAFieldThatIsHidden() async throws {
        try await withRules { f in
            for caller in Self.callers {
                let access = RecordAccess(caller, in: .everyone, for: .reading)
                for reader in Self.readers {
                    // Who is logged in may own a record, and asks about those.
                    let owns = reader.subjects.contains(.owner) && caller.userID != nil
                    let isOpen = reader.seenBy.contains(caller) || owns
                    for (name, query) in Self.questions(about: reader.field) {
                        for explained in [false, true] {
                            do throws(SkyrowError) {
                                if explained {
                                    _ = try await f.store.explain(query, .plan, with: access)
                                } else {
                                    _ = try await f.store.query(query, with: access)
                                }
                                #expect(isOpen, "\(caller) asked about \(reader.field): \(name)")
                            } catch {
                                #expect(!isOpen && error.code == .recordQueryDenied, "\(caller) \(name) \(error)")
                            }
                        }
                    }
                    for aggregate in Self.aggregates(of: reader.field) {
                        do throws(SkyrowError) {
                            _ = try await f.store.aggregate(aggregate, with: access)
                            #expect(isOpen, "\(caller) had aggregates of \(reader.field)")
                        } catch {
                            #expect(!isOpen && error.code == .recordQueryDenied, "\(caller) \(error)")
                        }
                    }
                }
            }
        }
    }

    private static func aggregates(of name: String) -> [AggregateQuery] {
        let grouped = AggregateQuery(
            type: type("note"),
            groupKeys: [GroupKey("k", path(name))],
            aggregates: [Aggregate("n", .count)]
        )
        guard ["stars", "score", "serial"].contains(name) else { return [grouped] }
        return [AggregateQuery(type: type("note"), aggregates: [Aggregate("m", .maximum, path(name))]), grouped]
    }

    /// Who sees a field in records of its own learns nothing about it in those of others, whatever is asked.
    @Test func whatIsSeenOfOwnRecordsIsMissingFromOthers() async throws {
        try await withRules { f in
            try await f.save("note/3", ["stars": .integer(5)], .bob)
            let equals = Predicate.comparison(.eq, .keyPath(path("stars")), .value(.integer(5)))
            let isMissing = Predicate.comparison(.eq, .keyPath(path("stars")), .value(.null))
            let behind = Predicate.comparison(.eq, .keyPath(path("next.stars")), .value(.integer(5)))
            for (caller, own, missing, next) in [
                (Caller.ann, ["1"], ["2", "3"], ["2"]), (.bob, ["3"], ["1", "2"], []),
                (Self.carl, [], ["1", "2", "3"], []), (.master, ["1", "3"], ["2"], ["2"]),
            ] {
                #expect(try await f.query(equals, caller).sorted() == own)
                #expect(try await f.query(isMissing, caller).sorted() == missing)
                #expect(try await f.query(behind, caller) == next)
                let query = AggregateQuery(type: type("note"), aggregates: [Aggregate("sum", .sum, path("stars"))])
                let sum = try await AggregateTests.groups(f, query, caller).first?["sum"]
                let expected = RecordValue.json(JSONText(validated: Array("\(5 * own.count)".utf8)))
                #expect((sum ?? .null) == (own.isEmpty ? .null : expected), "\(caller)")
            }
        }
    }

    @Test func neitherConditionsNorChangesByPredicateAskAboutIt() async throws {
        try await withRules { f in
            let isSecret = Predicate.comparison(.eq, .keyPath(path("title")), .value("secret"))
            for (caller, code) in [(Caller.ann, ErrorCode.recordQueryDenied), (.bob, .recordQueryDenied)] {
                var conditional = draft("note/1", ["data": .bytes([1])])
                conditional.condition = isSecret
                let outcome = try await f.store.save(
                    [.draft(conditional)],
                    in: .everyone,
                    caller: caller,
                    atomic: false
                )[0]
                #expect(outcome.error?.code == code && outcome.error?.path?.contains("_if") == true)
                let changes = RecordChanges(draft("note/x", ["data": .bytes([1])]))
                for change in [BulkRequest.Change.update(changes, size: 10), .delete] {
                    let request = BulkRequest(
                        database: .everyone,
                        type: type("note"),
                        match: .predicate(isSecret),
                        change: change,
                        atMost: 10
                    )
                    let error = await #expect(throws: SkyrowError.self) {
                        try await f.store.change(request, with: RecordAccess(caller, in: .everyone, for: .writing))
                    }
                    #expect(error?.code == code)
                }
            }
            let count = try await f.psql("SELECT count(*) FROM note WHERE data IS NULL")
            #expect(count == "2")
        }
    }

    // MARK: Questions

    @Test func whatIsDeniedToAnOwnerIsMissingFromItsRecords() async throws {
        try await withRecords { f in
            let list = AccessList([AccessEntry(.users, .read)])
            try await f.save("note/1", ["title": "secret"], access: list)
            let others = FieldSubjects([.init(.owner, allows: false), .init(.users)])
            for (use, ann) in [(FieldUse.read, false), (.compare, false), (.update, true)] {
                try await f.psql("TRUNCATE _field_rule")
                try await Self.set(f, ["title": [use: others].merging(use == .compare ? [.discover: []] : [:]) { $1 }])
                try await f.store.cache.reload()
                var query = RecordQuery(type: type("note"))
                query.predicate = .comparison(.eq, .keyPath(path("title")), .value(.string("secret")))
                for (caller, isFound) in [(Caller.ann, ann), (.bob, true), (.master, true)] {
                    let found = try await f.store.query(query, in: .everyone, caller: caller)
                    #expect(found.records.count == (isFound ? 1 : 0), "\(use) \(caller)")
                }
            }
        }
    }

    // MARK: Tables

    @Test func whatPsqlWritesHoldsAndWhatMeansNothingHidesTheField() async throws {
        try await withRecords { f in
            try await f.save("note/1", ["title": "x"])
            for (allow, isSeen) in [
                ("{public}", true), ("{users}", true), ("{}", false), ("{owner}", true), ("{public,Editors}", false),
                ("{!user:ann,public}", false), ("{user:ann,!user:ann}", true), ("{!user:bob,public}", true),
                ("{!user:bob,Editors}", false), ("{!key:phone,public}", false), ("{key:phone}", false),
                ("{key:phone,users}", true), ("{!Editors,public}", false), ("{!owner,public}", false),
                ("{field:title}", false), ("{relation:friend}", false), ("{user:ann}", true),
            ] {
                try await f.psql(
                    """
                    DELETE FROM _field_rule; INSERT INTO _field_rule VALUES ('note', 'title', 'read', '\(allow)')
                    """
                )
                try await f.store.cache.reload()
                let seen = try await f.fetch("note/1")?.fields[field("title")]
                #expect((seen == "x") == isSeen, "\(allow)")
            }
            let before = try await f.psql("SELECT value FROM _version WHERE name = 'rules'")
            try await f.psql("TRUNCATE _field_rule")
            let after = try await f.psql("SELECT value FROM _version WHERE name = 'rules'")
            #expect(before != after)
        }
    }

    @Test func theTableRefusesWhatIsNoRule() async throws {
        try await withRecords { f in
            for statement in [
                "INSERT INTO _field_rule VALUES ('note', 'title', 'delete', '{public}')",
                "INSERT INTO _field_rule VALUES ('note', 'title', 'read', '{NULL}')",
                "INSERT INTO _field_rule VALUES ('note', '', 'read', '{public}')",
                "INSERT INTO _field_rule SELECT 'note', 'title', 'read', array_agg('role:' || i) FROM generate_series(1, 10001) AS i",
            ] {
                await #expect(throws: (any Error).self, "\(statement)") { try await f.psql(statement) }
            }
        }
    }

    @Test func rulesGoWithARenamedFieldAndStayForOneThatIsMadeAnew() async throws {
        try await withRecords { f in
            try await f.save("note/1", ["title": "x"])
            try await Self.set(f, ["title": [.read: [], .update: [.owner]]])
            _ = try await f.store.renameField(
                FieldRename(type: type("note"), field: field("title"), newName: field("heading"))
            )
            let hidden = try #require(try await f.fetch("note/1"))
            #expect(hidden.fields[field("heading")] == nil)
            let rules = try await f.store.classAccess.access(of: type("note")).fields
            #expect(rules == [field("heading"): [.read: [], .update: [.owner]]])
            _ = try await f.store.deleteField(FieldDeletion(type: type("note"), field: field("heading")))
            try await f.psql("ALTER TABLE note ADD heading text DEFAULT 'y'")
            try await f.store.cache.reload()
            let anew = try #require(try await f.fetch("note/1"))
            #expect(anew.fields[field("heading")] == nil)
            let seen = try await f.fetch("note/1", .master)?.fields[field("heading")]
            #expect(seen == "y")
        }
    }

    @Test func aTypeHasABoundedNumberOfFieldsWithRules() async throws {
        try await withRecords { f in
            var change = ClassAccessChange(type: type("note"))
            for number in 0..<ClassAccess.maximumFields { change.fields[field("f\(number)")] = [.read: .some([])] }
            let access = try await f.store.classAccess.change(change)
            #expect(access.fields.count == ClassAccess.maximumFields)
            var other = ClassAccessChange(type: type("note"))
            other.fields[field("more")] = [.read: .some([])]
            let error = await #expect(throws: SkyrowError.self) { try await f.store.classAccess.change(other) }
            #expect(error?.path == "fields")
            // Taken away, they are none.
            for name in change.fields.keys { change.fields[name] = [.read: nil] }
            #expect(try await f.store.classAccess.change(change) == ClassAccess())
        }
    }

    @Test func callersWhoSeeTheSameShareOneFormOfATable() async throws {
        try await withRules { f in
            let note = f.store.cache.current.note
            func table(_ caller: Caller) -> RecordTable { note.visible(to: FieldAccess(caller)) }
            #expect(table(.master) === note && table(.ann) !== note)
            #expect(table(Caller(kind: .user("hank"))) === table(.ann))
            #expect(table(.bob) !== table(.ann) && table(Self.carl) !== table(.ann))
            #expect(table(.ann).visible(to: FieldAccess(.ann)) === table(.ann))
            #expect(note.plan(for: FieldAccess(.ann)) === note.plan(for: .user("hank")))
            // A type without rules has one form for all.
            let category = try #require(f.store.cache.current[type("category")])
            #expect(category.visible(to: FieldAccess(.ann)) === category)
            #expect(category.plan(for: FieldAccess(.anonymous)) === category.wholeRow.plan)
        }
    }
}
