import SkyrowModel
import SkyrowProtocol
import SkyrowTestSupport
import Testing

@testable import SkyrowPostgres
@testable import SkyrowStore

/// Relations: what their tables are, who changes their members, and what is asked of them.
@Suite(.timeLimit(.minutes(60))) struct RelationTests {
    private static let types = [
        RecordType(name: type("tag"), fields: [field("name"): .string, field("rank"): .integer]),
        RecordType(name: type("post"), fields: [field("title"): .string, field("tags"): .relation(type("tag"))]),
    ]
    private static let everyoneWrites = AccessList([AccessEntry(.everyone, .write)])

    private func withPosts(
        test: String = #function,
        _ body: @escaping @Sendable (RecordsFixture) async throws -> Void
    ) async throws {
        try await withRecords(test: test) { f in
            _ = try await f.store.createTypes(Self.types)
            for (number, name) in ["red", "blue", "green"].enumerated() {
                try await f.save("tag/\(name)", ["name": .string(name), "rank": .integer(Int64(number))])
            }
            try await f.save("tag/secret", ["name": "secret", "rank": 9], access: AccessList([]), .bob)
            try await f.save("post/1", ["title": "a"])
            try await f.save("post/2", ["title": "b"])
            try await f.save("post/b", ["title": "c"], .bob)
            try await body(f)
        }
    }

    private func tags(_ ids: String...) -> [RecordID] { ids.map { id("tag/\($0)") } }

    private func members(_ f: RecordsFixture, of owner: String = "1") async throws -> String {
        let rows = try await f.store.client.read(
            "SELECT coalesce(string_agg(_to, ' ' ORDER BY _to), '') FROM app.\"post.tags\" WHERE _from = \(owner)"
        )
        return try rows.decode(row: 0, column: 0, as: String.self)
    }

    private func ids(
        _ f: RecordsFixture,
        _ predicate: Predicate,
        of name: String = "post",
        sort: [SortKey] = [],
        _ caller: Caller = .ann,
        in scope: DatabaseScope = .everyone
    ) async throws -> String {
        let query = RecordQuery(type: type(name), predicate: predicate, sort: sort)
        return try await f.store.query(query, in: scope, caller: caller).records.compactMap { $0.collected()?.id.id }
            .joined(separator: " ")
    }

    // MARK: Schema

    @Test func aRelationIsATableWithAKeyEachWay() async throws {
        try await withPosts { f in
            let text = try await f.store.client.read(
                """
                SELECT string_agg(pg_get_constraintdef(c.oid), '; ' ORDER BY contype DESC, conname)
                    || '; ' || obj_description('app."post.tags"'::regclass)
                    || '; ' || (SELECT string_agg(indexdef, ', ') FROM pg_indexes WHERE tablename = 'post.tags' AND indexname !~ 'pkey')
                FROM pg_constraint AS c WHERE conrelid = 'app."post.tags"'::regclass
                """
            ).decode(row: 0, column: 0, as: String.self)
            #expect(
                text == """
                    PRIMARY KEY (_from, _to); FOREIGN KEY (_from) REFERENCES app.post(_id) ON DELETE CASCADE DEFERRABLE; \
                    FOREIGN KEY (_to) REFERENCES app.tag(_id) ON DELETE CASCADE DEFERRABLE; relation post.tags -> tag; \
                    CREATE INDEX "post.tags__to__from_idx" ON app."post.tags" USING btree (_to, _from)
                    """
            )
            let post = try #require(try await f.store.recordSchema().types[type("post")])
            #expect(post.fields == [field("title"): .string, field("tags"): .relation(type("tag"))])
        }
    }

    @Test func itIsRenamedAndDeletedWithItsField() async throws {
        try await withPosts { f in
            try await f.apply(.relate(tags("red", "blue")), to: "tags", of: "post/1")
            _ = try await f.store.renameField(
                FieldRename(type: type("post"), field: field("tags"), newName: field("labels"))
            )
            #expect(
                try await ids(f, .comparison(.eq, .keyPath(path("labels")), .value(.reference(id("tag/red"))))) == "1"
            )
            let tables: SQL =
                "SELECT string_agg(relname, ' ') FROM pg_class WHERE relkind = 'r' AND relname LIKE 'post.%'"
            #expect(try await f.store.client.read(tables).decode(row: 0, column: 0, as: String?.self) == "post.labels")
            _ = try await f.store.deleteField(FieldDeletion(type: type("post"), field: field("labels")))
            #expect(try await f.store.client.read(tables).decode(row: 0, column: 0, as: String?.self) == nil)
            let left = try #require(try await f.store.recordSchema().types[type("post")])
            #expect(left.fields == [field("title"): .string])
            #expect(try await ids(f, .and([]), of: "tag") == "blue green red")
        }
    }

    @Test func longNamesGetATableToo() async throws {
        try await withPosts { f in
            let name = String(repeating: "t", count: 60)
            let owner = RecordType(name: type(name), fields: [field(name): .relation(type("tag"))])
            _ = try await f.store.createTypes([owner])
            _ = try await f.outcomes([draft("\(name)/1", applying: [name: .relate(tags("red"))])])[0].record
            #expect(try await ids(f, .comparison(.exists, .keyPath(path(name)), .value(true)), of: name) == "1")
        }
    }

    // MARK: Members

    @Test func membersAreAddedAndRemoved() async throws {
        try await withPosts { f in
            let rows: [(FieldOperator, String)] = [
                (.relate(tags("red", "blue", "red")), "blue red"),
                (.relate(tags("red")), "blue red"),
                (.unrelate(tags("blue", "gone")), "red"),
                (.all(.unrelate(tags("red")), .relate(tags("green"))), "green"),
                (.all(.relate(tags("red")), .unrelate(tags("red", "green")), .relate(tags("blue"))), "blue"),
                (.relate([]), "blue"),
                (.unrelate(tags("blue")), ""),
            ]
            for (change, expected) in rows {
                let value = try await f.apply(change, to: "tags", of: "post/1")
                #expect(value == .relation(type("tag")))
                #expect(try await members(f) == expected, "\(change)")
            }
            // A record is new, or gets values at the same time.
            let new = draft("post/9", applying: ["tags": .relate(tags("red"))], ["title": "new"])
            #expect(try await f.outcomes([new])[0].record.fields[field("title")] == "new")
            #expect(try await members(f, of: "9") == "red")
            // What was read can be sent back.
            try await f.save("post/9", ["tags": .relation(type("tag"))])
            #expect(try await members(f, of: "9") == "red")
        }
    }

    @Test func whatIsNoMemberIsRefused() async throws {
        try await withPosts { f in
            try await f.apply(.relate(tags("red")), to: "tags", of: "post/1")
            let rows: [(FieldOperator, String?, ErrorCode)] = [
                (.relate([id("post/2")]), "tags.$val[0]", .invalidArgument),
                (
                    .all(.relate(tags("red")), .unrelate([id("tag/red"), id("post/2")])), "tags.$val[1].$val[1]",
                    .invalidArgument
                ),
                (.relate(tags("gone")), nil, .invalidArgument),
                // Another's record that ann may not read is as one that there is not.
                (.relate(tags("secret")), nil, .invalidArgument),
                (.unset, nil, .invalidArgument),
                (.setOnInsert(.relation(type("tag"))), nil, .invalidArgument),
                (.increment(by: 1), nil, .invalidArgument),
                (.push("[1]"), nil, .invalidArgument),
            ]
            for (change, path, code) in rows {
                let outcome = try await f.outcomes([draft("post/1", applying: ["tags": change])])[0]
                #expect(outcome.error?.code == code, "\(change)")
                if let path { #expect(outcome.error?.path?.hasSuffix(path) ?? false, "\(outcome.error?.path ?? "")") }
                #expect(try await members(f) == "red", "\(change)")
            }
            for value in [RecordValue.null, .string("red"), .relation(type("post"))] {
                let outcome = try await f.outcomes([draft("post/1", ["tags": value])])[0]
                #expect(outcome.error != nil, "\(value)")
            }
            let missing = try await f.outcomes([draft("post/1", applying: ["tags": .relate(tags("gone"))])])[0]
            #expect(missing.error?.info["arguments"] == .list([.string("tags")]))
        }
    }

    @Test func aCallerWhoMayWriteTheRecordChangesItsMembers() async throws {
        try await withPosts { f in
            // ann reads bob's post and does not write it.
            let refused = try await f.outcomes([draft("post/b", applying: ["tags": .relate(tags("red"))])])[0]
            #expect(refused.error?.code == .permissionDenied)
            #expect(try await members(f, of: "b") == "")
            try await f.apply(.relate(tags("red", "secret")), to: "tags", of: "post/b", .bob)
            #expect(try await members(f, of: "b") == "red secret")
            try await f.save("post/open", ["title": "x"], access: Self.everyoneWrites, .bob)
            try await f.apply(.relate(tags("red")), to: "tags", of: "post/open")
            #expect(try await members(f, of: "open") == "red")
        }
    }

    @Test func recordsOfOneRequestBecomeMembers() async throws {
        try await withPosts { f in
            let person = RecordType(name: type("person"), fields: [field("friends"): .relation(type("person"))])
            _ = try await f.store.createTypes([person])
            for atomic in [false, true] {
                let drafts = [
                    draft("person/a\(atomic)", applying: ["friends": .relate([id("person/b\(atomic)")])]),
                    draft("person/b\(atomic)", applying: ["friends": .relate([id("person/a\(atomic)")])]),
                    draft("person/c\(atomic)", applying: ["friends": .relate([id("person/c\(atomic)")])]),
                ]
                for outcome in try await f.outcomes(drafts, atomic: atomic) { _ = try outcome.record }
            }
            let rows = try await f.store.client.read(
                "SELECT string_agg(_from || '-' || _to, ' ' ORDER BY 1, 2) FROM app.\"person.friends\""
            )
            #expect(
                try rows.decode(row: 0, column: 0, as: String.self).split(separator: " ").sorted().joined(
                    separator: " "
                )
                    == "afalse-bfalse atrue-btrue bfalse-afalse btrue-atrue cfalse-cfalse ctrue-ctrue"
            )
        }
    }

    @Test func membersGoWithTheirRecords() async throws {
        try await withPosts { f in
            try await f.apply(.relate(tags("red", "blue")), to: "tags", of: "post/1")
            _ = try await f.store.delete([id("tag/red")], in: .everyone, caller: .ann, atomic: false)
            #expect(try await members(f) == "blue")
            _ = try await f.store.delete([id("post/1")], in: .everyone, caller: .ann, atomic: false)
            #expect(try await members(f) == "")
            #expect(try await ids(f, .and([]), of: "tag") == "blue green")
        }
    }

    @Test func aPrivateRecordHasMembersOfItsOwnDatabaseAndPublicOnes() async throws {
        try await withPosts { f in
            let own = DatabaseScope.user("ann")
            for name in ["mine", "red"] {
                _ = try await f.outcomes([draft("tag/\(name)", ["name": "own"])], in: own)[0].record
            }
            let change = draft("post/p", applying: ["tags": .relate(tags("mine", "red", "blue"))])
            _ = try await f.outcomes([change], in: own)[0].record
            #expect(try await members(f, of: "~ann/p") == "blue ~ann/mine ~ann/red")
            let refused = draft("post/p", applying: ["tags": .relate(tags("secret"))])
            #expect(try await f.outcomes([refused], in: own)[0].error?.code == .invalidArgument)
            // A public record has no private member.
            let other = draft("post/1", applying: ["tags": .relate(tags("mine"))])
            #expect(try await f.outcomes([other])[0].error?.code == .invalidArgument)
            for name in ["mine", "red", "blue"] {
                let member = Predicate.comparison(.eq, .keyPath(path("tags")), .value(.reference(id("tag/\(name)"))))
                #expect(try await ids(f, member, in: own) == "p", "\(name)")
            }
            #expect(try await ids(f, .related(to: id("post/p"), path("tags")), of: "tag", in: own) == "mine red")
            _ = try await f.outcomes([draft("post/p", applying: ["tags": .unrelate(tags("red", "blue"))])], in: own)[0]
                .record
            #expect(try await members(f, of: "~ann/p") == "~ann/mine")
        }
    }

    // MARK: Queries

    @Test func membersAreAskedFor() async throws {
        try await withPosts { f in
            try await f.apply(.relate(tags("red", "blue")), to: "tags", of: "post/1")
            try await f.apply(.relate(tags("blue", "green")), to: "tags", of: "post/2")
            try await f.apply(.relate(tags("secret")), to: "tags", of: "post/b", .bob)
            func eq(_ name: String) -> Predicate {
                .comparison(.eq, .keyPath(path("tags")), .value(.reference(id("tag/\(name)"))))
            }
            func asked(_ comparison: ComparisonOperator, _ names: String...) -> Predicate {
                .comparison(comparison, .keyPath(path("tags")), .list(names.map { .reference(id("tag/\($0)")) }))
            }
            let named = Predicate.comparison(.eq, .keyPath(path("name")), .value("green"))
            // What bob finds, whose tag is secret, and what ann does.
            let rows: [(Predicate, bob: String, ann: String)] = [
                (eq("red"), "1", "1"), (eq("secret"), "b", ""), (eq("gone"), "", ""),
                (.not(eq("secret")), "1 2", "1 2 b"), (.none([eq("blue")]), "b", "b"),
                (asked(.in, "red", "green"), "1 2", "1 2"), (asked(.containsAny, "green", "secret"), "2 b", "2"),
                (asked(.containsAll, "red", "blue"), "1", "1"), (asked(.containsAll, "red", "green"), "", ""),
                (.comparison(.contains, .keyPath(path("tags")), .value("blue")), "1 2", "1 2"),
                (.comparison(.exists, .keyPath(path("tags")), .value(true)), "1 2 b", "1 2"),
                (.comparison(.exists, .keyPath(path("tags")), .value(false)), "", "b"),
                (.comparison(.eq, .keyPath(path("tags.name")), .value("green")), "2", "2"),
                (.comparison(.gte, .keyPath(path("tags.rank")), .value(9)), "b", ""),
                (
                    .elements(path("tags"), .any, .and([named, .comparison(.eq, .keyPath(path("rank")), .value(2))])),
                    "2", "2"
                ),
                (.elements(path("tags"), .all, .comparison(.lt, .keyPath(path("rank")), .value(2))), "1", "1 b"),
                (.comparison(.eq, .function(.size, path("tags")), .value(2)), "1 2", "1 2"),
                (.comparison(.eq, .function(.size, path("tags")), .value(0)), "", "b"),
                (
                    .found(.keyPath(path("tags")), by: Subquery(type: type("tag"), predicate: named), isNegated: false),
                    "2", "2"
                ),
                (.comparison(.eq, .value(.reference(id("tag/red"))), .keyPath(path("tags"))), "1", "1"),
                (.comparison(.in, .value(.reference(id("tag/secret"))), .keyPath(path("tags"))), "b", ""),
                (.comparison(.in, .value("blue"), .keyPath(path("tags"))), "1 2", "1 2"),
                (.comparison(.in, .value(.null), .keyPath(path("tags"))), "", ""),
            ]
            for (predicate, bob, ann) in rows {
                #expect(try await ids(f, predicate, .bob) == bob, "\(predicate)")
                #expect(try await ids(f, predicate) == ann, "\(predicate)")
            }
            let size = SortKey(path("tags"), .descending)
            var bySize = size
            bySize.function = .size
            #expect(try await ids(f, .and([]), sort: [bySize, SortKey(path("_id"))]) == "1 2 b")
        }
    }

    @Test func eachOfManyIsAMember() async throws {
        try await withPosts { f in
            let names = (0..<30).map { "t\($0)" }
            try await f.save(names.map { draft("tag/\($0)") })
            try await f.save("tag/t3", [:], access: AccessList([]))
            let many = names.map { id("tag/\($0)") }
            try await f.apply(.relate(many), to: "tags", of: "post/1")
            try await f.apply(.relate(Array(many.dropLast())), to: "tags", of: "post/2")
            func asked(_ ids: [RecordID]) -> Predicate {
                .comparison(.containsAll, .keyPath(path("tags")), .list(ids.map { .reference($0) }))
            }
            let rows: [(ids: [RecordID], ann: String, bob: String)] = [
                (many, "1", ""), (Array(many.dropLast()), "1 2", ""), (many.filter { $0.id != "t3" }, "1", "1"),
                // A value counts once.
                ([many[0], many[0], many[1], many[1], many[2]], "1 2", "1 2"), ([many[0], many[0]], "1 2", "1 2"),
                ([many[0], id("tag/gone")], "", ""), ([many[4], many[3]], "1 2", ""), ([], "1 2 b", "1 2 b"),
                // As many as a predicate has values.
                (Array(repeating: many, count: 333).joined() + [many[0]], "1", ""),
            ]
            for row in rows {
                #expect(try await ids(f, asked(row.ids)) == row.ann, "\(row.ids.count)")
                #expect(try await ids(f, asked(row.ids), .bob) == row.bob, "\(row.ids.count)")
            }
            #expect(try await ids(f, .not(asked(many))) == "2 b")
            #expect(try await ids(f, .none([asked(many)])) == "2 b")
            #expect(try await ids(f, asked((0..<10_000).map { id("tag/x\($0)") })) == "")
            let error = await #expect(throws: SkyrowError.self) {
                _ = try await ids(f, asked((0..<10_001).map { id("tag/x\($0)") }))
            }
            #expect(error?.code == .invalidArgument && error?.path == "predicate[2]")
        }
    }

    /// To users a private record and a public one may have the same id: what one of both is a member of has it.
    @Test func eachOfManyIsFoundInAPrivateDatabase() async throws {
        try await withPosts { f in
            let own = DatabaseScope.user("ann")
            try await f.save([draft("tag/red"), draft("tag/mine"), draft("post/p"), draft("post/q")], .ann, in: own)
            try await f.psql(
                """
                INSERT INTO "post.tags" VALUES ('~ann/p', '~ann/red'), ('~ann/p', 'red'), ('~ann/p', '~ann/mine'),
                    ('~ann/q', '~ann/red'), ('~ann/q', 'red')
                """
            )
            func asked(_ names: String...) -> Predicate {
                .comparison(.containsAll, .keyPath(path("tags")), .list(names.map { .reference(id("tag/\($0)")) }))
            }
            for (scope, caller) in [(own, .ann), (.union, .master)] as [(DatabaseScope, Caller)] {
                #expect(try await ids(f, asked("red", "mine"), caller, in: scope) == "p")
                #expect(try await ids(f, asked("red", "blue"), caller, in: scope) == "")
                #expect(try await ids(f, asked("red", "red"), caller, in: scope) == "p q")
            }
        }
    }

    @Test func aFieldOfAMemberIsComparedWithOneOfTheRecord() async throws {
        try await withPosts { f in
            try await f.apply(.relate(tags("red", "blue")), to: "tags", of: "post/1")
            try await f.apply(.relate(tags("green")), to: "tags", of: "post/2")
            try await f.apply(.relate(tags("secret", "red")), to: "tags", of: "post/b", .bob)
            try await f.save("post/1", ["title": "red"])
            try await f.save("post/b", ["title": "secret"], .bob)
            func paths(_ comparison: ComparisonOperator, _ left: String, _ right: String) -> Predicate {
                .comparison(comparison, .keyPath(path(left)), .keyPath(path(right)))
            }
            let size = Operand.function(.size, path("tags"))
            let folded = Operand.function(.fold, path("tags.name"))
            // What bob finds, whose tag is secret, and what ann does.
            let rows: [(Predicate, bob: String, ann: String)] = [
                (paths(.eq, "tags.name", "title"), "1 b", "1"), (paths(.eq, "title", "tags.name"), "1 b", "1"),
                (paths(.gt, "tags.name", "title"), "2", "2"),
                (.comparison(.eq, folded, .function(.fold, path("title"))), "1 b", "1"),
                (.none([paths(.eq, "tags.name", "title")]), "2", "2 b"),
                (.not(paths(.eq, "tags.name", "title")), "2", "2 b"),
                // Of two members one is before the other.
                (paths(.lt, "tags.rank", "tags.rank"), "1 b", "1"),
                (paths(.eq, "tags.rank", "tags.rank"), "1 2 b", "1 2 b"),
                (.comparison(.gt, .keyPath(path("tags.rank")), size), "2 b", "2"),
                (paths(.eq, "tags._owner", "_owner"), "1 2 b", "1 2"), (paths(.eq, "tags", "tags"), "1 2 b", "1 2 b"),
                (paths(.lt, "tags.name", "tags.rank"), "108", "108"),
            ]
            for (predicate, bob, ann) in rows {
                guard bob != "108" else {
                    let error = await #expect(throws: SkyrowError.self) { _ = try await ids(f, predicate) }
                    #expect(error?.code == .invalidArgument && error?.path == "predicate[2]")
                    continue
                }
                #expect(try await ids(f, predicate, .bob) == bob, "\(predicate)")
                #expect(try await ids(f, predicate) == ann, "\(predicate)")
            }
            // Inside of a query that is inside of another, and of an any, the record is that of the inner one.
            let inner = Subquery(type: type("post"), predicate: paths(.eq, "tags.name", "title"))
            #expect(try await ids(f, .found(.keyPath(path("_id")), by: inner, isNegated: false)) == "1")
        }
    }

    @Test func theMembersOfARecordAreFound() async throws {
        try await withPosts { f in
            try await f.apply(.relate(tags("red", "blue")), to: "tags", of: "post/1")
            try await f.apply(.relate(tags("secret", "green")), to: "tags", of: "post/b", .bob)
            try await f.save("post/hidden", ["title": "x"], access: AccessList([]), .bob)
            try await f.apply(.relate(tags("red")), to: "tags", of: "post/hidden", .bob)
            let rows: [(String, bob: String, ann: String)] = [
                ("1", "blue red", "blue red"), ("b", "green secret", "green"), ("hidden", "red", ""), ("gone", "", ""),
            ]
            for (owner, bob, ann) in rows {
                let predicate = Predicate.related(to: id("post/\(owner)"), path("tags"))
                #expect(try await ids(f, predicate, of: "tag", .bob) == bob, "\(owner)")
                #expect(try await ids(f, predicate, of: "tag") == ann, "\(owner)")
                let others = try await ids(f, .not(predicate), of: "tag")
                #expect(!others.contains(ann) || ann.isEmpty)
            }
        }
    }

    @Test func whatHasNoMeaningIsRefusedWithItsPlace() async throws {
        try await withPosts { f in
            let keyPath = Operand.keyPath(path("tags"))
            let red = Operand.value(.reference(id("tag/red")))
            let rows: [(Predicate, ErrorCode, String)] = [
                (.comparison(.neq, keyPath, red), .invalidArgument, "predicate[0]"),
                (.comparison(.nin, keyPath, .list([])), .invalidArgument, "predicate[0]"),
                (.comparison(.gt, keyPath, red), .invalidArgument, "predicate[0]"),
                (.comparison(.like, keyPath, .value("a%")), .invalidArgument, "predicate[0]"),
                (.comparison(.containedBy, keyPath, .list([])), .invalidArgument, "predicate[0]"),
                (.comparison(.eq, keyPath, .value(.reference(id("post/1")))), .invalidArgument, "predicate[2]"),
                (.comparison(.eq, keyPath, .value(1)), .invalidArgument, "predicate[2]"),
                (.comparison(.contains, keyPath, .value(.null)), .invalidArgument, "predicate[2]"),
                (.comparison(.containsAll, keyPath, .list([.null])), .invalidArgument, "predicate[2][0]"),
                (.comparison(.eq, keyPath, .keyPath(path("title"))), .invalidArgument, "predicate[2]"),
                (.comparison(.neq, keyPath, .keyPath(path("title"))), .invalidArgument, "predicate[0]"),
                (
                    .comparison(.neq, .keyPath(path("title")), .keyPath(path("tags.name"))), .invalidArgument,
                    "predicate[0]"
                ),
                (.comparison(.contains, keyPath, .keyPath(path("title"))), .invalidArgument, "predicate[2]"),
                (.found(keyPath, by: Subquery(type: type("tag")), isNegated: true), .invalidArgument, "predicate[0]"),
                (.related(to: id("post/1"), path("title")), .invalidArgument, "predicate[2]"),
                (.related(to: id("post/1"), path("gone")), .recordQueryInvalid, "predicate[2]"),
                (.related(to: id("gone/1"), path("tags")), .recordQueryInvalid, "predicate[1]"),
                // Its members are tags and no posts.
                (.related(to: id("post/1"), path("tags")), .invalidArgument, "predicate[2]"),
            ]
            for (predicate, code, place) in rows {
                let error = await #expect(throws: SkyrowError.self) { _ = try await ids(f, predicate) }
                #expect(error?.code == code && error?.path == place, "\(predicate): \(error?.path ?? "")")
            }
            let sorted = await #expect(throws: SkyrowError.self) {
                _ = try await ids(f, .and([]), sort: [SortKey(path("tags"))])
            }
            #expect(sorted?.code == .recordQueryInvalid)
        }
    }

    @Test func membersTravelWithTheirRecords() async throws {
        try await withPosts { f in
            try await f.apply(.relate(tags("red", "blue", "green")), to: "tags", of: "post/1")
            try await f.apply(.relate(tags("secret", "green")), to: "tags", of: "post/b", .bob)
            func lists(_ change: (inout Inclusion) -> Void = { _ in }, _ caller: Caller = .ann) async throws -> [String]
            {
                var inclusion = Inclusion(name: "x", keyPath: path("tags"))
                change(&inclusion)
                let query = RecordQuery(type: type("post"), include: [inclusion])
                return try await f.store.query(query, in: .everyone, caller: caller).records.map { source in
                    let list = try #require(source.collected()?.lists["x"])
                    return list.records.map(\.id.id).joined(separator: " ") + (list.count.map { " of \($0)" } ?? "")
                }
            }
            #expect(try await lists() == ["blue green red", "", "green"])
            #expect(try await lists({ _ in }, .bob) == ["blue green red", "", "green secret"])
            let rank = [SortKey(path("rank"), .descending)]
            #expect(
                try await lists { ($0.sort, $0.limit, $0.countsRecords) = (rank, 2, true) } == [
                    "green blue of 3", " of 0", "green of 1",
                ]
            )
        }
    }

    // MARK: Beside each other

    @Test func nothingIsLostWhenManyRelateAndUnrelate() async throws {
        try await withPosts { f in
            for number in 0..<100 { try await f.save("tag/t\(number)", ["rank": .integer(Int64(number))]) }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<400 {
                    if number >= 50 { try await group.next() }
                    group.addTask {
                        let tag = [id("tag/t\(number % 100)")]
                        try await f.apply(.relate(tag), to: "tags", of: "post/1")
                        // The last word about each odd one is that it is none.
                        if number % 2 == 1 { try await f.apply(.unrelate(tag), to: "tags", of: "post/1") }
                    }
                }
                try await group.waitForAll()
            }
            let rows = try await f.store.client.read(
                """
                SELECT count(*) FILTER (WHERE substr(_to, 2)::int % 2 = 0), count(*) FROM app."post.tags" WHERE _from = '1'
                """
            )
            #expect(try rows.decode(row: 0, column: 0, as: Int64.self) == 50)
            #expect(try rows.decode(row: 0, column: 1, as: Int64.self) == 50)
        }
    }

    /// The second one waits for the row of the first, whose member it then removes.
    @Test func aMemberThatWasAddedMeanwhileIsRemoved() async throws {
        try await withPosts { f in
            let removal = try await f.store.client.withTransaction { transaction in
                _ = try await transaction.query("UPDATE app.post SET title = 'z' WHERE _id = '1'")
                _ = try await transaction.query("INSERT INTO app.\"post.tags\" VALUES ('1', 'red')")
                let removal = Task { try await f.apply(.unrelate(tags("red")), to: "tags", of: "post/1") }
                try await waiting(until: "the second one waits for the row") {
                    try await f.database.sessionsWaitingForALock() == 1
                }
                return removal
            }
            _ = try await removal.value
            #expect(try await members(f) == "")
        }
    }
}
