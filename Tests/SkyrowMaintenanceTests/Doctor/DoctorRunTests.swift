import Logging
import SkyrowModel
import SkyrowPostgres
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowStore

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Each check on a real database with its fault, and on one without.
@Suite(.timeLimit(.minutes(60))) struct DoctorRunTests {
    @Test func triggerFunctionsNeedASearchPathOfTheirOwn() async throws {
        try await withRecordsToExamine { fixture in
            func trigger(_ name: String, _ options: String) -> String {
                """
                CREATE FUNCTION app.\(name)() RETURNS trigger LANGUAGE plpgsql \(options) AS 'BEGIN RETURN NEW; END';
                CREATE TRIGGER \(name) BEFORE INSERT ON app.note FOR EACH ROW EXECUTE FUNCTION app.\(name)();
                """
            }
            try await fixture.psql(
                trigger("with_path", "SET search_path = app, app_internal") + trigger("without_path", "")
            )
            let found = try await examine(fixture.database.url, [.triggerPaths])["trigger-paths"] ?? []
            #expect(found.map(\.commands).count == 1)
            let command = try #require(found.first?.commands.first)
            #expect(command.contains("without_path()"))
            try await fixture.psql("SET search_path = app, app_internal; \(command)")
            #expect(try await examine(fixture.database.url, [.triggerPaths])["trigger-paths"] == [])
        }
    }

    private static let members = #""post.marks""#

    /// What psql does to a parent or a relation, what is found, and whether what is said to be done undoes it.
    private static let changedRelations: [(statements: String, what: [String], heals: Bool)] = [
        ("DROP TRIGGER _check_parent ON item", ["The trigger _check_parent of item is missing."], true),
        ("ALTER TABLE item DISABLE TRIGGER _check_parent", ["The trigger _check_parent of item is disabled."], true),
        (
            "ALTER TABLE item ENABLE REPLICA TRIGGER _check_parent", ["The trigger _check_parent of item is missing."],
            true
        ),
        ("ALTER TABLE item ENABLE ALWAYS TRIGGER _check_parent", [], true),
        (
            "ALTER TABLE \(members) DROP CONSTRAINT \"post.marks_pkey\"; INSERT INTO \(members) VALUES ('1', 'a'), ('1', 'a')",
            ["The members table of post.marks has no primary key of _from and _to."], true
        ),
        (
            "ALTER TABLE \(members) DROP CONSTRAINT \"post.marks_pkey\"; ALTER TABLE \(members) ADD PRIMARY KEY (_to, _from)",
            ["The members table of post.marks has no primary key of _from and _to."], false
        ),
        (
            #"DROP INDEX "post.marks__to__from_idx""#,
            ["The members table of post.marks has no index of _to and _from."], true
        ),
        (
            "ALTER TABLE \(members) DROP CONSTRAINT \"post.marks__from_fkey\"; INSERT INTO \(members) VALUES ('gone', 'a')",
            ["_from in the members table of post.marks has no foreign key to post with ON DELETE CASCADE."], true
        ),
        (
            "ALTER TABLE \(members) DROP CONSTRAINT \"post.marks__to_fkey\"; INSERT INTO \(members) VALUES ('1', 'gone')",
            ["_to in the members table of post.marks has no foreign key to \"item\" with ON DELETE CASCADE."], true
        ),
        (
            """
            ALTER TABLE \(members) DROP CONSTRAINT "post.marks__to_fkey";
            ALTER TABLE \(members) ADD FOREIGN KEY (_to) REFERENCES item (_id)
            """,
            ["_to in the members table of post.marks has no foreign key to \"item\" with ON DELETE CASCADE."], true
        ),
        (
            "ALTER TABLE \(members) DROP CONSTRAINT \"post.marks__to_fkey\"; COMMENT ON TABLE \(members) IS NULL",
            ["The members table of post.marks does not refer to a record type."], false
        ),
        (
            "COMMENT ON TABLE \(members) IS 'what is liked'",
            ["The comment of the members table of post.marks is wrong."], true
        ),
        (
            "ALTER TABLE \(members) ALTER _to TYPE text COLLATE \"default\"",
            [
                "The members table of post.marks has unexpected columns: _from text, "
                    + "_to text in another order than that of bytes."
            ], true
        ),
        (
            "ALTER TABLE \(members) ADD rank bigint NOT NULL",
            ["The members table of post.marks has unexpected columns: _from text, _to text, rank bigint."],
            false
        ),
        ("ALTER TABLE \(members) ADD rank bigint", [], true),
        (
            "DROP TABLE \(members) CASCADE",
            ["The relation post.marks has no members table."], true
        ),
    ]

    @Test(arguments: changedRelations.indices)
    func whatPsqlChangesOfParentsAndRelationsIsFoundAndUndone(_ row: Int) async throws {
        let (statements, what, heals) = Self.changedRelations[row]
        try await withStore { fixture in
            _ = try await fixture.store.createTypes(
                [
                    RecordType(
                        name: type("item"),
                        fields: [field("title"): .string, .parent: .reference(type("item"))]
                    ),
                    RecordType(name: type("post"), fields: [field("marks"): .relation(type("item"))]),
                ]
            )
            try await fixture.psql("INSERT INTO item (_id) VALUES ('a'); INSERT INTO post (_id) VALUES ('1')")
            let checks = [DoctorCheck.parents, .relations, .foreignKeyIndexes]
            func found() async throws -> [DoctorFinding] {
                try await examine(fixture.database.url, checks).sorted { $0.key < $1.key }.flatMap(\.value)
            }
            #expect(try await found() == [])
            try await fixture.psql(statements)
            let findings = try await found()
            #expect(findings.map(\.what) == what)
            guard heals else { return }
            for command in findings.flatMap(\.commands) {
                try await fixture.psql(command.replacing("CONCURRENTLY ", with: ""))
            }
            #expect(try await found() == [], "\(statements)")
        }
    }

    // Replication slots and writers of all databases are looked at, so this and the next have a cluster of their own.
    @Test func whatLiveQueriesLackIsFound() async throws {
        try await withStore(on: .start()) { fixture in
            try await fixture.keep(draft("note/1"))
            func found() async throws -> [DoctorFinding] {
                try await examine(fixture.database.url, [.changes]).flatMap(\.value)
            }
            #expect(try await found() == [])
            try await fixture.psql(
                "ALTER PUBLICATION skyrow_app DROP TABLE note; SELECT pg_create_logical_replication_slot('\(slot)', 'pgoutput')"
            )
            let findings = try await found()
            #expect(
                findings.map(\.what) == [
                    "The changes of note are not published.",
                    "The replication slot \(slot) is not temporary, and the service creates only temporary ones.",
                ]
            )
            for command in findings.flatMap(\.commands) { try await fixture.psql(command) }
            #expect(try await found() == [])
        }
    }

    private let slot = "skyrow_doctor_test"

    @Test func aDatabaseOfSkyrowsOwnMakeIsWell() async throws {
        try await withRecordsToExamine(on: .start()) { fixture in
            let findings = try await examine(fixture.database.url)
            #expect(Set(findings.keys) == Set(DoctorCheck.ofTheDatabase.map(\.name)))
            for (check, findings) in findings where check != DoctorCheck.durability.name {
                #expect(findings == [], "\(check)")
            }
            // The tests' cluster would not survive a power cut, and need not.
            let durability = findings[DoctorCheck.durability.name] ?? []
            #expect(durability.map(\.what) == ["Data checksums are off.", "fsync is off.", "full_page_writes is off."])
        }
    }

    /// A table of any size is read in parts, and what they have comes to one finding for each rule.
    @Test func recordsAreReadInParts() async throws {
        try await withRecordsToExamine { fixture in
            try await fixture.psql(
                """
                INSERT INTO category (_id, name, _owner) SELECT 'g' || n, repeat(md5(n::text), 20), 'gone'
                FROM generate_series(1, 100) AS n;
                INSERT INTO category (_id) VALUES ('$1')
                """
            )
            let blocks = try await fixture.psql(
                "SELECT pg_relation_size('category') / current_setting('block_size')::int"
            )
            #expect((Int(blocks) ?? 0) >= 5)
            let whole = try await examine(fixture.database.url, [.records])
            #expect(whole["records"]?.count == 2)
            #expect(whole["records"]?.contains { $0.what.hasPrefix("100 rows of category are owned") } == true)
            for length in [1, 3] {
                let parts = try await examine(fixture.database.url, [.records]) { $0.blocksAtOnce = length }
                #expect(parts.mapValues { Set($0) } == whole.mapValues { Set($0) })
            }
        }
    }

    @Test(arguments: [
        (0, 4, [TablePart(first: 0)]), (4, 4, [TablePart(first: 0)]),
        (9, 4, [TablePart(first: 0, end: 4), TablePart(first: 4, end: 8), TablePart(first: 8)]),
        (9, .max, [TablePart(first: 0)]),
    ])
    func aTableIsCutIntoParts(blocks: Int, length: Int, parts: [TablePart]) {
        #expect(TablePart.all(ofBlocks: blocks, length: length) == parts)
    }

    @Test func aCheckThatTakesTooLongSaysHowToGiveItTime() {
        let finding = DoctorFinding(failureOf: .records, PostgresError(code: .statementTimeout))
        #expect(finding.remedy.contains("--timeout 2m"))
    }

    @Test func aDatabaseWithoutAccountsIsWell() async throws {
        try await withStore { fixture in
            try await fixture.keep(draft("note/first", ["title": .string("a")]))
            try await fixture.psql("INSERT INTO note (_id) VALUES ('second')")
            #expect(try await examine(fixture.database.url, [.records]) == [DoctorCheck.records.name: []])
        }
    }

    // MARK: Databases of another kind

    @Test func aDatabaseWithoutTablesOrOfAnotherVersionIsSaidToBeSo() async throws {
        try await withTemporaryDatabase { url in
            let findings = try await examine(url)
            #expect(findings[DoctorCheck.migrations.name]?.map(\.severity) == [.error])
            // What needs the tables is not even asked.
            #expect(findings[DoctorCheck.records.name] == nil && findings[DoctorCheck.server.name] == [])
        }
        try await withTemporaryDatabaseAndPsql(template: .migrated) { database in
            try await database.psql("INSERT INTO app_internal._migration (version, name) VALUES (9999, '9999_future')")
            let findings = try await examine(database.url, [.migrations])
            #expect(findings[DoctorCheck.migrations.name]?.first?.what.contains("version 9999") == true)
        }
    }

    @Test func anotherEncodingAndAnOldOrderAreFound() async throws {
        let cluster = try await TemporaryCluster.shared()
        try await cluster.psql(
            """
            CREATE DATABASE doctor_latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0;
            CREATE DATABASE doctor_icu LOCALE_PROVIDER icu ICU_LOCALE 'en' TEMPLATE template0;
            UPDATE pg_database SET datcollversion = '0' WHERE datname = 'doctor_icu';
            """
        )
        let latin = try await examine(cluster.url(database: "doctor_latin"), [.server])
        #expect(latin[DoctorCheck.server.name]?.map(\.what) == ["The encoding of the database is LATIN1."])
        let icu = try await examine(cluster.url(database: "doctor_icu"), [.server, .collations])
        #expect(icu[DoctorCheck.server.name] == [])
        #expect(
            icu[DoctorCheck.collations.name]?.first?.what.contains("database doctor_icu was created with version 0")
                == true
        )
        try await cluster.psql("DROP DATABASE doctor_latin WITH (FORCE); DROP DATABASE doctor_icu WITH (FORCE);")
    }

    @Test func aRoleThatMayNotLookIsToldSo() async throws {
        try await withRecordsToExamine { fixture in
            let role = "looker_\(fixture.database.name)".prefix(63)
            try await fixture.psql(
                "CREATE ROLE \(role) LOGIN; GRANT USAGE ON SCHEMA app, app_internal TO \(role); GRANT SELECT ON _migration, _meta TO \(role)"
            )
            let url = fixture.database.url.replacing("user=postgres", with: "user=\(role)")
            let findings = try await examine(url, [.records, .accounts, .server])
            #expect(findings[DoctorCheck.server.name] == [])
            let denied = findings[DoctorCheck.records.name]?.first
            #expect(denied?.severity == .warning && denied?.what.contains("permission denied") == true)
            try await fixture.psql("DROP OWNED BY \(role); DROP ROLE \(role)")
        }
    }
}
