import SkyrowModel
import SkyrowProtocol
import SkyrowTestSupport
import Testing

@testable import SkyrowPostgres
@testable import SkyrowStore

/// References whose records go with, or lose their reference to, a record that is deleted.
@Suite(.timeLimit(.minutes(60))) struct DeleteRuleTests {
    private static let types = [
        RecordType(name: type("list")),
        RecordType(
            name: type("item"),
            fields: [field("list"): .reference(type("list"))],
            deleteRules: [field("list"): .cascade]
        ),
        RecordType(
            name: type("comment"),
            fields: [field("item"): .reference(type("item")), field("list"): .reference(type("list"))],
            deleteRules: [field("item"): .cascade, field("list"): .setNull]
        ),
        RecordType(name: type("note"), fields: [field("item"): .reference(type("item"))]),
        RecordType(
            name: type("node"),
            fields: [field("parent"): .reference(type("node"))],
            deleteRules: [field("parent"): .cascade]
        ),
    ]

    private func withTypes(test: String = #function, _ body: (StoreFixture) async throws -> Void) async throws {
        try await withStore(test: test) { f in
            _ = try await f.store.createTypes(Self.types)
            try await body(f)
        }
    }

    @discardableResult
    private func save(
        _ f: StoreFixture,
        _ drafts: [RecordDraft],
        _ caller: Caller = .ann,
        in scope: DatabaseScope = .everyone
    ) async throws -> [Record] {
        try await f.store.save(drafts.map { .draft($0) }, in: scope, caller: caller, atomic: false).map {
            try $0.record
        }
    }

    private func delete(
        _ f: StoreFixture,
        _ ids: [String],
        _ caller: Caller = .ann,
        in scope: DatabaseScope = .everyone
    ) async throws -> [RecordOutcome] {
        try await f.store.delete(ids.map { id($0) }, in: scope, caller: caller, atomic: false)
    }

    private func dependents(_ outcome: RecordOutcome) -> DeletedDependents? {
        if case .deleted(_, let dependents) = outcome { dependents } else { nil }
    }

    private func link(_ recordID: String, _ name: String, _ target: String) -> RecordDraft {
        RecordDraft(id: id(recordID), fields: [(field(name), .reference(id(target)))])
    }

    private func rows(_ f: StoreFixture) async throws -> String {
        try await f.psql(
            """
            SELECT coalesce(string_agg(id, ' ' ORDER BY id), '') FROM (
                SELECT 'list/' || _id FROM list UNION ALL SELECT 'item/' || _id FROM item
                UNION ALL SELECT 'comment/' || _id FROM comment UNION ALL SELECT 'note/' || _id FROM note
                UNION ALL SELECT 'node/' || _id FROM node
            ) AS row (id)
            """
        )
    }

    @Test func theRulesAreThoseOfTheForeignKeys() async throws {
        try await withTypes { f in
            #expect(
                try await f.psql(
                    """
                    SELECT conrelid::regclass || ' ' || pg_get_constraintdef(oid) FROM pg_constraint
                    WHERE contype = 'f' AND conrelid IN ('item'::regclass, 'comment'::regclass, 'note'::regclass)
                    ORDER BY 1
                    """
                ) == """
                    comment FOREIGN KEY (item) REFERENCES item(_id) ON DELETE CASCADE DEFERRABLE
                    comment FOREIGN KEY (list) REFERENCES list(_id) ON DELETE SET NULL DEFERRABLE
                    item FOREIGN KEY (list) REFERENCES list(_id) ON DELETE CASCADE DEFERRABLE
                    note FOREIGN KEY (item) REFERENCES item(_id) DEFERRABLE
                    """
            )
            try await f.psql(
                """
                ALTER TABLE note ADD gone text REFERENCES list ON DELETE CASCADE, ADD empty text REFERENCES list ON DELETE SET NULL,
                    ADD other text REFERENCES list ON DELETE SET DEFAULT, ADD held text REFERENCES list ON DELETE RESTRICT
                """
            )
            _ = try await f.store.recordSchema()
            let schema = f.store.cache.current.recordSchema.types
            #expect(
                schema[type("note")]?.deleteRules == [
                    field("gone"): .cascade, field("empty"): .setNull, field("other"): .setNull,
                ]
            )
            for known in Self.types.dropFirst().filter({ $0.name != type("note") }) {
                #expect(schema[known.name] == known)
            }
        }
    }

    @Test func aRecordGoesWithAllThatBelongToIt() async throws {
        try await withTypes { f in
            try await save(f, [draft("list/1"), draft("list/2")])
            try await save(f, [link("item/1", "list", "list/1"), link("item/3", "list", "list/2")], .bob)
            var hidden = link("item/2", "list", "list/1")
            hidden.access = AccessList([])
            try await save(f, [hidden], .bob)
            try await save(f, [link("comment/1", "item", "item/1"), link("comment/2", "list", "list/1")], .bob)
            let before = try await f.psql("SELECT _revision FROM comment WHERE _id = '2'")
            // Who may not delete the list deletes nothing.
            #expect(try await delete(f, ["list/1"], .bob).map(\.error?.code) == [.permissionDenied])
            // The right to the list is enough for what belongs to it; of hidden records the number alone is said.
            let outcomes = try await delete(f, ["list/1", "list/none"])
            #expect(dependents(outcomes[0]) == DeletedDependents(ids: [id("comment/1"), id("item/1")], hidden: 1))
            #expect(outcomes[1].error?.code == .resourceNotFound)
            #expect(try await rows(f) == "comment/2 item/3 list/2")
            #expect(try await f.psql("SELECT list IS NULL, _revision > \(before) FROM comment") == "t|t")
            #expect(try await f.psql("SELECT count(*) FROM _tombstone") == "4")
            // Nothing belongs to this one.
            #expect(dependents(try await delete(f, ["comment/2"], .bob)[0]) == DeletedDependents.none)
        }
    }

    @Test func whatIsAskedForAsWellIsDeletedUnlessItIsHidden() async throws {
        try await withTypes { f in
            try await save(f, [draft("list/1")])
            var hidden = link("item/2", "list", "list/1")
            hidden.access = AccessList([])
            try await save(f, [link("item/1", "list", "list/1"), hidden], .bob)
            // item comes before list, and neither may be deleted by ann herself.
            let outcomes = try await delete(f, ["item/2", "list/1", "item/1"])
            #expect(outcomes[0].error?.code == .resourceNotFound)
            #expect(dependents(outcomes[1]) == DeletedDependents(ids: [id("item/1")], hidden: 1))
            #expect(try await rows(f) == "")
        }
    }

    @Test func recordsInACircleGoTogether() async throws {
        try await withTypes { f in
            try await save(
                f,
                [
                    link("node/a", "parent", "node/c"), link("node/b", "parent", "node/a"),
                    link("node/c", "parent", "node/b"),
                ]
            )
            try await save(f, [link("node/self", "parent", "node/self"), draft("node/root")])
            try await save(f, (0..<40).map { link("node/\($0)", "parent", $0 == 0 ? "node/root" : "node/\($0 - 1)") })
            let outcomes = try await delete(f, ["node/a", "node/self", "node/root"])
            #expect(dependents(outcomes[0])?.ids == [id("node/b"), id("node/c")])
            #expect(dependents(outcomes[1]) == DeletedDependents.none)
            // Through any depth.
            #expect(dependents(outcomes[2])?.ids.count == 40)
            #expect(try await rows(f) == "")
        }
    }

    @Test func aReferenceBelowThatHoldsItsTargetHoldsAll() async throws {
        try await withTypes { f in
            try await save(f, [draft("list/1"), draft("list/2")])
            try await save(f, [link("item/1", "list", "list/1"), link("item/2", "list", "list/2")])
            try await save(f, [link("note/1", "item", "item/1")], .bob)
            let outcomes = try await delete(f, ["list/1", "list/2"])
            #expect(outcomes[0].error?.code == .constraintViolated)
            #expect(dependents(outcomes[1])?.ids == [id("item/2")])
            #expect(try await rows(f) == "item/1 list/1 note/1")
            // Those of private databases hold nothing.
            #expect(try await delete(f, ["note/1"], .bob)[0].isDeleted)
            try await save(f, [link("note/1", "item", "item/1")], .bob, in: .user("bob"))
            #expect(dependents(try await delete(f, ["list/1"])[0])?.ids == [id("item/1")])
            #expect(try await f.psql("SELECT _id, item IS NULL FROM note") == "~bob/1|t")
        }
    }

    @Test func aPrivateRecordNeverGoesWithAPublicOne() async throws {
        try await withTypes { f in
            try await save(f, [draft("list/1"), draft("list/2")])
            // It may belong to its owner's own records alone.
            let refused = try await f.store.save(
                [.draft(link("item/1", "list", "list/1"))],
                in: .user("bob"),
                caller: .bob,
                atomic: false
            )
            #expect(refused[0].error?.code == .invalidArgument)
            #expect(refused[0].error?.info["arguments"] == .list([.string("list")]))
            // One that psql made stays, without the reference; a field of the other rule may lead there.
            try await f.psql("INSERT INTO item (_id, _database, _owner, list) VALUES ('~bob/9', 'bob', 'bob', '1')")
            try await save(f, [link("comment/1", "list", "list/1")], .bob, in: .user("bob"))
            #expect(dependents(try await delete(f, ["list/1"])[0]) == DeletedDependents.none)
            #expect(try await f.psql("SELECT _id, list IS NULL FROM item") == "~bob/9|t")
            #expect(try await f.psql("SELECT _id, list IS NULL FROM comment") == "~bob/1|t")
            // In one private database the rules hold as in the public one.
            try await save(f, [draft("list/2"), link("item/2", "list", "list/2")], .bob, in: .user("bob"))
            #expect(try await f.psql("SELECT list FROM item WHERE _id = '~bob/2'") == "~bob/2")
            let outcomes = try await delete(f, ["list/2"], .bob, in: .user("bob"))
            #expect(dependents(outcomes[0])?.ids == [id("item/2")])
            #expect(try await rows(f) == "comment/~bob/1 item/~bob/9 list/2")
        }
    }

    @Test func nothingIsDeletedBeyondTheBound() async throws {
        try await withTypes { f in
            try await save(f, [draft("list/1"), draft("list/2"), draft("list/3"), draft("list/4")])
            try await f.psql(
                """
                INSERT INTO item (_owner, list) SELECT 'bob', '1' FROM generate_series(1, 10001);
                INSERT INTO comment (_owner, list) SELECT 'bob', '2' FROM generate_series(1, 10001);
                INSERT INTO item (_owner, list) SELECT 'bob', '3' FROM generate_series(1, 10000)
                """
            )
            for list in ["list/1", "list/2"] {
                let error = try await delete(f, [list])[0].error
                #expect(error?.code == .invalidArgument && error?.message.contains("10000") == true)
            }
            // The bound is that of a request.
            #expect(
                try await delete(f, ["list/3", "list/1"]).map(\.error?.code) == [.invalidArgument, .invalidArgument]
            )
            #expect(try await f.psql("SELECT count(*) FROM list") == "4")
            #expect(dependents(try await delete(f, ["list/3", "list/4"])[0])?.ids.count == 10_000)
            #expect(try await f.psql("SELECT count(*) FROM list") == "2")
        }
    }

    @Test(arguments: [false, true])
    func allOrNothingIsForDependentsToo(isHeld: Bool) async throws {
        try await withTypes { f in
            try await save(f, [draft("list/1"), link("item/1", "list", "list/1"), draft("note/1")])
            if isHeld { try await save(f, [link("note/1", "item", "item/1")]) }
            let ids = [id("note/none"), id("list/1")]
            let error = await #expect(throws: SkyrowError.self) {
                try await f.store.delete(ids, in: .everyone, caller: .ann, atomic: true)
            }
            #expect(error?.code == .atomicOperationFailure)
            #expect(try await rows(f) == "item/1 list/1 note/1")
            let both = try await f.store.delete(
                [id("note/1"), id("list/1")],
                in: .everyone,
                caller: .ann,
                atomic: true
            )
            #expect(dependents(both[1])?.ids == [id("item/1")])
            #expect(try await rows(f) == "")
        }
    }

    @Test func aRuleIsChosenWithTheField() async throws {
        try await withTypes { f in
            // What is there may be said again, with its rule or without.
            _ = try await f.store.createTypes(Self.types)
            _ = try await f.store.createTypes(
                Self.types.map { RecordType(name: $0.name, fields: $0.fields) }
            )
            let refusals: [(RecordType, ErrorCode)] = [
                (
                    RecordType(
                        name: type("item"),
                        fields: [field("list"): .reference(type("list"))],
                        deleteRules: [field("list"): .setNull]
                    ), .incompatibleSchema
                ),
                (
                    RecordType(
                        name: .user,
                        fields: [field("list"): .reference(type("list"))],
                        deleteRules: [field("list"): .cascade]
                    ), .invalidArgument
                ),
            ]
            for (wanted, code) in refusals {
                let error = await #expect(throws: SkyrowError.self) {
                    try await f.store.createTypes([wanted])
                }
                #expect(error?.code == code)
            }
        }
    }
}
