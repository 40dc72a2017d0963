import SkyrowModel
import SkyrowProtocol
import SkyrowTestSupport
import Testing

@testable import SkyrowPostgres
@testable import SkyrowStore

/// Changes of tables that others would wait for, by saves and actions. Here every table is large.
@Suite(.timeLimit(.minutes(60))) struct LargeTableTests {
    private static let rows = 50

    private func withNotes(bound: Int64, test: String = #function, _ body: (StoreFixture) async throws -> Void)
        async throws
    {
        try await withStore(largeTableBound: bound, test: test) { f in
            try await f.psql(
                """
                SELECT _create_type('note'), _create_type('writer');
                ALTER TABLE note ADD n bigint, ADD title text, ADD writer text REFERENCES writer (_id) DEFERRABLE;
                SELECT _create_relation('note', 'likes', 'writer');
                INSERT INTO note (_id, n) SELECT number, number FROM generate_series(1, \(Self.rows)) AS number;
                """
            )
            try await f.store.cache.reload()
            try await body(f)
        }
    }

    private struct Case: Sendable, CustomTestStringConvertible {
        var name: String
        /// Whether a large table has it done.
        var isDone: Bool
        var change: @Sendable (RecordStore) async throws -> Void

        var testDescription: String { name }
    }

    private static let note = type("note")

    private static func creating(
        _ name: String,
        _ type: FieldType,
        isDone: Bool,
        _ change: @escaping @Sendable (inout RecordType) -> Void = { _ in }
    ) -> Case {
        Case(name: "create \(name)", isDone: isDone) { store in
            var wanted = RecordType(name: note, fields: [field(name): type])
            change(&wanted)
            _ = try await store.createTypes([wanted])
        }
    }

    private static func saving(_ name: String, _ value: RecordValue, isDone: Bool) -> Case {
        Case(name: "save \(name)", isDone: isDone) { store in
            try await store.createMissingSchema(for: [draft("note/1", ["n": .integer(1)])])
            try await store.createMissingSchema(for: [RecordDraft(id: id("note/1"), fields: [(field(name), value)])])
        }
    }

    private static let cases: [Case] = [
        saving("fresh", .string("x"), isDone: true),
        saving("list", .json(JSONText(validated: Array("[1]".utf8))), isDone: true),
        saving("n", .number(1.5), isDone: false), saving("other", .reference(id("writer/1")), isDone: false),
        saving("photo", .asset(asset("cat.png")), isDone: false),
        saving("count", .sequence, isDone: false),
        Case(name: "increment n", isDone: false) { store in
            var draft = draft("note/1")
            draft.operators = [(field("n"), .increment(by: 0.5))]
            try await store.createMissingSchema(for: [draft])
        },
        creating("plain", .boolean, isDone: true),
        creating("writers", .array(.reference(type("writer"))), isDone: true),
        creating("fans", .relation(type("writer")), isDone: true),
        creating("english", .string, isDone: true) { $0.textLanguages = [field("english"): .english] },
        creating("stored", .string, isDone: false) {
            $0.textLanguages = [field("stored"): .english]
            $0.storedTexts = [field("stored")]
        },
        creating("writer2", .reference(type("writer")), isDone: false), creating("serial", .sequence, isDone: false),
        Case(name: "rename title", isDone: true) { store in
            _ = try await store.renameField(FieldRename(type: note, field: field("title"), newName: field("heading")))
        },
        Case(name: "rename likes", isDone: true) { store in
            _ = try await store.renameField(FieldRename(type: note, field: field("likes"), newName: field("fond")))
        },
        Case(name: "delete writer", isDone: true) { store in
            _ = try await store.deleteField(FieldDeletion(type: note, field: field("writer")))
        },
        Case(name: "delete likes", isDone: true) { store in
            _ = try await store.deleteField(FieldDeletion(type: note, field: field("likes")))
        },
        Case(name: "create beside", isDone: true) { store in
            try await store.createMissingSchema(for: [draft("page/1", ["note": .reference(id("note/1"))])])
        },
    ]

    @Test(arguments: cases.indices)
    func nobodyWaitsForALargeTable(_ index: Int) async throws {
        let one = Self.cases[index]
        try await withNotes(bound: 0) { f in
            let watch = try await LockWatch("note", in: f)
            let before = try await watch.file()
            var refusal: SkyrowError?
            do { try await one.change(f.store) } catch { refusal = try #require(error as? SkyrowError) }
            #expect((refusal == nil) == one.isDone, "\(one.name): \(refusal?.message ?? "done")")
            if let refusal {
                #expect(refusal.code == .incompatibleSchema && refusal.message.contains("skyrow schema apply"))
                #expect(refusal.info["arguments"] != nil)
            }
            #expect(try await watch.blocking(rows: Self.rows) == "", "\(one.name)")
            #expect(try await watch.file() == before, "\(one.name)")
        }
    }

    /// What the watch would see, and that a small table has all of it done at once.
    @Test(arguments: cases.indices.filter { !cases[$0].isDone })
    func aSmallTableIsChangedAtOnce(_ index: Int) async throws {
        let one = Self.cases[index]
        try await withNotes(bound: LargeTables.bound) { f in
            let watch = try await LockWatch("note", in: f)
            try await one.change(f.store)
            #expect(try await watch.blocking(rows: Self.rows) != "", "\(one.name)")
        }
    }

    // MARK: Digits

    @Test(
        arguments: [
            (9_007_199_254_740_992, true), (9_007_199_254_740_993, false), (-9_007_199_254_740_993, false),
            (Int64.max, false), (Int64.min, true), (Int64.max - 1023, true), (Int64.max - 1022, false), (1 << 62, true),
            (0, true),
        ] as [(Int64, Bool)]
    )
    func anIntegerBecomesANumberWhereNoDigitIsLost(_ stored: Int64, _ isWidened: Bool) async throws {
        try await withNotes(bound: LargeTables.bound) { f in
            try await f.psql("UPDATE note SET n = \(stored) WHERE _id = '7'")
            var increment = draft("note/1")
            increment.operators = [(field("n"), .increment(by: 0.5))]
            for draft in [draft("note/1", ["n": .number(1.5)]), increment] {
                do throws(SkyrowError) {
                    try await f.store.createMissingSchema(for: [draft])
                    #expect(isWidened)
                } catch {
                    #expect(!isWidened && error.code == .incompatibleSchema && error.message.contains("digits"))
                    #expect(error.info["arguments"] == .list([.string("n")]))
                }
            }
            let kind = try await f.psql(
                "SELECT n::numeric(30)::text = '\(stored)', pg_typeof(n) FROM note WHERE _id = '7'"
            )
            #expect(isWidened ? kind.hasSuffix("|double precision") : kind == "t|bigint")
        }
    }
}
