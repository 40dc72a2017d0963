import SkyrowModel
import SkyrowPostgres
import SkyrowProtocol
import SkyrowTestSupport
import Testing

@testable import SkyrowStore

/// The publication of an application is made before any slot, and has every record table.
@Suite struct PublicationTests {
    private static let members = """
        SELECT string_agg(prrelid::regclass::text, ' ' ORDER BY prrelid::regclass::text)
        FROM pg_publication_rel JOIN pg_publication ON pg_publication.oid = prpubid WHERE pubname = 'skyrow_app'
        """
    private static let reserved = """
        _id text COLLATE "C" PRIMARY KEY, _database text COLLATE "C" NOT NULL DEFAULT '_public', _owner text COLLATE "C",
        _access jsonb, _created_at timestamptz NOT NULL DEFAULT now(), _created_by text COLLATE "C",
        _updated_at timestamptz NOT NULL DEFAULT now(), _updated_by text COLLATE "C",
        _revision bigint NOT NULL DEFAULT app._revision()
        """

    @Test func typesThatAreMadeRenamedAndDroppedStayInStep() async throws {
        try await withStore { fixture in
            #expect(try await fixture.psql(Self.members) == "\"user\" _tombstone")
            try await fixture.keep(draft("note/1", ["title": .string("a")]))
            #expect(try await fixture.psql(Self.members) == "\"user\" _tombstone note")
            #expect(try await fixture.psql("SELECT relreplident FROM pg_class WHERE oid = 'note'::regclass") == "f")
            try await fixture.psql("ALTER TABLE note RENAME TO memo")
            #expect(try await fixture.psql(Self.members) == "\"user\" _tombstone memo")
            try await fixture.psql("DROP TABLE memo")
            #expect(try await fixture.psql(Self.members) == "\"user\" _tombstone")
        }
    }

    @Test func tablesOfPsqlAreAddedWhenTheyAreFound() async throws {
        try await withStore { fixture in
            try await fixture.psql(
                """
                CREATE TABLE made (\(Self.reserved)); CREATE TABLE other (n integer);
                CREATE UNLOGGED TABLE volatile (\(Self.reserved));
                CREATE TABLE bare (LIKE made INCLUDING DEFAULTS);
                """
            )
            let publication = try await Publication.prepare(of: "app", by: fixture.store.client)
            #expect(publication.name == "skyrow_app")
            #expect(publication.refusal == nil)
            #expect(try await fixture.psql(Self.members) == "\"user\" _tombstone bare made")
            // One that has no key would refuse every update otherwise.
            #expect(
                try await fixture.psql(
                    """
                    SELECT string_agg(relreplident::text, '' ORDER BY relname) FROM pg_class WHERE relname IN ('bare', 'made')
                    """
                ) == "fd"
            )
            try await fixture.psql("INSERT INTO bare (_id) VALUES ('1'); UPDATE bare SET _owner = 'x'")
        }
    }

    @Test func aPublicationThatIsGoneIsMadeAgain() async throws {
        try await withStore { fixture in
            try await fixture.psql("DROP PUBLICATION skyrow_app")
            try await fixture.keep(draft("note/1"))
            _ = try await Publication.prepare(of: "app", by: fixture.store.client)
            #expect(try await fixture.psql(Self.members) == "\"user\" _tombstone note")
            #expect(try await fixture.psql("SELECT pubviaroot FROM pg_publication") == "t")
        }
    }

    /// Failed once: a table of which nothing but some changes is published counted as published.
    @Test(arguments: [
        "ALTER PUBLICATION skyrow_app DROP TABLE note",
        "ALTER PUBLICATION skyrow_app SET (publish = 'insert')",
        "ALTER PUBLICATION skyrow_app DROP TABLE note; ALTER PUBLICATION skyrow_app ADD TABLE note WHERE (_id = 'x')",
        "ALTER PUBLICATION skyrow_app DROP TABLE note; ALTER PUBLICATION skyrow_app ADD TABLE note (_id, _database)",
    ])
    func aPublicationThatLacksChangesIsMadeWhole(_ loss: String) async throws {
        try await withStore { fixture in
            try await fixture.keep(draft("note/1"))
            let client = fixture.store.client
            let note = try #require(UInt32(try await fixture.psql("SELECT 'note'::regclass::oid")))
            #expect(try await Publication.members(of: "app", by: client).keys.contains(note))
            #expect(try await fixture.psql("SELECT count(*) FROM _unpublished()") == "0")
            try await fixture.psql(loss)
            #expect(try await fixture.psql("SELECT _unpublished()").contains("note"))
            #expect(try await !Publication.members(of: "app", by: client).keys.contains(note))
            #expect(try await Publication.prepare(of: "app", by: client).refusal == nil)
            #expect(try await fixture.psql("SELECT count(*) FROM _unpublished()") == "0")
            #expect(try await Publication.members(of: "app", by: client).keys.contains(note))
        }
    }

    @Test func aTableThatIsRenamedKeepsItsMembership() async throws {
        try await withStore { fixture in
            try await fixture.keep(draft("note/1"))
            let client = fixture.store.client
            let before = try await Publication.members(of: "app", by: client)
            try await fixture.psql("ALTER TABLE note RENAME TO memo")
            #expect(try await Publication.members(of: "app", by: client) == before)
            try await fixture.psql("ALTER PUBLICATION skyrow_app DROP TABLE memo")
            _ = try await Publication.prepare(of: "app", by: client)
            #expect(try await Publication.members(of: "app", by: client).keys == before.keys)
            #expect(try await Publication.members(of: "app", by: client) != before)
        }
    }

    @Test func withoutTheRightEverythingElseWorks() async throws {
        try await withTemporaryDatabaseAndPsql { database in
            try await database.psql(
                """
                CREATE ROLE "\(database.name)" LOGIN; CREATE SCHEMA app AUTHORIZATION "\(database.name)";
                CREATE SCHEMA app_internal AUTHORIZATION "\(database.name)";
                GRANT EXECUTE ON FUNCTION pg_control_system() TO "\(database.name)";
                """
            )
            let url = "postgresql:///\(database.name)?host=\(database.cluster.directory)&user=\(database.name)"
            try await withPostgresClient(url) { client in
                _ = try await MigrationRun(client: client, schema: "app", logger: .quiet)()
                _ = try await client.write("SELECT app._create_type('note')")
                let publication = try await Publication.prepare(of: "app", by: client)
                #expect(publication.refusal?.contains("permission denied") == true)
                #expect(try await database.psql("SELECT count(*) FROM pg_publication") == "0")
                #expect(try await database.psql("SELECT count(*) FROM app._unpublished()") == "3")
                try await database.psql("GRANT CREATE ON DATABASE \(database.name) TO \"\(database.name)\"")
                #expect(try await Publication.prepare(of: "app", by: client).refusal == nil)
                // A table of another role's is left out alone.
                try await database.psql("CREATE TABLE app.foreign_one (LIKE app.note INCLUDING ALL)")
                _ = try await client.write("SELECT app._create_type('memo')")
                let second = try await Publication.prepare(of: "app", by: client)
                #expect(second.refusal?.contains("foreign_one") == true)
                #expect(try await database.psql("SELECT app._unpublished()") == "app.foreign_one")
            }
            try await database.psql("DROP OWNED BY \"\(database.name)\" CASCADE; DROP ROLE \"\(database.name)\"")
        }
    }

    @Test(arguments: [("app", "skyrow_app"), ("Ä \"b\"", "skyrow_Ä \"b\""), (String(repeating: "x", count: 60), nil)])
    func theNameHasTheSchemasInIt(schema: String, name: String?) async throws {
        try await withTemporaryDatabaseAndPsql { database in
            let schema = try SQLIdentifier(schema)
            try await database.psql(
                """
                CREATE SCHEMA \(schema.quoted); CREATE SCHEMA \(schema.internal.quoted);
                SET search_path = \(schema.quoted), \(schema.internal.quoted), pg_temp; \(Migration.present)
                """
            )
            let found = try await database.psql("SELECT pubname FROM pg_publication")
            #expect(name == nil || found == name)
            #expect(found.hasPrefix("skyrow_"))
            #expect(try await database.psql("SELECT count(*) FROM \(schema.quoted)._unpublished()") == "0")
        }
    }

    /// The whole way: what a save, a delete and psql commit comes out of the stream.
    @Test func whatIsSavedIsStreamed() async throws {
        try await withStore { fixture in
            try await fixture.keep(draft("note/1", ["title": .string("a")]))
            let publication = try await Publication.prepare(of: "app", by: fixture.store.client)
            let changes = try fixture.store.client.changes(publication: publication.name)
            var seen: [String] = []
            try await waiting(for: "the changes of notes", giveUp: { changes.stop() }) {
                for await event in changes {
                    switch event {
                    case .connected:
                        // A type of its own, made by its first save, is in the stream from its first record on.
                        try await fixture.keep(draft("memo/1", ["title": .string("b")]))
                        try await fixture.psql("UPDATE note SET title = 'c'; DELETE FROM note")
                    case .transaction(let transaction):
                        seen += transaction.rows.map { "\($0.kind) \($0.relation.name)" }
                        if transaction.rows.contains(where: { $0.kind == .delete }) { return }
                    case .position, .delayed, .interrupted:
                        break
                    }
                }
            }
            changes.stop()
            #expect(seen.contains("insert _tombstone"))
            #expect(seen.filter { !$0.contains("_tombstone") } == ["insert memo", "update note", "delete note"])
            try await waiting(until: "no slot is left") {
                try await fixture.psql(
                    "SELECT count(*) FROM pg_replication_slots WHERE database = current_database()"
                ) == "0"
            }
        }
    }
}

extension StoreFixture {
    /// Saves a record after making what it lacks.
    fileprivate func keep(_ draft: RecordDraft) async throws {
        if try !store.schemaPlan(saving: [draft]).isEmpty { try await store.createMissingSchema(for: [draft]) }
        let caller = Caller(kind: .master(actingAs: nil))
        for outcome in try await store.save([.draft(draft)], in: .everyone, caller: caller, atomic: true) {
            if case .failure(let error, _) = outcome { throw error }
        }
    }
}
