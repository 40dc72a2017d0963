import SkyrowModel
import SkyrowPostgres
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowStore

/// Schema files on tables that others use meanwhile. Here every table is large.
@Suite(.timeLimit(.minutes(60))) struct LargeSchemaTests {
    private static let rows = 3000
    private static let note = type("note")

    private func withNotes(bound: Int64 = 0, test: String = #function, _ body: (StoreFixture) async throws -> Void)
        async throws
    {
        try await withStore(.production, largeTableBound: bound, test: test) { f in
            try await f.psql(
                """
                \(insertion(of: [asset("cat.png")]))
                SELECT _create_type('note'), _create_type('writer');
                ALTER TABLE note ADD n bigint, ADD small integer, ADD title text, ADD yes text, ADD author text,
                    ADD scan text, ADD writer text REFERENCES writer (_id) DEFERRABLE;
                CREATE INDEX ON note (writer) WHERE writer IS NOT NULL;
                CREATE INDEX note_n_idx ON note (n DESC, title);
                INSERT INTO writer (_id) VALUES ('a'), ('b');
                INSERT INTO note (_id, n, small, title, yes, author, scan, writer)
                SELECT number, number, number, number::text, number % 2 = 0, 'a', '\(asset("cat.png").name)', 'b'
                FROM generate_series(1, \(Self.rows)) AS number;
                """
            )
            try await f.store.cache.reload()
            try await body(f)
        }
    }

    private func apply(
        _ f: StoreFixture,
        allowingLoss: Bool = false,
        lockingTables: Bool = false,
        _ change: (inout DocumentedType) -> Void
    ) async throws -> SchemaDocument {
        var document = try await f.store.schemaDocument()
        var note = try #require(document.types[Self.note])
        change(&note)
        document.types[Self.note] = note
        let report = try await f.store.compareSchema(with: document)
        try await f.store.applySchema(
            document,
            expecting: report.difference,
            repairing: true,
            allowingLoss: allowingLoss,
            lockingTables: lockingTables
        )
        return document
    }

    private static let changes: [(name: String, change: @Sendable (inout DocumentedType) -> Void)] = [
        ("number", { $0.fields[field("n")] = DocumentedField(.number) }),
        ("text", { $0.fields[field("n")] = DocumentedField(.string, defaultValue: .string("0"), comment: "Was n.") }),
        ("integer", { $0.fields[field("title")] = DocumentedField(.integer) }),
        ("boolean", { $0.fields[field("yes")] = DocumentedField(.boolean) }),
        ("reference", { $0.fields[field("author")] = DocumentedField(.reference(type("writer"))) }),
        ("no reference", { $0.fields[field("writer")] = DocumentedField(.string) }),
        ("rule", { $0.fields[field("writer")] = DocumentedField(.reference(type("writer")), onDelete: .cascade) }),
        ("file", { $0.fields[field("scan")] = DocumentedField(.asset) }),
        ("new file", { $0.fields[field("photo")] = DocumentedField(.asset) }),
        ("new reference", { $0.fields[field("other")] = DocumentedField(.reference(type("writer"))) }),
        ("new list", { $0.fields[field("others")] = DocumentedField(.array(.reference(type("writer")))) }),
        ("language", { $0.fields[field("title")]?.textLanguage = .english }),
        ("index", { $0.indexes.insert(DocumentedIndex([.init("title"), .init("n")], isUnique: true)) }),
        (
            "renamed",
            {
                $0.fields[field("m")] = DocumentedField(.number, renamedFrom: field("n"))
                $0.fields[field("n")] = nil
                $0.indexes = []
            }
        ),
        ("default", { $0.fields[field("n")]?.defaultValue = .integer(7) }),
        (
            "sequence",
            {
                $0.fields[field("count")] = DocumentedField(.sequence, comment: "Counts.")
                $0.indexes.insert(DocumentedIndex([.init("title"), .init("count")]))
            }
        ), ("live", { $0.live = .key }),
    ]

    @Test(arguments: changes.indices)
    func aLargeTableIsChangedWhileOthersUseIt(_ index: Int) async throws {
        let (name, change) = Self.changes[index]
        try await withNotes { f in
            let watch = try await LockWatch("note", in: f)
            let revisions = "SELECT count(*), sum(_revision), max(_updated_at) FROM note"
            let (file, before) = (try await watch.file(), try await f.psql(revisions))
            let document = try await apply(f, change)
            #expect(try await f.store.compareSchema(with: document).difference.isEmpty, "\(name)")
            #expect(try await watch.blocking(rows: Self.rows) == "", "\(name)")
            // The rows are where they were, and are no others for those who catch up.
            #expect(try await watch.file() == file, "\(name)")
            #expect(try await f.psql(revisions) == before, "\(name)")
            let left = try await f.psql(
                """
                SELECT count(*) FROM pg_attribute WHERE attrelid = 'note'::regclass AND starts_with(attname, '_becoming');
                SELECT count(*) FROM pg_trigger WHERE tgname = '~becoming';
                SELECT count(*) FROM pg_proc WHERE starts_with(proname, '_becoming');
                SELECT count(*) FROM pg_index WHERE NOT indisvalid;
                SELECT count(*) FROM pg_constraint WHERE contype = 'f' AND NOT convalidated;
                """
            )
            #expect(left == "0\n0\n0\n0\n0", "\(name)")
        }
    }

    @Test func whatAColumnHadItsSuccessorHas() async throws {
        try await withNotes { f in
            _ = try await apply(f) { $0.fields[field("n")] = DocumentedField(.number, defaultValue: .number(0.5)) }
            let found = try await f.psql(
                """
                SELECT pg_typeof(n), sum(n) FROM note GROUP BY 1;
                SELECT indexdef FROM pg_indexes WHERE indexname = 'note_n_idx';
                SELECT col_description('note'::regclass, attnum), pg_get_expr(adbin, adrelid)
                FROM pg_attribute JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum WHERE attname = 'n' AND attrelid = 'note'::regclass;
                """
            )
            #expect(
                found == """
                    double precision|\(Self.rows * (Self.rows + 1) / 2)
                    CREATE INDEX note_n_idx ON app.note USING btree (n DESC, title)
                    A number.|'0.5'::double precision
                    """
            )
        }
    }

    @Test func whatOthersWriteMeanwhileIsKept() async throws {
        try await withNotes { f in
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    for number in 1...150 {
                        let place = number * 17 % Self.rows + 1
                        try await f.store.client.withTransaction { transaction in
                            _ = try await transaction.query(
                                "UPDATE app.note SET n = n + 1000000 WHERE _id = \("\(place)")"
                            )
                            _ = try await transaction.query(
                                "INSERT INTO app.note (_id, n) VALUES (\("new\(number)"), \(Int64(number)))"
                            )
                        }
                    }
                }
                group.addTask { _ = try await apply(f) { $0.fields[field("n")] = DocumentedField(.number) } }
                try await group.waitForAll()
            }
            let sum = Self.rows * (Self.rows + 1) / 2 + 150 * 1_000_000 + 150 * 151 / 2
            #expect(
                try await f.psql("SELECT sum(n)::bigint, pg_typeof(max(n)), count(*) FROM note")
                    == "\(sum)|double precision|\(Self.rows + 150)"
            )
        }
    }

    @Test func valuesThatDoNotFitAreLostOnlyWhereThatIsAllowed() async throws {
        for bound in [0, LargeTables.bound] as [Int64] {
            try await withNotes(bound: bound) { f in
                try await f.psql(
                    """
                    UPDATE note SET n = 9007199254740993, title = '9007199254740993' WHERE _id = '5';
                    UPDATE note SET n = 9223372036854775807, title = 'none' WHERE _id = '6';
                    """
                )
                let revision = try await f.psql("SELECT max(_revision) FROM note")
                for name in ["n", "title"] {
                    func change(_ type: inout DocumentedType) {
                        type.fields[field(name)] = DocumentedField(.number)
                        type.indexes = []
                    }
                    let error = await #expect(throws: SkyrowError.self) { _ = try await apply(f, change) }
                    #expect(error?.code == .incompatibleSchema)
                    #expect(try await f.psql("SELECT pg_typeof(\(name)) FROM note LIMIT 1") != "double precision")
                    var document = try await f.store.schemaDocument()
                    change(&document.types[Self.note]!)
                    let report = try await f.store.compareSchema(with: document)
                    #expect(report.losesData && report.losses.values.map(\.lost) == [2])
                    _ = try await apply(f, allowingLoss: true, change)
                }
                // The nearest number stays.
                let rows = try await f.psql(
                    "SELECT n::text, coalesce(title::text, '-') FROM note WHERE _revision > \(revision) ORDER BY _id"
                )
                #expect(rows == "9.007199254740992e+15|9.007199254740992e+15\n9.223372036854775e+18|-")
            }
        }
    }

    @Test func anIntegerFieldWithoutSuchValuesNeedsNoPermission() async throws {
        try await withNotes(bound: LargeTables.bound) { f in
            var document = try await f.store.schemaDocument()
            document.types[Self.note]?.fields[field("n")] = DocumentedField(.number)
            #expect(try await !f.store.compareSchema(with: document).losesData)
            _ = try await apply(f) { $0.fields[field("n")] = DocumentedField(.number) }
        }
    }

    @Test func aValueThatDoesNotFitIsRefusedWhileTheColumnChanges() async throws {
        try await withNotes { f in
            let conversion = try #require(FieldConversion(from: .integer, to: .number))
            let column = try ColumnInMaking(field("n"), conversion, to: .number, of: Self.note, in: "app")
            for statement in try column.beginning() { _ = try await f.store.client.write(statement) }
            for statement in [
                "INSERT INTO note (n) VALUES (9007199254740993)",
                "UPDATE note SET n = 9007199254740993 WHERE _id = '1'",
            ] {
                await #expect(throws: (any Error).self) { try await f.psql(statement) }
            }
            try await f.psql(
                "INSERT INTO note (_id, n) VALUES ('x', 9007199254740992); UPDATE note SET title = 'y' WHERE _id = '2'"
            )
            // What was cut off is begun anew.
            _ = try await apply(f) { $0.fields[field("n")] = DocumentedField(.number) }
            #expect(
                try await f.psql("SELECT n::bigint, pg_typeof(n) FROM note WHERE _id IN ('x', '2') ORDER BY _id")
                    == "2|double precision\n9007199254740992|double precision"
            )
        }
    }

    @Test func whatCannotBeDoneMeanwhileIsSaidBefore() async throws {
        let rows: [(setup: String, change: (inout DocumentedType) -> Void)] = [
            ("", { $0.fields[field("kept")] = DocumentedField(.string, textLanguage: .english, storesWords: true) }),
            ("CREATE VIEW seen AS SELECT n FROM note", { $0.fields[field("n")] = DocumentedField(.number) }),
            ("ALTER TABLE note ADD CHECK (n > 0)", { $0.fields[field("n")] = DocumentedField(.number) }),
            ("ALTER TABLE note ALTER n SET NOT NULL", { $0.fields[field("n")] = DocumentedField(.number) }),
        ]
        for (setup, change) in rows {
            try await withNotes { f in
                try await f.psql(setup)
                let before = try await f.psql(
                    "SELECT pg_relation_filenode('note'), count(*) FROM pg_attribute WHERE attrelid = 'note'::regclass"
                )
                let error = await #expect(throws: SkyrowError.self) {
                    _ = try await apply(f) { type in
                        change(&type)
                        type.fields[field("fresh")] = DocumentedField(.string)
                    }
                }
                #expect(error?.code == .incompatibleSchema && error?.message.contains("--lock-tables") == true)
                #expect(
                    try await f.psql(
                        "SELECT pg_relation_filenode('note'), count(*) FROM pg_attribute WHERE attrelid = 'note'::regclass"
                    )
                        == before
                )
            }
        }
        try await withNotes { f in
            _ = try await apply(f, lockingTables: true) {
                $0.fields[field("kept")] = DocumentedField(.string, textLanguage: .english, storesWords: true)
            }
            #expect(try await f.psql("SELECT count(*) FROM pg_attribute WHERE attname = '_words_kept'") == "1")
        }
    }

    /// The same, made of a table that is small and of one that is large.
    @Test func recordsAreCountedWhileOthersSaveSome() async throws {
        let looks = """
            SELECT attidentity, attnotnull, atthasdef, format_type(atttypid, NULL) FROM pg_attribute
            WHERE attrelid = 'note'::regclass AND attname = 'count';
            SELECT pg_get_serial_sequence('note', 'count');
            SELECT indexdef FROM pg_indexes WHERE indexdef LIKE '%UNIQUE%count%';
            SELECT string_agg(tgname, ',' ORDER BY tgname) FROM pg_trigger WHERE tgname LIKE '%sequence%';
            SELECT count(*) FROM pg_class WHERE relkind = 'S' AND relnamespace = 'app'::regnamespace AND relname LIKE '%count%';
            """
        var found: [String] = []
        for bound in [0, LargeTables.bound] as [Int64] {
            try await withNotes(bound: bound) { f in
                // What was cut off is begun again.
                let column = try ColumnInMaking(field("count"), nil, to: .integer, of: Self.note, in: "app")
                if bound == 0 {
                    for statement in column.beginningSequence() { _ = try await f.store.client.write(statement) }
                    // Database logins save meanwhile, too.
                    let rights = try await f.psql("SELECT relacl FROM pg_class WHERE relname = '\(column.name.name)'")
                    #expect(rights.contains("=U/"), "\(rights)")
                }
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        for number in 1...100 {
                            _ = try await f.store.client.write("INSERT INTO app.note (_id) VALUES (\("new\(number)"))")
                        }
                    }
                    group.addTask { _ = try await apply(f) { $0.fields[field("count")] = DocumentedField(.sequence) } }
                    try await group.waitForAll()
                }
                let count = Self.rows + 100
                #expect(try await f.psql("SELECT count(DISTINCT count), min(count) FROM note") == "\(count)|1")
                let highest = try await f.psql("SELECT max(count) + 1 FROM note")
                #expect(try await f.psql("INSERT INTO note DEFAULT VALUES RETURNING count") == highest)
                found.append(try await f.psql(looks))
            }
        }
        #expect(found.first == found.last && found.first?.hasPrefix("d|t|f|bigint\n") == true, "\(found)")
    }

    @Test func whatPsqlMadeOtherwiseIsRepairedMeanwhile() async throws {
        try await withNotes { f in
            try await f.psql(
                """
                ALTER TABLE note ALTER _created_at DROP NOT NULL, DROP CONSTRAINT _access_fits;
                ALTER TABLE note ADD late text, ADD FOREIGN KEY (late) REFERENCES writer (_id) DEFERRABLE NOT VALID;
                DROP INDEX note__database__created_at_idx, note__owner__created_at_idx, note_writer_idx;
                """
            )
            let watch = try await LockWatch("note", in: f)
            let document = try await apply(f) { _ in }
            #expect(try await f.store.compareSchema(with: document).difference.isEmpty)
            #expect(try await watch.blocking(rows: Self.rows) == "")
        }
    }
}
