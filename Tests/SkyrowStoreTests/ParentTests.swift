import SkyrowModel
import SkyrowProtocol
import SkyrowTestSupport
import Testing

@testable import SkyrowPostgres
@testable import SkyrowStore

/// Records that belong to others, `_parent`.
@Suite(.timeLimit(.minutes(60))) struct ParentTests {
    private static let types = [
        RecordType(name: type("list"), fields: [field("title"): .string, .parent: .reference(type("folder"))]),
        RecordType(name: type("folder"), fields: [field("title"): .string, .parent: .reference(type("folder"))]),
        RecordType(name: type("item"), fields: [field("title"): .string, .parent: .reference(type("list"))]),
    ]

    private func withParents(test: String = #function, _ body: (StoreFixture) async throws -> Void) async throws {
        try await withStore(test: test) { f in
            _ = try await f.store.createTypes(Self.types)
            try await body(f)
        }
    }

    private func child(_ recordID: String, of parent: String?, access: AccessList? = nil) -> RecordDraft {
        let value = parent.map { RecordValue.reference(id($0)) } ?? .null
        return RecordDraft(id: id(recordID), access: access, fields: [(.parent, value)])
    }

    private func outcomes(
        _ f: StoreFixture,
        _ drafts: [RecordDraft],
        _ caller: Caller = .ann,
        in scope: DatabaseScope = .everyone
    ) async throws -> [RecordOutcome] {
        try await f.store.save(drafts.map { .draft($0) }, in: scope, caller: caller, atomic: false)
    }

    @discardableResult
    private func save(
        _ f: StoreFixture,
        _ drafts: [RecordDraft],
        _ caller: Caller = .ann,
        in scope: DatabaseScope = .everyone
    ) async throws -> [Record] {
        try await outcomes(f, drafts, caller, in: scope).map { try $0.record }
    }

    private func ids(_ f: StoreFixture, _ query: RecordQuery, _ caller: Caller = .ann) async throws -> String {
        try await f.store.query(query, in: .everyone, caller: caller).records
            .compactMap { $0.collected()?.id.id }.joined(separator: " ")
    }

    @Test func theSchemaSaysWhatTheParentIs() async throws {
        try await withParents { f in
            #expect(
                try await f.psql(
                    """
                    SELECT pg_get_constraintdef(pg_constraint.oid), col_description(conrelid, conkey[1]), tgname
                    FROM pg_constraint JOIN pg_trigger ON tgrelid = conrelid AND tgname = '_check_parent'
                    WHERE contype = 'f' AND conrelid = 'item'::regclass
                    """
                )
                    == "FOREIGN KEY (_parent) REFERENCES list(_id) ON DELETE CASCADE DEFERRABLE|The _id of a list.|_check_parent"
            )
            let item = try #require(try await f.store.recordSchema().types[type("item")])
            #expect(item.fields[.parent] == .reference(type("list")) && item.deleteRules == [.parent: .cascade])
            let refused: [RecordType] = [
                RecordType(name: type("a"), fields: [.parent: .string]),
                RecordType(name: type("a"), fields: [.parent: .array(.reference(type("list")))]),
                RecordType(
                    name: type("a"),
                    fields: [.parent: .reference(type("list"))],
                    deleteRules: [.parent: .setNull]
                ),
                RecordType(name: .user, fields: [.parent: .reference(type("list"))]),
            ]
            for type in refused {
                let error = await #expect(throws: SkyrowError.self) {
                    try await f.store.createTypes([type])
                }
                #expect(error?.code == .invalidArgument, "\(type)")
            }
            // What is declared stays as it is, and has this name alone.
            let other = await #expect(throws: SkyrowError.self) {
                try await f.store.createTypes(
                    [
                        RecordType(name: type("item"), fields: [.parent: .reference(type("item"))])
                    ]
                )
            }
            #expect(other?.code == .incompatibleSchema)
            for (from, to) in [(FieldName.parent, field("list")), (field("title"), .parent)] {
                let error = await #expect(throws: SkyrowError.self) {
                    try await f.store.renameField(FieldRename(type: type("item"), field: from, newName: to))
                }
                #expect(error?.code == .invalidArgument)
            }
            _ = try await f.store.deleteField(FieldDeletion(type: type("item"), field: .parent))
            #expect(f.store.cache.current[type("item")]?[.parent] == nil)
            // A save makes no parent, as it makes other fields.
            try await save(f, [child("list/1", of: nil)])
            let error = try await outcomes(f, [child("item/1", of: nil), draft("item/2", ["title": .string("x")])])
                .map(\.error?.code)
            #expect(error == [nil, nil])
            let missing = await #expect(throws: SkyrowError.self) {
                try await f.store.createMissingSchema(for: [child("item/1", of: "list/1")])
            }
            #expect(missing?.code == .incompatibleSchema && missing?.message.contains("no parent") == true)
        }
    }

    /// A column of psql's making that is called so and is no parent is none of the record's.
    @Test func whatIsNoParentIsNotShown() async throws {
        try await withParents { f in
            try await f.psql("ALTER TABLE \"user\" ADD _parent text; CREATE TABLE x (_parent text REFERENCES list)")
            _ = try await f.store.recordSchema()
            #expect(f.store.cache.current[.user]?[.parent] == nil)
        }
    }

    @Test func aRecordIsSavedAndAskedForByItsParent() async throws {
        try await withParents { f in
            let saved = try await save(
                f,
                [
                    child("item/1", of: "list/1"), child("list/1", of: "folder/b"), child("folder/b", of: "folder/a"),
                    draft("folder/a", ["title": .string("A")]), child("item/2", of: nil),
                ]
            )
            #expect(saved.map(\.parent?.description) == ["list/1", "folder/b", "folder/a", nil, nil])
            #expect(try await f.psql("SELECT _parent FROM item WHERE _id = '1'") == "1")
            let rows: [(Predicate, String)] = [
                (.compare(.eq, "_parent", .reference(id("list/1"))), "1"), (.compare(.eq, "_parent", .null), "2"),
                (.compare(.eq, "_parent._parent._parent.title", .string("A")), "1"),
                (.found(.keyPath(path("_parent")), by: Subquery(type: type("list")), isNegated: false), "1"),
            ]
            for (predicate, found) in rows {
                #expect(
                    try await ids(f, RecordQuery(type: type("item"), predicate: predicate)) == found,
                    "\(predicate)"
                )
            }
            // As metadata it is sent whatever the fields are, and it may be included.
            var query = RecordQuery(type: type("item"), predicate: rows[0].0, desiredFields: [])
            query.include = [Inclusion(name: "folder", keyPath: path("_parent._parent"))]
            let record = try #require(
                try await f.store.query(query, in: .everyone, caller: .ann).records[0].collected()
            )
            #expect(record.parent == id("list/1") && record.transient["folder"]??.id == id("folder/b"))
            query.desiredFields = nil
            query.omittedFields = ["title"]
            #expect(
                try await f.store.query(query, in: .everyone, caller: .ann).records[0].collected()?.parent
                    == id("list/1")
            )
            #expect(
                try await ids(f, RecordQuery(type: type("item"), sort: [SortKey(path("_parent"), .descending)]))
                    == "2 1"
            )
            // It is taken away like a field.
            try await save(f, [child("item/1", of: nil)])
            #expect(try await f.psql("SELECT _parent IS NULL FROM item WHERE _id = '1'") == "t")
        }
    }

    @Test func aRecordIsDeletedWithItsParentUnderTheRightToThat() async throws {
        try await withParents { f in
            try await save(f, [draft("folder/a"), child("folder/b", of: "folder/a"), child("list/1", of: "folder/b")])
            try await save(f, [child("item/1", of: "list/1")], .bob)
            try await save(f, [child("item/2", of: "list/1", access: AccessList([]))], .bob)
            #expect(
                try await f.store.delete([id("folder/a")], in: .everyone, caller: .bob, atomic: false).map(
                    \.error?.code
                )
                    == [.permissionDenied]
            )
            let outcome = try await f.store.delete([id("folder/a")], in: .everyone, caller: .ann, atomic: false)[0]
            guard case .deleted(_, let others) = outcome else {
                Issue.record("\(outcome)")
                return
            }
            #expect(others == DeletedDependents(ids: [id("folder/b"), id("item/1"), id("list/1")], hidden: 1))
            #expect(try await f.psql("SELECT count(*) FROM item") == "0")
            #expect(try await f.psql("SELECT count(*) FROM _tombstone") == "5")
        }
    }

    @Test func noRecordStandsBelowItself() async throws {
        try await withParents { f in
            try await save(
                f,
                [draft("folder/a"), child("folder/b", of: "folder/a"), child("folder/c", of: "folder/b")]
            )
            let rows: [[RecordDraft]] = [
                [child("folder/a", of: "folder/a")], [child("folder/a", of: "folder/c")],
                [child("folder/x", of: "folder/x")],
                [child("folder/x", of: "folder/y"), child("folder/y", of: "folder/x")],
            ]
            for drafts in rows {
                for outcome in try await outcomes(f, drafts) {
                    #expect(outcome.error?.code == .invalidArgument, "\(drafts)")
                    #expect(outcome.error?.info["arguments"] == .list([.string("_parent")]), "\(drafts)")
                }
            }
            // One of several is refused alone.
            let mixed = try await outcomes(f, [child("folder/n", of: "folder/c"), child("folder/b", of: "folder/c")])
            #expect(mixed.map(\.error?.code) == [nil, .invalidArgument])
            // What psql writes is checked too.
            await #expect(throws: (any Error).self) {
                try await f.psql("UPDATE folder SET _parent = 'c' WHERE _id = 'a'")
            }
            #expect(
                try await f.psql("SELECT string_agg(_id || coalesce(_parent, ''), ' ' ORDER BY _id) FROM folder")
                    == "a ba cb nc"
            )
        }
    }

    @Test func twoChangesMakeNoCircleTogether() async throws {
        try await withParents { f in
            try await save(f, [draft("folder/a"), draft("folder/b")])
            for _ in 0..<5 {
                async let first = outcomes(f, [child("folder/a", of: "folder/b")])
                async let second = outcomes(f, [child("folder/b", of: "folder/a")])
                let codes = try await [first[0].error?.code, second[0].error?.code]
                #expect(codes.contains(nil) && codes.contains(.invalidArgument), "\(codes)")
                try await save(f, [child("folder/a", of: nil)])
                try await save(f, [child("folder/b", of: nil)])
            }
        }
    }

    /// What stands below a record goes along when it moves.
    @Test func aSubtreeMovesOnlyAsFarAsItsLowestRecordMayStand() async throws {
        try await withParents { f in
            // Twenty folders in a row, and beside them twelve with a list and an item below the last.
            try await save(f, [draft("folder/a0")] + (1...20).map { child("folder/a\($0)", of: "folder/a\($0 - 1)") })
            try await save(f, [draft("folder/b0")] + (1...10).map { child("folder/b\($0)", of: "folder/b\($0 - 1)") })
            try await save(f, [child("list/l", of: "folder/b10"), child("item/i", of: "list/l")])
            // The item, the twelfth below, would have 33 above it.
            let error = try await outcomes(f, [child("folder/b0", of: "folder/a20")])[0].error
            #expect(error?.code == .invalidArgument && error?.info["arguments"] == .list([.string("_parent")]))
            await #expect(throws: (any Error).self) {
                try await f.psql("UPDATE folder SET _parent = 'a20' WHERE _id = 'b0'")
            }
            #expect(try await f.psql("SELECT _parent IS NULL FROM folder WHERE _id = 'b0'") == "t")
            // 32 are allowed; from there it goes up again, and below another one of the same place.
            try await save(f, [child("folder/b0", of: "folder/a19")])
            #expect(try await outcomes(f, [child("folder/b0", of: "folder/a20")])[0].error?.code == .invalidArgument)
            try await save(f, [child("folder/other", of: "folder/a18"), child("folder/b0", of: "folder/other")])
            try await save(f, [child("folder/b0", of: "folder/a1"), child("folder/b0", of: nil)])
        }
    }

    @Test func atMostThirtyTwoRecordsStandAboveOne() async throws {
        try await withParents { f in
            let chain = [draft("folder/0")] + (1...32).map { child("folder/\($0)", of: "folder/\($0 - 1)") }
            try await save(f, chain)
            let error = try await outcomes(f, [child("folder/33", of: "folder/32")])[0].error
            #expect(error?.code == .invalidArgument)
            let outcome = try await f.store.delete([id("folder/0")], in: .everyone, caller: .ann, atomic: false)[0]
            guard case .deleted(_, let others) = outcome else {
                Issue.record("\(outcome)")
                return
            }
            #expect(others.ids.count == 32)
        }
    }

    @Test func aPrivateRecordBelongsToOneOfItsOwnDatabase() async throws {
        try await withParents { f in
            try await save(f, [draft("list/public")])
            try await save(f, [draft("list/own")], in: .user("ann"))
            let result = try await outcomes(
                f,
                [child("item/1", of: "list/own"), child("item/2", of: "list/public")],
                in: .user("ann")
            )
            #expect(result.map(\.error?.code) == [nil, .invalidArgument])
            #expect(try await f.psql("SELECT _id, _parent FROM item") == "~ann/1|~ann/own")
        }
    }
}
