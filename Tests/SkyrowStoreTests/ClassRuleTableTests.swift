import SkyrowModel
import SkyrowProtocol
import SkyrowTestSupport
import Testing

@testable import SkyrowPostgres
@testable import SkyrowStore

/// Rules of types in their tables: what is read of them, when they hold, and what a store does by them.
@Suite(.timeLimit(.minutes(60))) struct ClassRuleTableTests {
    /// What psql writes, and what the type's rules are then.
    static let stored: [(String, @Sendable (ClassAccess) -> Bool)] = [
        (
            "INSERT INTO _class_rule VALUES ('note', 'read', '{public}', 'default')",
            { $0.rules[.read] == ClassRule([.everyone]) }
        ),
        (
            "INSERT INTO _class_rule VALUES ('note', 'update', '{role:editor,field:title,owner}', 'require')",
            { $0.rules[.update] == ClassRule([.owner, .role("editor"), .field(field("title"))], .require) }
        ),
        // What means nothing allows nothing.
        ("INSERT INTO _class_rule VALUES ('note', 'read', '{public,Editors}')", { $0.rules[.read]?.allow == [] }),
        ("INSERT INTO _class_rule VALUES ('note', 'create', '{users,owner}')", { $0.rules[.create]?.allow == [] }),
        ("INSERT INTO _class_rule VALUES ('note', 'read', '{relation:friend}')", { $0.rules[.read]?.allow == [] }),
        (
            "INSERT INTO _class_option (type, default_access, list_by, private) "
                + #"VALUES ('note', '{"role:a": "write"}', 'update', false)"#,
            {
                $0.defaultAccess == AccessList([AccessEntry(.role("a"), .write)]) && $0.listWriters == .update
                    && !$0.allowsPrivate && $0.transferrers == .master && $0.allowsAggregates
            }
        ),
        (
            "INSERT INTO _class_option (type, transfer_by, aggregate) VALUES ('note', 'owner', false)",
            { $0.transferrers == .owner && !$0.allowsAggregates && $0.allowsPrivate && $0.defaultAccess == nil }
        ),
        (
            "INSERT INTO _class_option (type, list_read_by, creator) VALUES ('note', 'read', 'none')",
            { $0.listReaders == .read && $0.newOwner == .noOne && $0.listWriters == nil }
        ),
        (
            "INSERT INTO _class_option (type) VALUES ('note')",
            { $0.listReaders == nil && $0.newOwner == .creator }
        ),
    ]

    @Test func whatPsqlWritesIsReadAndCountedAndUnreadableRulesAllowNothing() async throws {
        try await withRecords { f in
            var version = try await f.psql("SELECT value FROM _version WHERE name = 'rules'")
            for (statement, isRead) in Self.stored {
                try await f.psql("DELETE FROM _class_rule; DELETE FROM _class_option; \(statement)")
                let access = try await f.store.classAccess.access(of: type("note"))
                #expect(isRead(access), "\(statement): \(access)")
                let next = try await f.psql("SELECT value FROM _version WHERE name = 'rules'")
                #expect(Int(next) ?? 0 > Int(version) ?? 0)
                version = next
            }
        }
    }

    @Test func theTablesRefuseWhatIsNoRule() async throws {
        try await withRecords { f in
            for statement in [
                "INSERT INTO _class_rule VALUES ('note', 'list', '{public}')",
                "INSERT INTO _class_rule VALUES ('note', 'read', '{public}', 'allow')",
                "INSERT INTO _class_rule VALUES ('note', 'read', '{NULL}')",
                "INSERT INTO _class_rule VALUES ('note', 'read', '{{public},{users}}')",
                "INSERT INTO _class_rule VALUES ('note', 'create', '{users}', 'override')",
                "INSERT INTO _class_rule SELECT 'note', 'read', array_agg('role:' || i) FROM generate_series(1, 10001) AS i",
                "INSERT INTO _class_rule VALUES ('a note', 'read', '{public}')",
                #"INSERT INTO _class_option (type, default_access) VALUES ('note', '["public"]')"#,
                #"INSERT INTO _class_option (type, default_access) VALUES ('note', '{"public": "own"}')"#,
                "INSERT INTO _class_option (type, list_by) VALUES ('note', 'all')",
                "INSERT INTO _class_option (type, transfer_by) VALUES ('note', 'users')",
            ] {
                await #expect(throws: (any Error).self, "\(statement)") { try await f.psql(statement) }
            }
        }
    }

    @Test func rulesHoldWhenTheyWereSet() async throws {
        try await withRecords { f in
            try await f.save("note/1", ["title": "x"])
            try await f.save("note/2", ["title": "bob"])
            var change = ClassAccessChange(type: type("note"))
            change.rules[.read] = ClassRule([.field(field("title"))], .override)
            let access = try await f.store.classAccess.change(change)
            #expect(access.rules == [.read: ClassRule([.field(field("title"))], .override)])
            #expect(try await f.query(type: "note", .bob) == ["2"])
            #expect(try await f.query(type: "note", .ann) == [])
            #expect(try await f.query(type: "note", .master) == ["1", "2"])
            // A field that is gone names no one any more.
            try await f.psql("ALTER TABLE note RENAME title TO heading")
            try await f.store.cache.reload()
            #expect(try await f.query(type: "note", .bob) == [])
            change.rules.updateValue(nil, forKey: .read)
            #expect(try await f.store.classAccess.change(change) == ClassAccess())
            #expect(try await f.query(type: "note", .bob) == ["1", "2"])
        }
    }

    /// The trigger that notifies is off, as behind a pooler that swallows notices; the number grows.
    @Test func rulesOfWhichNoNoticeArrivesHoldWithinAMoment() async throws {
        try await withRecords { f in
            try await f.save("note/1", ["title": "x"])
            let readings = f.store.cache.statistics.readings
            try await withRunning {
                await f.store.run()
            } while: {
                try await waiting(until: "the store listens") { f.store.cache.statistics.readings > readings }
                #expect(try await f.query(type: "note", .bob) == ["1"])
                try await f.psql(
                    """
                    ALTER TABLE _class_rule DISABLE TRIGGER _announce;
                    INSERT INTO _class_rule VALUES ('note', 'read', '{role:reader}', 'override');
                    UPDATE _version SET value = value + 1 WHERE name = 'rules'
                    """
                )
                try await waiting(until: "the rule is known") {
                    f.store.cache.current[type("note")]?.rules.classes != nil
                }
                #expect(try await f.query(type: "note", .bob) == [])
            }
        }
    }

    /// Old rules may show what is hidden by now.
    @Test func withoutKnowingTheRulesNothingIsServed() async throws {
        try await withRecords { f in
            let store = RecordStore(
                client: f.client,
                schema: "app",
                mode: .development,
                rulesCheckInterval: .milliseconds(200),
                rulesPatience: .seconds(1),
                logger: .silent
            )
            try await store.prepare()
            try await f.save("note/1", ["title": "x"])
            func code() async -> ErrorCode? {
                do {
                    _ = try await store.fetch([id("note/1")], in: .everyone, caller: .ann)
                    return nil
                } catch {
                    return (error as? SkyrowError)?.code
                }
            }
            func isKnown() async -> Bool { await code() == nil }
            try await withRunning {
                await store.run()
            } while: {
                try await waiting(until: "the rules are watched") { await isKnown() }
                try await f.psql("ALTER TABLE _version RENAME TO _hidden")
                try await waiting(until: "the rules are unknown") { await code() == .unexpectedUnableToOpenDatabase }
                let save = await #expect(throws: SkyrowError.self) {
                    try await store.save([.draft(draft("note/2"))], in: .everyone, caller: .ann, atomic: false)
                }
                #expect(save?.code == .unexpectedUnableToOpenDatabase)
                try await f.psql("ALTER TABLE _hidden RENAME TO _version")
                try await waiting(until: "the rules are known") { await isKnown() }
                // PostgreSQL is there, and its answer is long in coming.
                try await f.client.withTransaction { transaction in
                    try await transaction.execute("LOCK TABLE app_internal._version IN ACCESS EXCLUSIVE MODE")
                    try await waiting(until: "the rules are unknown again") { await code() == .overloaded }
                }
                try await waiting(until: "the rules are known again") { await isKnown() }
            }
        }
    }

    @Test(arguments: ["stars", "gone", "category"])
    func aRuleNamesFieldsInWhichUsersStand(_ name: String) async throws {
        try await withRecords { f in
            var change = ClassAccessChange(type: type("note"))
            change.rules[.delete] = ClassRule([.owner, .field(field(name))])
            let error = await #expect(throws: SkyrowError.self) { try await f.store.classAccess.change(change) }
            #expect(error?.code == .invalidArgument && error?.path == "rules.delete.allow[1]")
            let count = try await f.psql("SELECT count(*) FROM _class_rule")
            #expect(count == "0")
        }
    }

    @Test func newRecordsGetTheListOfTheirType() async throws {
        try await withRecords { f in
            var change = ClassAccessChange(type: type("note"))
            let list = AccessList([AccessEntry(.user("bob"), .update)])
            change.defaultAccess = .some(list)
            _ = try await f.store.classAccess.change(change)
            #expect(try await f.save("note/1", ["title": "x"]).access == list)
            let own = AccessList([])
            #expect(try await f.save("note/2", ["title": "x"], access: own).access == own)
            // Neither private records nor those that are there already.
            #expect(try await f.save("note/3", ["title": "x"], in: .user("ann")).access == nil)
            try await f.psql("UPDATE note SET _access = NULL WHERE _id = '1'")
            #expect(try await f.save("note/1", ["title": "y"]).access == nil)
            let several = try await f.save([draft("note/4", ["title": "x"]), draft("note/5", ["title": "y"])])
            #expect(several.map(\.access) == [list, list])
        }
    }

    /// A user's own list goes before that of the type.
    @Test func newRecordsGetTheListOfTheirUser() async throws {
        try await withRecords { f in
            let own = AccessList([AccessEntry(.user("bob"), .read)])
            let ofType = AccessList([AccessEntry(.users, .update)])
            #expect(!f.store.rulesWatch.hasDefaultLists)
            #expect(try await f.save("note/1", ["title": "x"]).access == nil)
            #expect(try await f.store.users.setDefaultAccess(own, of: "ann"))
            #expect(try await f.save("note/2", ["title": "x"]).access == own)
            #expect(try await f.save("note/3", ["title": "x"], .bob).access == nil)
            #expect(try await f.save("note/4", ["title": "x"], in: .user("ann")).access == nil)
            #expect(try await f.save("note/1", ["title": "y"]).access == nil)
            #expect(try await f.save("note/5", ["title": "x"], Caller(kind: .master(actingAs: "ann"))).access == own)
            #expect(try await f.save("note/6", ["title": "x"], .master).access == nil)
            var change = ClassAccessChange(type: type("note"))
            change.defaultAccess = .some(ofType)
            _ = try await f.store.classAccess.change(change)
            #expect(try await f.save("note/7", ["title": "x"]).access == own)
            #expect(try await f.save("note/8", ["title": "x"], .bob).access == ofType)
            #expect(try await f.save("note/9", ["title": "x"], access: AccessList([])).access == AccessList([]))
            // Psql writes one, of which other processes hear with the number of the rules.
            try await f.psql("UPDATE _user SET default_access = '{}' WHERE id = 'bob'")
            #expect(try await f.save("note/10", ["title": "x"], .bob).access == AccessList([]))
            let other = RecordStore(client: f.client, schema: "app", mode: .production, logger: .silent)
            try await other.prepare()
            #expect(other.rulesWatch.hasDefaultLists)
            #expect(try await f.store.users.setDefaultAccess(nil, of: "ann"))
            #expect(try await f.save("note/11", ["title": "x"]).access == ofType)
            let isKnown = try await f.store.users.setDefaultAccess(nil, of: "gone")
            #expect(!isKnown)
            let tooLong = AccessList((0...100).map { AccessEntry(.user(UserID("u\($0)")), .read) })
            let error = await #expect(throws: SkyrowError.self) {
                try await f.store.users.setDefaultAccess(tooLong, of: "ann")
            }
            #expect(error?.path == "default_access")
            await #expect(throws: (any Error).self) {
                try await f.psql("UPDATE _user SET default_access = '[\"public\"]'")
            }
        }
    }

    @Test func profilesGetTheListOfTheirTypeToo() async throws {
        try await withRecords { f in
            var change = ClassAccessChange(type: .user)
            change.defaultAccess = .some(AccessList([]))
            _ = try await f.store.classAccess.change(change)
            let account = NewAccount(id: "eve", passwordHash: nil, profile: [(name: field("username"), value: "eve")])
            _ = try await f.store.users.create(account, session: nil)
            let list = try await f.psql("SELECT _access FROM \"user\" WHERE _id = 'eve'")
            #expect(list == "{}")
        }
    }

    @Test func aTypeHasAggregatesForTheMasterKeyAlone() async throws {
        try await withRecords { f in
            try await f.save("note/1", ["title": "x"])
            var change = ClassAccessChange(type: type("note"))
            change.allowsAggregates = false
            _ = try await f.store.classAccess.change(change)
            func code(_ name: String, _ caller: Caller, explained: Bool) async -> ErrorCode? {
                let query = AggregateQuery(type: type(name), aggregates: [Aggregate("n", .count)])
                do {
                    let access = RecordAccess(caller, in: .everyone, for: .reading)
                    if explained {
                        _ = try await f.store.explain(query, .plan, with: access)
                    } else {
                        _ = try await f.store.aggregate(query, with: access)
                    }
                    return nil
                } catch {
                    return error.code
                }
            }
            for explained in [false, true] {
                #expect(await code("note", .ann, explained: explained) == .permissionDenied)
                #expect(await code("note", .anonymous, explained: explained) == .permissionDenied)
                #expect(await code("note", .master, explained: explained) == nil)
                #expect(await code("category", .ann, explained: explained) == nil)
            }
            #expect(try await f.query() == ["1"])
        }
    }

    /// What one who may not create is answered, whether there is a record of the id or not.
    @Test func recordsAreCreatedByThoseWhomTheRuleAllowsIt() async throws {
        try await withRecords { f in
            try await f.save("note/hidden", ["title": "x"], access: AccessList([]))
            try await f.save("note/open", ["title": "x"], access: AccessList([AccessEntry(.user("bob"), .write)]))
            var change = ClassAccessChange(type: type("note"))
            change.rules[.create] = ClassRule([.role("writer")])
            _ = try await f.store.classAccess.change(change)
            let drafts = [
                draft("note/new", ["title": "y"]), draft("note/hidden", ["title": "y"]),
                draft("note/open", ["title": "y"]), draft("note/$1", ["title": "y"]),
                draft("note/other", ["title": "y"], precondition: .isNew),
            ]
            func outcomes(_ caller: Caller) async throws -> [RecordOutcome] {
                try await f.store.save(drafts.map { .draft($0) }, in: .everyone, caller: caller, atomic: false)
            }
            let refused = try await outcomes(.bob).map { outcome -> SkyrowError? in
                if case .failure(let error, _) = outcome { error } else { nil }
            }
            #expect(
                refused.map { $0?.code } == [
                    .permissionDenied, .permissionDenied, nil, .permissionDenied, .permissionDenied,
                ]
            )
            // Nothing says which of the two there is.
            #expect(refused[0]?.message == refused[1]?.message)
            #expect(try await f.psql("SELECT count(*) FROM note") == "2")
            #expect(try await f.fetch("note/open")?.fields[field("title")] == "y")
            let writer = Caller(kind: .user("bob"), roles: ["writer"])
            let allowed = try await outcomes(writer).map { outcome -> Bool in
                if case .failure = outcome { false } else { true }
            }
            #expect(allowed == [true, false, true, true, true])
            #expect(try await f.save("note/1", ["title": "own"], .bob, in: .user("bob")).owner == "bob")
        }
    }

    /// A delete takes along what refers to a record, by the rule of the record that is asked for alone; of what its caller
    /// cannot read it says the number.
    @Test func whatGoesWithARecordIsSaidAsFarAsItsRuleShowsIt() async throws {
        try await withRecords { f in
            try await f.psql(
                """
                SELECT _create_type('item');
                ALTER TABLE item ADD COLUMN note text COLLATE "C" REFERENCES note (_id) ON DELETE CASCADE DEFERRABLE
                """
            )
            try await f.store.cache.reload()
            var change = ClassAccessChange(type: type("item"))
            change.rules[.read] = ClassRule([.user("bob")], .override)
            change.rules[.delete] = ClassRule([], .override)
            _ = try await f.store.classAccess.change(change)
            for (caller, visible) in [(Caller.ann, 0), (.bob, 2)] {
                try await f.save("note/1", ["title": "x"], caller)
                try await f.psql("INSERT INTO item (_id, note) VALUES ('a', '1'), ('b', '1')")
                let refused = try await f.store.delete([id("item/a")], in: .everyone, caller: caller, atomic: false)
                guard case .failure(let error, _) = refused[0] else {
                    Issue.record("deleted")
                    return
                }
                #expect(error.code == (visible == 0 ? .resourceNotFound : .permissionDenied))
                let outcome = try await f.store.delete([id("note/1")], in: .everyone, caller: caller, atomic: false)[0]
                guard case .deleted(_, let dependents) = outcome else {
                    Issue.record("not deleted")
                    return
                }
                #expect(dependents.ids.count == visible && dependents.hidden == 2 - visible)
            }
        }
    }

    /// What is asked about records through others of a type with a rule, and what one finds whom that shows none.
    @Test func throughHiddenRecordsNothingIsFound() async throws {
        try await withRecords { f in
            let shelf = RecordType(name: type("shelf"), fields: [field("notes"): .relation(type("note"))])
            _ = try await f.store.createTypes([shelf])
            try await f.save("category/home", ["name": "home", "rank": 1])
            try await f.save("note/1", ["title": "x", "category": .reference(id("category/home"))])
            try await f.psql("INSERT INTO shelf (_id) VALUES ('a'); INSERT INTO \"shelf.notes\" VALUES ('a', '1')")
            for name in ["category", "shelf"] {
                var change = ClassAccessChange(type: type(name))
                change.rules[.read] = ClassRule([.role("reader")], .override)
                _ = try await f.store.classAccess.change(change)
            }
            let questions: [Predicate] = [
                .related(to: id("shelf/a"), path("notes")),
                .compare(.eq, "category.name", .string("home")), .compare(.gte, "category.rank", .integer(0)),
                .found(.keyPath(path("category")), by: Subquery(type: type("category")), isNegated: false),
            ]
            let reader = Caller(kind: .user("bob"), roles: ["reader"])
            for question in questions {
                #expect(try await f.query(question, reader) == ["1"], "\(question)")
                #expect(try await f.query(question, .bob) == [], "\(question)")
                #expect(try await f.query(question, .anonymous) == [], "\(question)")
            }
            let groups = AggregateQuery(
                type: type("note"),
                groupKeys: [GroupKey("name", path("category.name"))],
                aggregates: [Aggregate("n", .count)],
                having: .compare(.eq, "name", .string("home"))
            )
            for (caller, count) in [(reader, 1), (Caller.bob, 0)] {
                let access = RecordAccess(caller, in: .everyone, for: .reading)
                let found = try await f.store.aggregate(groups, with: access).groups.count
                #expect(found == count)
            }
        }
    }

    /// References lead to records that the rules of their type let the caller read.
    @Test func aReferenceLeadsToWhatMayBeRead() async throws {
        try await withRecords { f in
            try await f.save("category/home", ["name": "home"])
            var change = ClassAccessChange(type: type("category"))
            change.rules[.read] = ClassRule([.role("reader")], .override)
            _ = try await f.store.classAccess.change(change)
            let reader = Caller(kind: .user("ann"), roles: ["reader"])
            for (caller, count) in [(reader, 1), (Caller.ann, 0)] {
                for (scope, name) in [(DatabaseScope.everyone, "note/r"), (.user("ann"), "note/p")] {
                    let item = draft(name, ["category": .reference(id("category/home"))], precondition: .isNew)
                    let outcome = try await f.store.save([.draft(item)], in: scope, caller: caller, atomic: false)[0]
                    if case .failure(let error, _) = outcome {
                        #expect(count == 0 && error.code != .permissionDenied, "\(error)")
                    } else {
                        #expect(count == 1)
                    }
                    try await f.psql("DELETE FROM note")
                }
            }
        }
    }
}
