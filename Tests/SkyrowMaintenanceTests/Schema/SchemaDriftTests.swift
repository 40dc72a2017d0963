import SkyrowMaintenance
import SkyrowModel
import SkyrowPostgres
import SkyrowTestSupport
import Testing

@testable import SkyrowStore

/// What psql made otherwise than Skyrow would have, found and put right.
@Suite struct SchemaDriftTests {
    /// Each row is done to a type of its own, `%`, which has a `title`, and refers to `other` by `other`.
    private static let rows: [(statement: String, key: String, isRepaired: Bool)] = [
        ("COMMENT ON TABLE % IS NULL", "%:comment", true),
        ("COMMENT ON COLUMN %.title IS NULL", "%.title:comment", true),
        ("COMMENT ON COLUMN %.other IS NULL", "%.other:comment", true),
        ("ALTER TABLE % ALTER _id DROP DEFAULT", "%._id:default", true),
        ("ALTER TABLE % ALTER _database SET DEFAULT 'ann'", "%._database:default", true),
        ("ALTER TABLE % ALTER _created_at DROP DEFAULT", "%._created_at:default", true),
        ("ALTER TABLE % ALTER _updated_at DROP DEFAULT", "%._updated_at:default", true),
        ("ALTER TABLE % ALTER _revision SET DEFAULT 0", "%._revision:default", true),
        ("ALTER TABLE % ALTER _owner SET DEFAULT 'ann'", "%._owner:default", true),
        ("ALTER TABLE % ALTER _revision DROP NOT NULL", "%._revision:not-null", true),
        ("DROP INDEX %__database__created_at_idx", "%:(_database, _created_at)", true),
        ("DROP INDEX %__owner__created_at_idx", "%:(_owner, _created_at)", true),
        ("DROP TRIGGER _stamp ON %", "%:_stamp", true),
        ("ALTER TABLE % DISABLE TRIGGER _tombstone_deleted", "%:_tombstone_deleted", true),
        ("DROP TRIGGER _tombstone_truncated ON %", "%:_tombstone_truncated", true),
        ("DROP TRIGGER _tombstone_renamed ON %", "%:_tombstone_renamed", true),
        ("DROP TRIGGER _note_relation_entry ON %", "%:_note_relation_entry", true),
        ("ALTER TABLE % DROP CONSTRAINT _id_fits", "%:_id_fits", true),
        ("ALTER TABLE % DROP CONSTRAINT _database_fits", "%:_database_fits", true),
        (
            "ALTER TABLE % DROP CONSTRAINT _access_fits; ALTER TABLE % ADD CONSTRAINT _access_fits "
                + "CHECK (_access_fits(_access)) NOT VALID",
            "%:_access_fits", true
        ),
        ("ALTER TABLE % REPLICA IDENTITY NOTHING", "%:replica-identity", true),
        ("DROP INDEX %_other_idx", "%.other:index", true),
        (
            "ALTER TABLE % ALTER CONSTRAINT %_other_fkey NOT DEFERRABLE",
            "%.other:deferrable:%_other_fkey", true
        ),
        (
            "ALTER TABLE % DROP CONSTRAINT %_other_fkey; ALTER TABLE % ADD CONSTRAINT %_other_fkey "
                + "FOREIGN KEY (other) REFERENCES other (_id) DEFERRABLE NOT VALID",
            "%.other:valid:%_other_fkey", true
        ),
        ("ALTER TABLE % ADD x integer; COMMENT ON COLUMN %.x IS 'x'", "%.x:narrow", true),
        ("ALTER TABLE % ADD x real; COMMENT ON COLUMN %.x IS 'x'", "%.x:narrow", true),
        ("ALTER TABLE % ADD x varchar(9); COMMENT ON COLUMN %.x IS 'x'", "%.x:unsupported-type", false),
        (
            "ALTER TABLE % ADD x text GENERATED ALWAYS AS (lower(title)) STORED; COMMENT ON COLUMN %.x IS 'x'",
            "%.x:generated", false
        ),
        ("ALTER TABLE % ADD x text NOT NULL; COMMENT ON COLUMN %.x IS 'x'", "%.x:required", false),
        ("ALTER TABLE % ADD \"my x\" text", "%:name:my x", false),
        (
            "CREATE INDEX odd_% ON % (title); UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'odd_%'::regclass",
            "%:invalid:odd_%", false
        ),
    ]

    /// A type's parts as PostgreSQL describes them, without its name.
    private func description(of type: String, _ fixture: StoreFixture) async throws -> String {
        let lines = try await fixture.psql(
            """
            SELECT 'comment', obj_description('\(type)'::regclass, 'pg_class')
            UNION ALL SELECT attname, concat_ws(' ', format_type(atttypid, atttypmod), attnotnull,
                pg_get_expr(adbin, adrelid), col_description(attrelid, attnum))
            FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
            WHERE attrelid = '\(type)'::regclass AND attnum > 0 AND NOT attisdropped AND attname <> 'x'
            UNION ALL SELECT 'index', pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = '\(type)'::regclass
            UNION ALL SELECT 'trigger', pg_get_triggerdef(oid) || tgenabled::text FROM pg_trigger
            WHERE tgrelid = '\(type)'::regclass AND NOT tgisinternal
            UNION ALL SELECT 'constraint', pg_get_constraintdef(oid) || condeferrable || convalidated FROM pg_constraint
            WHERE conrelid = '\(type)'::regclass
            ORDER BY 1, 2
            """
        )
        return lines.replacing(type, with: "<type>")
    }

    /// Fills in a row's own type.
    private func named(_ text: String, _ number: Int) -> String {
        text.replacing("%", with: "t\(number)")
    }

    @Test func everyFaultIsFoundAndRepairedToWhatSkyrowMakes() async throws {
        try await withStore { fixture in
            var types = [RecordType(name: type("other")), RecordType(name: type("pristine"))]
            types += Self.rows.indices.map { RecordType(name: type("t\($0)")) }
            for place in types.indices.dropFirst() {
                types[place].fields = [field("title"): .string, field("other"): .reference(type("other"))]
            }
            _ = try await fixture.store.createTypes(types)
            var document = try await fixture.store.schemaDocument()
            let pristine = try await description(of: "pristine", fixture)
            #expect(try await fixture.store.compareSchema(with: document).difference.isEmpty)

            try await fixture.psql(
                Self.rows.enumerated().map { named($1.statement, $0) + ";\n" }.joined()
                    + "CREATE TABLE half (_id text PRIMARY KEY, _owner text, title text); CREATE TABLE own (a int);"
            )
            document = try await fixture.store.schemaDocument()
            let report = try await fixture.store.compareSchema(with: document)
            let expected = Self.rows.enumerated().map { named($1.key, $0) } + ["half:no-record-type"]
            #expect(Set(report.difference.drift.map(\.key)).symmetricDifference(expected) == [])
            #expect(report.difference.changes == [] && report.difference.refusals == [])
            for (number, row) in Self.rows.enumerated() {
                let drift = report.difference.drift.first { $0.key == named(row.key, number) }
                #expect(drift?.isRepairable == row.isRepaired, "\(row.key)")
            }

            // Left alone where that is wanted.
            try await fixture.store.applySchema(
                document,
                expecting: report.difference,
                repairing: false,
                allowingLoss: true
            )
            #expect(try await fixture.store.compareSchema(with: document) == report)

            try await fixture.store.applySchema(
                document,
                expecting: report.difference,
                repairing: true,
                allowingLoss: true
            )
            let left = try await fixture.store.compareSchema(with: document).difference.drift
            #expect(left.allSatisfy { !$0.isRepairable })
            #expect(left.count == Self.rows.count { !$0.isRepaired } + 1)
            for (number, row) in Self.rows.enumerated() where row.isRepaired {
                #expect(try await description(of: "t\(number)", fixture) == pristine, "\(row.statement)")
            }
            // What is left goes away by the statements that are shown, or is accepted.
            for drift in left { try await fixture.psql(drift.remedy(in: "app").joined(separator: "\n")) }
            var rest = try await fixture.store.compareSchema(with: try await fixture.store.schemaDocument()).difference
            #expect(
                Set(rest.drift.map(\.fault)) == [
                    .generated, .unreadableName("my x"),
                    .halfMade([.database, .access, .createdAt, .createdBy, .updatedAt, .updatedBy, .revision]),
                ]
            )
            document = try await fixture.store.schemaDocument()
            document.acceptedDrift = Set(rest.drift.map(\.key))
            rest = try await fixture.store.compareSchema(with: document).difference
            #expect(rest.isEmpty)
        }
    }

    @Test func everyPartThatATypeIsMadeWithIsRecognised() async throws {
        try await withStore { fixture in
            try await fixture.psql("SELECT _create_type('note')")
            let made = try await fixture.psql(
                """
                SELECT 'trigger', tgname FROM pg_trigger WHERE tgrelid = 'note'::regclass AND NOT tgisinternal
                UNION ALL SELECT 'check', conname FROM pg_constraint WHERE conrelid = 'note'::regclass AND contype = 'c'
                UNION ALL SELECT 'index', indexrelid::regclass::text FROM pg_index
                WHERE indrelid = 'note'::regclass AND NOT indisprimary
                """
            )
            #expect(made.split(separator: "\n").count == RecordTablePart.allCases.count, "\(made)")
            #expect(try await fixture.store.compareSchema(with: fixture.store.schemaDocument()).difference.isEmpty)
            // A part of another name is no part.
            await #expect(throws: (any Error).self) {
                try await fixture.psql("SELECT _create_type_parts('note', '_other')")
            }
        }
    }

    @Test func rowsThatBreakARuleKeepItFromBeingPutBack() async throws {
        try await withStore { fixture in
            _ = try await fixture.store.createTypes([RecordType(name: type("note"))])
            try await fixture.psql("ALTER TABLE note DROP CONSTRAINT _id_fits; INSERT INTO note (_id) VALUES ('~x')")
            let document = try await fixture.store.schemaDocument()
            let difference = try await fixture.store.compareSchema(with: document).difference
            let error = await #expect(throws: SkyrowError.self) {
                try await fixture.store.applySchema(
                    document,
                    expecting: difference,
                    repairing: true,
                    allowingLoss: true
                )
            }
            #expect(error?.message.contains("'skyrow doctor' lists them") == true)
            try await fixture.psql("DELETE FROM note")
            try await fixture.store.applySchema(document, expecting: difference, repairing: true, allowingLoss: true)
            #expect(try await fixture.store.compareSchema(with: document).difference.isEmpty)
        }
    }

    @Test func indexesAndDefaultsOfPsqlAreLeftAloneWhereAFileCannotSayThem() async throws {
        try await withStore { fixture in
            try await fixture.store.createMissingSchema(for: [
                draft("note/1", ["title": .string(""), "at": .datetime(Timestamp(microseconds: 0))])
            ])
            try await fixture.psql(
                """
                CREATE INDEX note_lower ON note (lower(title)); CREATE INDEX note_some ON note (title) WHERE title <> '';
                CREATE INDEX note_pattern ON note (title text_pattern_ops); CREATE INDEX note_nulls ON note (title NULLS FIRST);
                CREATE INDEX note_more ON note (title) INCLUDE (at); CREATE INDEX note_i ON note (title COLLATE "und-x-icu");
                ALTER TABLE note ALTER at SET DEFAULT now();
                """
            )
            let document = try await fixture.store.schemaDocument()
            #expect(document.types[type("note")]?.indexes == [])
            #expect(document.types[type("note")]?.fields[field("at")]?.defaultValue == nil)
            #expect(try await fixture.store.compareSchema(with: document).difference.isEmpty)
        }
    }
}
