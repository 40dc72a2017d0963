import SkyrowModel
import SkyrowProtocol
import SkyrowTestSupport
import Testing

@testable import SkyrowPostgres
@testable import SkyrowStore

/// References between the records of one request, some of which are not written.
@Suite(.timeLimit(.minutes(60))) struct BatchReferenceTests {
    private static func note(_ name: String, _ target: String, _ more: [String: RecordValue] = [:]) -> RecordDraft {
        let field = target.hasPrefix("note/") ? "next" : "category"
        return draft("note/\(name)", more.merging([field: .reference(id(target))]) { $1 })
    }

    struct Row: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var drafts: [RecordDraft]
        /// The code of each record's error, in the order of the drafts.
        var codes: [ErrorCode?]
    }

    /// `hidden` is bob's and only bob reads it; `shown` is bob's too, and everyone reads it.
    static let rows: [Row] = [
        Row(
            testDescription: "a hidden record of another type",
            drafts: [note("1", "category/hidden"), draft("category/hidden", ["rank": .integer(1)])],
            codes: [.invalidArgument, .permissionDenied]
        ),
        Row(
            testDescription: "a hidden record of the same shape",
            drafts: [note("1", "note/hidden"), note("hidden", "note/hidden"), note("2", "note/2")],
            codes: [.invalidArgument, .permissionDenied, nil]
        ),
        Row(
            testDescription: "a hidden record of the same type and another shape",
            drafts: [note("1", "note/hidden"), draft("note/hidden", ["title": .string("x")])],
            codes: [.invalidArgument, .permissionDenied]
        ),
        Row(
            testDescription: "a circle through a hidden record",
            drafts: [note("1", "note/hidden"), note("hidden", "note/1", ["title": .string("x")])],
            codes: [.invalidArgument, .permissionDenied]
        ),
        Row(
            testDescription: "a chain to a hidden record",
            drafts: [
                note("1", "note/2"), note("2", "category/hidden"), draft("category/hidden", ["rank": .integer(1)]),
            ],
            codes: [.invalidArgument, .invalidArgument, .permissionDenied]
        ),
        Row(
            testDescription: "a record that may be read and not written",
            drafts: [note("1", "category/shown"), draft("category/shown", ["rank": .integer(1)])],
            codes: [nil, .permissionDenied]
        ),
        Row(
            testDescription: "a record of the same shape that may be read and not written",
            drafts: [note("1", "note/shown"), note("shown", "note/shown")],
            codes: [nil, .permissionDenied]
        ),
        Row(
            testDescription: "a circle through a record that may be read and not written",
            drafts: [note("1", "note/shown"), note("shown", "note/1", ["title": .string("x")])],
            codes: [nil, .permissionDenied]
        ),
        Row(
            testDescription: "a record that fails",
            drafts: [note("1", "category/new"), draft("category/new", precondition: .revision(5))],
            codes: [.invalidArgument, .conflict]
        ),
        Row(
            testDescription: "new records",
            drafts: [
                note("1", "note/2"), note("2", "note/1"), note("3", "category/new"),
                draft("category/new", ["rank": .integer(1)]), note("4", "note/4"),
            ],
            codes: [nil, nil, nil, nil, nil]
        ),
    ]

    private static func prepare(_ f: RecordsFixture) async throws {
        for name in ["note/hidden", "category/hidden"] { try await f.save(name, [:], access: AccessList([]), .bob) }
        for name in ["note/shown", "category/shown"] { try await f.save(name, [:], .bob) }
    }

    @Test(arguments: rows, [false, true])
    func onlyRecordsThatWereWrittenCountAsPermitted(_ row: Row, isReversed: Bool) async throws {
        try await withRecords { f in
            try await Self.prepare(f)
            let missing = try await f.store.save(
                [.draft(Self.note("9", "category/404")), .draft(Self.note("9", "note/404"))],
                in: .everyone,
                caller: .ann,
                atomic: false
            ).map(\.error)
            let drafts = isReversed ? row.drafts.reversed() : row.drafts
            let outcomes = try await f.store.save(drafts.map { .draft($0) }, in: .everyone, caller: .ann, atomic: false)
            let errors = isReversed ? outcomes.reversed().map(\.error) : outcomes.map(\.error)
            #expect(errors.map(\.?.code) == row.codes)
            for error in errors where error?.code == .invalidArgument { #expect(missing.contains(error)) }
            let pinned = try await f.psql("SELECT count(*) FROM note WHERE 'hidden' IN (category, next)")
            #expect(pinned == "0")
        }
    }

    @Test(arguments: rows.filter { $0.codes.contains { $0 != nil } })
    func anAtomicSaveNamesTheSameRecords(_ row: Row) async throws {
        try await withRecords { f in
            try await Self.prepare(f)
            let before = try await f.psql("SELECT * FROM note ORDER BY _id; SELECT * FROM category ORDER BY _id")
            let error = await #expect(throws: SkyrowError.self) {
                try await f.store.save(row.drafts.map { .draft($0) }, in: .everyone, caller: .ann, atomic: true)
            }
            let failed = zip(row.drafts, row.codes).filter { $1 != nil }.map { $0.0.id.description }
            #expect(error?.code == .atomicOperationFailure)
            #expect(error?.info.keys.sorted() == failed.sorted())
            #expect(try await f.psql("SELECT * FROM note ORDER BY _id; SELECT * FROM category ORDER BY _id") == before)
        }
    }

    @Test func aHiddenRecordThatAppearsMeanwhileIsNotReferredToEither() async throws {
        try await withRecords { f in
            // The save stops at its first row, when its references are settled already.
            try await f.psql(
                """
                CREATE FUNCTION _pause() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN PERFORM pg_advisory_xact_lock(7); RETURN NEW; END $$;
                CREATE TRIGGER _pause BEFORE INSERT ON note FOR EACH ROW WHEN (NEW._id = '1') EXECUTE FUNCTION _pause()
                """
            )
            let outcomes = try await f.client.withTransaction { other in
                _ = try await other.query("SELECT pg_advisory_xact_lock(7)")
                let save = Task {
                    try await f.store.save(
                        [.draft(Self.note("1", "note/late")), .draft(Self.note("late", "note/late"))],
                        in: .everyone,
                        caller: .ann,
                        atomic: false
                    )
                }
                try await until {
                    try await f.database.locks(where: "locktype = 'advisory' AND NOT granted") == 1
                }
                try await other.execute("INSERT INTO app.note (_id, _owner, _access) VALUES ('late', 'bob', '{}')")
                return save
            }.value
            #expect(outcomes.map { $0.error?.code } == [.invalidArgument, .permissionDenied])
            #expect(try await f.psql("SELECT _id FROM note") == "late")
        }
    }

    @Test func aPrivateRecordOfTheRequestIsNotReplacedByAPublicOne() async throws {
        try await withRecords { f in
            try await f.save("category/1", [:], .bob)
            let outcomes = try await f.store.save(
                [.draft(Self.note("1", "category/1")), .draft(draft("category/1", precondition: .revision(5)))],
                in: .user("ann"),
                caller: .ann,
                atomic: false
            )
            #expect(outcomes.map { $0.error?.code } == [.invalidArgument, .conflict])
        }
    }
}
